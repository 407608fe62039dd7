"""A task's clone on record: in the checkout's git folder, and for people in `state.yaml`.

Owns both. Agents write the state of their task, and state files travel; what
sow goes by is the record in the git folder, which is written by whoever makes
the clone, before an agent is in it. Without one (another machine has made the
clone) the state's word counts.

All working trees share the branches, and a task's branch is named after its project: two clones of
one task would write the same branch in turns, and neither would notice. Owns that refusal, too.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from sow.clone_mark import CHECKOUT_PLACE, CloneMark
from sow.clones.checkout_id import recorded_path
from sow.clones.steps import read_json, write_json
from sow.errors import StateError
from sow.git.repository import Repository
from sow.paths import Workspace
from sow.schema.task import Task
from sow.state.tasks import change_task

FOLDER = "sow/clones"


class SetupMade(Struct, frozen=True):
    """What a clone held when it was ready for work, besides its commit's files."""

    at: int = 0
    """When that was, in nanoseconds of the file system's clock; 0 where nobody has noted it."""
    ignored: tuple[str, ...] = ()
    """Ignored files, and folders with a slash."""
    inner: tuple[str, ...] = ()
    """What lay in repositories inside of it, each as one text."""


class CloneRecord(Struct, frozen=True):
    """Where a task's clone lies, by sow's own word."""

    path: str
    branch: str
    base: str
    """The commit that the branch began at."""
    made_by_sow: tuple[str, ...] = ()
    """What is no part of the task's change: copied files, and what `clones.setup` has left."""
    setup: SetupMade = SetupMade()


def note_clone(main: Repository, mark: CloneMark, setup: SetupMade | None = None) -> None:
    """Write the record of a clone that no agent has been in since its mark was written. NotWritten.

    The caller holds the clone's lock.
    """
    record = CloneRecord(mark.path, mark.branch, mark.base, mark.copied, setup or SetupMade())
    write_json(_path(main, mark.project, mark.task), record)


def noted_clone(main: Repository, project: str, task: str) -> CloneRecord | None:
    """Return the record of a task's clone; None where there is none that can be used."""
    return read_json(_path(main, project, task), CloneRecord)


def forget_clone(main: Repository, project: str, task: str) -> None:
    """Remove the record of a task of which neither clone nor branch nor state knows any more."""
    _path(main, project, task).unlink(missing_ok=True)


def _path(main: Repository, project: str, task: str) -> Path:
    return main.git_dir / FOLDER / quote(project, safe="") / f"{quote(task, safe='')}.json"


def record_clone(
    workspace: Workspace,
    mark: CloneMark,
    *,
    now: float,
    may: Callable[[], None] = lambda: None,
    then: Callable[[Task], None] = lambda _: None,
) -> Task:
    """Write where a task's clone lies into its state, and return the task.

    What stands there already is not written again. `may` is asked under the
    task's lock, and raises where nothing is to be written any more. Raises what
    `change_task` does.
    """
    clone = {"path": mark.path, "branch": mark.branch, "base": mark.base}

    def change(task: Task) -> Mapping[str, Any]:
        may()
        return {} if _has(task, clone) else {"clone": clone}

    return change_task(workspace, mark.task, change, now=now, then=then)


def _has(task: Task, clone: dict[str, str]) -> bool:
    return all(getattr(task.clone, key, None) == value for key, value in clone.items())


class ClonedElsewhere(StateError):
    """The task has its clone by another working tree of this repository."""

    def __init__(self, task: str, other: str) -> None:
        self.other = other
        super().__init__(
            f"the clone of task {task} belongs to the working tree {other}, which has the same"
            " project checked out",
            hint="A project belongs to one branch and one working tree. Continue the task in"
            " that working tree. For this branch, end the project here with `sow project"
            " abandon --remove` and start a new one with `sow project new NAME`.",
        )


def refuse_cloned_elsewhere(repository: Repository, project: str, task: str) -> None:
    """Raise ClonedElsewhere where another working tree has a clone of this very task."""
    for git_dir in _other_git_folders(repository):
        noted = noted_clone(replace(repository, git_dir=git_dir), project, task)
        if noted is not None and Path(noted.path).exists():
            other = recorded_path(git_dir / CHECKOUT_PLACE) or str(git_dir)
            raise ClonedElsewhere(task, other)


def _other_git_folders(repository: Repository) -> Iterator[Path]:
    folder = repository.common_dir / "worktrees"
    try:
        linked = sorted(folder.iterdir())
    except OSError:
        linked = []
    for git_dir in (repository.common_dir, *linked):
        if not git_dir.samefile(repository.git_dir):
            yield git_dir
