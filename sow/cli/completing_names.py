"""What the Tab key offers of names that few commands take: executors, batches, checks, events.

Owns these look-ups, each of which imports what it needs; how one is made of a function, and that it
stays silent, is `completing`'s.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.cli.completing import (
    Choice,
    check_choices,
    completer,
    offering,
    project,
    queue,
    task_choices,
    workspace,
)

if TYPE_CHECKING:
    from sow.state.artifacts import Side

MOST_BATCHES = 50


@offering
def executors() -> Iterable[Choice]:
    """Yield the executors, those of the repository among them."""
    from sow.cli.config import configuration_here

    found = configuration_here(os.environ).executors
    return [(name, executor.type.value) for name, executor in found.items()]


@completer
def task_or_checks(ctx: "click.Context", param: "click.Parameter") -> Iterable[Choice]:
    """Yield what may follow in `sow task check [TASK] [CHECK]...`."""
    given = ctx.params.get(param.name or "")
    return check_choices() if given else [*task_choices(), *check_choices()]


@offering
def batches() -> Iterable[Choice]:
    """Yield the batches of the project."""
    from sow.ids import ProjectId
    from sow.jobs import batches

    with queue() as database:
        found = batches.all_batches(database, ProjectId(project().id), limit=MOST_BATCHES)
    return [(batch.name or str(batch.id), batch.state.value) for batch in found]


@offering
def events() -> Iterable[Choice]:
    """Yield the events that lead on from the project's state."""
    from sow.lifecycle.types import LIFECYCLES

    found = project()
    events = LIFECYCLES[found.kind].events
    return [
        (event.name, f"to {event.target}") for event in events if event.source == found.standing
    ]


@completer
def documents(ctx: "click.Context", _param: "click.Parameter") -> Iterable[Choice]:
    """Yield the files of the side that the command's group is about: inputs or outputs."""
    from sow.state.artifacts import Side

    return _listed(Side(str(ctx.parent.info_name))) if ctx.parent is not None else []


def _listed(side: "Side") -> list[Choice]:
    """Return the files on one side of the project, as they are named from the working folder."""
    from sow.cli.arguments import working_folder
    from sow.state.artifacts import listed

    found = listed(project(), side)
    folder, root = working_folder().resolve(), workspace().root.resolve()
    return [(os.path.relpath(root / each.path, folder), each.type) for each in found]


@offering
def approvable() -> Iterable[Choice]:
    """Yield what may follow in `sow approve`."""
    from sow.lifecycle.stages import ProjectType
    from sow.state.artifacts import Side

    kind = project().kind
    plan = [("plan", "the tasks as they stand")] if kind is ProjectType.STANDARD else []
    units = task_choices() if kind is ProjectType.BREAKDOWN else []
    return [*plan, *units, *_listed(Side.OUTPUT)]


@offering
def open_feedback() -> Iterable[Choice]:
    """Yield the feedback that is open."""
    from sow.state import project_feedback

    return [(note.id, f"by {note.by}") for note in project_feedback.open_feedback(project())]


@offering
def breakdowns() -> Iterable[Choice]:
    """Yield the breakdowns."""
    folders = sorted(path for path in workspace().breakdowns.iterdir() if path.is_dir())
    return [(folder.name, "") for folder in folders]


@offering
def knowledge() -> Iterable[Choice]:
    """Yield the entries of what ended projects have left."""
    from sow.knowledge.index import read_entries

    return [(filed.id, filed.entry.title) for filed in read_entries(workspace())[0]]


@offering
def project_fields() -> Iterable[Choice]:
    """Yield the fields of `sow project set`."""
    return [("name", ""), ("description", ""), ("branch", "")]
