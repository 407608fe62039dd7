"""What the Tab key offers of a project's own names: batches, checks, documents, events, feedback.

Owns these look-ups, each of which imports what it needs; how one is made of a function, and that it
stays silent, is `completing`'s.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from sow.cli.completing import Choice, check_choices, completer, task_choices

if TYPE_CHECKING:
    from sow.state.artifacts import Side

MOST_BATCHES = 50


def _checks(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    return check_choices()


def _task_or_checks(ctx: click.Context, param: click.Parameter) -> Iterable[Choice]:
    """Yield what may follow in `sow task check [TASK] [CHECK]...`."""
    given = ctx.params.get(param.name or "")
    return check_choices() if given else [*task_choices(), *check_choices()]


def _batches(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from contextlib import closing

    from sow.cli.arguments import here
    from sow.ids import ProjectId
    from sow.jobs import batches
    from sow.jobs.database import open_existing_queue
    from sow.state.projects import read_project

    workspace = here()
    database = open_existing_queue(workspace)
    if database is None:
        return []
    with closing(database):
        project_id = ProjectId(read_project(workspace).id)
        found = batches.all_batches(database, project_id, limit=MOST_BATCHES)
    return [(batch.name or str(batch.id), batch.state.value) for batch in found]


def _events(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here
    from sow.lifecycle.types import LIFECYCLES
    from sow.state.projects import read_project

    project = read_project(here())
    events = LIFECYCLES[project.kind].events
    return [
        (event.name, f"to {event.target}") for event in events if event.source == project.standing
    ]


def _documents(ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    """Yield the files of the side that the command's group is about: inputs or outputs."""
    from sow.state.artifacts import Side

    return _listed(Side(str(ctx.parent.info_name))) if ctx.parent is not None else []


def _listed(side: "Side") -> list[Choice]:
    """Return the files on one side of the project, as they are named from the working folder."""
    from sow.cli.arguments import here, working_folder
    from sow.state.artifacts import listed
    from sow.state.projects import read_project

    workspace = here()
    found = listed(read_project(workspace), side)
    folder, root = working_folder().resolve(), workspace.root.resolve()
    return [(os.path.relpath(root / each.path, folder), each.type) for each in found]


def _approvable(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    """Yield what may follow in `sow approve`."""
    from sow.cli.arguments import here
    from sow.lifecycle.stages import ProjectType
    from sow.state.artifacts import Side
    from sow.state.projects import read_project

    kind = read_project(here()).kind
    plan = [("plan", "the tasks as they stand")] if kind is ProjectType.STANDARD else []
    units = task_choices() if kind is ProjectType.BREAKDOWN else []
    return [*plan, *units, *_listed(Side.OUTPUT)]


def _open_feedback(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here
    from sow.state.project_feedback import open_feedback
    from sow.state.projects import read_project

    return [(note.id, f"by {note.by}") for note in open_feedback(read_project(here()))]


def _breakdowns(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here

    folders = sorted(path for path in here().breakdowns.iterdir() if path.is_dir())
    return [(folder.name, "") for folder in folders]


def _knowledge(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    from sow.cli.arguments import here
    from sow.knowledge.index import read_entries

    return [(filed.id, filed.entry.title) for filed in read_entries(here())[0]]


def _project_fields(_ctx: click.Context, _param: click.Parameter) -> Iterable[Choice]:
    return [("name", ""), ("description", ""), ("branch", "")]


checks = completer(_checks)
task_or_checks = completer(_task_or_checks)
batches = completer(_batches)
events = completer(_events)
documents = completer(_documents)
approvable = completer(_approvable)
open_feedback = completer(_open_feedback)
breakdowns = completer(_breakdowns)
knowledge = completer(_knowledge)
project_fields = completer(_project_fields)
