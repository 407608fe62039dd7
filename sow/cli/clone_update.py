"""`sow clone update`."""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sow.calls.taking_up import take_up_unseen
from sow.cli import late_click as click
from sow.cli.arguments import task_argument, this_caller
from sow.cli.clone_here import refuse_live, this_checkout
from sow.cli.output import echo_json, json_option
from sow.clock import utc_now
from sow.clones.conflicts import update_of_clone
from sow.clones.place import Place
from sow.clones.update import Updated
from sow.errors import ConfigurationError, ExitCode
from sow.ids import TaskId
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import read_task
from sow.terminal_text import printable, readable

if TYPE_CHECKING:
    from sow.schema.output.clones import CloneUpdated


@click.command()
@task_argument
@json_option
def update(task_id: TaskId, as_json: bool) -> int:
    """Merge the project's branch into the clone of a task.

    Refused while a job of the task has not ended, and if the clone has
    uncommitted changes.

    Without a conflict the merge is committed on the task's branch. Initialised
    submodules are updated if their commit is on this machine; a note names the
    others. With a conflict the files in the clone have conflict markers. Solve
    it there, or let the task's agent solve it with the printed command.

    If a killed worker has not fetched the work of a needs_review task, sow first
    commits that work in the clone and fetches it.

    Exit: 0 up to date, 4 a conflict or refused.
    """
    main = this_checkout()
    found = read_task(main.workspace, task_id)
    place = main.place(found)

    taken_up = take_up_unseen(main, place, found, now=utc_now())
    updated = update_of_clone(
        main, place, ask=refuse_live(main), solved_by=partial(_solving, found)
    )
    if taken_up is not None:
        updated = replace(updated, notes=(taken_up, *updated.notes))
    if as_json:
        echo_json(_view(place, updated))
    else:
        _print(place, updated, found)
    return int(ExitCode.STATE if updated.conflicts else ExitCode.OK)


def _view(place: Place, updated: Updated) -> "CloneUpdated":
    # Only `--json` asks.
    from sow.schema.output.clones import CloneUpdated

    return CloneUpdated(
        task=place.task,
        path=str(place.path),
        branch=place.branch,
        commit=updated.commit,
        merged_commit=updated.merged,
        conflicts=tuple(map(readable, updated.conflicts)),
        notes=tuple(map(readable, updated.notes)),
    )


def _solving(task: Task) -> str:
    """Return in words by which commands the task's agent solves a conflict."""
    # Needed where there is a conflict.
    from sow.executors.registry import can_resume
    from sow.lifecycle.task_ways import solving

    resumes = True
    with suppress(ConfigurationError):  # an update needs no executor
        resumes = can_resume(this_caller().load_configuration(), task)
    return solving(task.id, is_completed=task.status is TaskStatus.COMPLETED, resumes=resumes)


def _print(place: Place, updated: Updated, task: Task) -> None:
    for note in updated.notes:
        click.echo(f"Note: {printable(note)}", err=True)
    if updated.merged is None:
        click.echo(f"{place.task} clone already contains the project's branch.")
    elif not updated.conflicts:
        click.echo(f"{place.task} clone updated: {place.branch} is at {updated.commit[:12]}")
    else:
        click.echo(f"{place.task} clone has conflicts:")
        for path in updated.conflicts:
            click.echo(f"  {printable(path)}")
        click.echo(
            f"Solve them in {printable(str(place.path))} and commit, or let the task's agent do"
            f" it: {_solving(task)}",
            err=True,
        )
