"""`sow task diff`: what a task has changed in the repository, or how far that can be known.

Each step imports what it needs: the group's help and completion need no git.
"""

import os
import sys
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.cli.arguments import here, task_argument
from sow.cli.output import echo_json, json_option
from sow.errors import StateError, UsageError
from sow.ids import TaskId
from sow.terminal_text import printable, readable

if TYPE_CHECKING:
    from sow.clones.task_diff import TaskChange
    from sow.paths import Workspace
    from sow.schema.task import Task

SHARED = (
    "Task {task} has no clone of its own: these are all differences from the last commit in"
    " {root}. sow cannot tell who made them."
)


@click.command()
@task_argument
@click.option("--stat", is_flag=True, help="A line for each file, instead of the patch.")
@click.option("--name-only", is_flag=True, help="Only the names of the files.")
@click.option(
    "-z", "ends_in_nul", is_flag=True, help=("End each name with a NUL, and print it unchanged.")
)
@json_option
def diff(
    task_id: TaskId,
    stat: bool,
    name_only: bool,
    ends_in_nul: bool,
    as_json: bool,
) -> None:
    """Print what TASK has changed, as a patch.

    If the task has its own clone, these are the changes of its commits. Left out
    are uncommitted changes, files of sow (such as .sow/project), and changes that
    came from its dependencies or the project's branch.

    Without a clone, these are all differences between the working tree and the
    last commit, whichever task made them. The patch leaves out files that git
    does not know yet; --name-only lists them too.

    --name-only prints one name per line, with control characters replaced by
    spaces; -z prints the names unchanged.
    """
    if stat and name_only:
        raise UsageError("--stat and --name-only are given both", hint="Give either.")
    if ends_in_nul and (as_json or not name_only):
        raise UsageError("-z needs --name-only", hint="Give --name-only with it, and no --json.")
    # git and the clones are needed by few commands
    from sow.state.tasks import read_task

    workspace = here()
    found = read_task(workspace, task_id)
    change = _change(workspace, found, patch=not (stat or name_only), stat=stat)
    if as_json:
        _print_json(found, change)
    else:
        _print(workspace, found, change, ends_in_nul=ends_in_nul)


def _change(workspace: "Workspace", task: "Task", *, patch: bool, stat: bool) -> "TaskChange":
    from sow.clones.whole_change import change_of_task
    from sow.git.git_errors import NoRepository

    try:
        return change_of_task(workspace, task, patch=patch, stat=stat)
    except NoRepository as error:
        raise StateError(
            f"{error.message}: sow cannot tell what was changed",
            hint=f"Its agents' own reports: sow task log {task.id}",
        ) from error


def _print_json(task: "Task", change: "TaskChange") -> None:
    from sow.schema.output.tasks import TaskDiff

    echo_json(
        TaskDiff(
            task=task.id,
            is_tasks_own=change.is_tasks_own,
            base=change.base,
            commit=change.commit,
            files=tuple(map(readable, change.files)),
            steering_files=tuple(map(readable, change.steers)),
            links_out=tuple(readable(link.path) for link in change.links_out),
            left_out=tuple(map(readable, change.state_files)),
            stat=None if change.stat is None else change.stat.decode("utf-8", "replace"),
            patch=None if change.patch is None else change.patch.decode("utf-8", "replace"),
        )
    )


def _print(
    workspace: "Workspace", task: "Task", change: "TaskChange", *, ends_in_nul: bool
) -> None:
    text = change.patch if change.patch is not None else change.stat
    if ends_in_nul:
        click.echo(b"".join(os.fsencode(path) + b"\0" for path in change.files), nl=False)
    elif text is None:
        for path in change.files:
            click.echo(printable(path))
    elif sys.stdout.isatty():
        click.echo(text.decode("utf-8", "replace"), nl=False)  # as text, it steers no terminal
    else:
        click.echo(text, nl=False)
    for note in _notes(workspace, task, change):
        click.echo(note, err=True)


def _notes(workspace: "Workspace", task: "Task", change: "TaskChange") -> list[str]:
    """Return what is to be known of a change besides itself."""
    notes = []
    if not change.is_tasks_own:
        notes.append(SHARED.format(task=task.id, root=workspace.root))
    elif not change.files:
        notes.append(f"Task {task.id} has committed no change yet.")
    if change.steers:
        listed = ", ".join(map(printable, change.steers))
        notes.append(f"It touches files that steer agents or machines: {listed}")
    if change.links_out:
        links = (f"{link.path} → {link.target}" for link in change.links_out)
        listed = ", ".join(map(printable, links))
        notes.append(f"It has links that lead out of the repository: {listed}")
    if change.state_files:
        listed = ", ".join(map(printable, change.state_files))
        notes.append(f"Left out, because sow owns these files: {listed}")
    if change.taking:
        notes.append(f"To include them: `{change.taking}`")
    return notes
