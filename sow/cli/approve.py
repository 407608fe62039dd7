"""`sow approve`: the plan, documents, work units."""

import re
from collections.abc import Sequence

from sow.calls.approving import approver
from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.arguments import this_caller, working_folder
from sow.cli.confirming import is_at_terminal
from sow.cli.output import echo_result, json_option
from sow.ids import TASK_ID_PATTERN
from sow.paths import Workspace
from sow.schema.output.projects import Approved
from sow.schema.task import Task
from sow.state.artifacts import path_inside
from sow.state.lifecycle import (
    approve_documents,
    approve_plan,
    approve_units,
    refuse_without_units,
)
from sow.state.places import find_task
from sow.state.projects import read_project
from sow.state.tasks import read_task

PLAN = "plan"


@click.command()
@click.argument(
    "names",
    metavar="plan | PATH... | TASK...",
    nargs=-1,
    required=True,
    shell_complete=completing_names.approvable,
)
@json_option
def approve(names: tuple[str, ...], as_json: bool) -> None:
    """Approve the plan, listed files, or a breakdown's work units, in their current form.

    A later change makes an approval invalid. By default only a person at a
    terminal can approve; `approve: agents` in your own configuration also lets
    orchestrators approve.

    Exit: 0 approved, 4 refused.
    """
    caller = this_caller()
    config = caller.load_configuration()
    by = approver(caller, config, at_terminal=is_at_terminal())
    now = caller.now()
    approved = names
    if names == (PLAN,):
        approve_plan(caller.workspace, by=by, now=now)
    else:
        units, paths = _sorted(caller.workspace, names)
        refuse_without_units(read_project(caller.workspace), units)
        if paths:
            approve_documents(caller.workspace, paths, by=by, now=now)
        if units:
            approve_units(caller.workspace, units, by=by, now=now)
        approved = (*(unit.id for unit in units), *paths)
    words = f"Approved by {by.agent}: {', '.join(approved)}"
    echo_result(Approved(approved=approved, by=by.agent), words, as_json=as_json)


def _sorted(workspace: Workspace, names: Sequence[str]) -> tuple[list[Task], list[str]]:
    """Return the work units that are named, by their ids or descriptions, and the files.

    Raises UnknownTask, NotListable.
    """
    units: list[Task] = []
    paths: list[str] = []
    for name in names:
        if re.fullmatch(TASK_ID_PATTERN, name):
            units.append(read_task(workspace, name))
            continue
        path = path_inside(workspace, working_folder(), name)
        parts = path.split("/")
        if parts[:3] == [".sow", "project", "phases"] and parts[-1] == "description.md":
            place = find_task(workspace, parts[-2])
            units.append(read_task(workspace, place.task_id))
        else:
            paths.append(path)
    return units, paths
