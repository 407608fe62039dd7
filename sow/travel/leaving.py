"""What goes along with a job that may run in another checkout, and how it gets there.

Owns what that is: the task's branch and its base, which are commits, and beside them the project's
state as it stands, as the tree of a commit of its own. One ref of the remote names all of it, and
its number goes on record with the job, so nobody can put something else in its place. What is no
part of a commit of the repository (ignored files, untracked ones, `.sow/run`) stays here.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.config.clones import CloneSettings
from sow.errors import StateError
from sow.git.identity import identity_of
from sow.git.remote import remote_of
from sow.git.repository import branch_commit
from sow.git.run import LONG_SECONDS
from sow.git.view import view_of
from sow.ids import JobId
from sow.paths import Workspace
from sow.schema.task import Task, TaskStatus
from sow.schema.travel import Travel
from sow.state.tasks import read_task
from sow.state.version import VERSION_FILE
from sow.travel.clones_at_home import is_being_solved
from sow.travel.names import outward_ref

MOST_BYTES = 64 << 20
"""How large the state of a project may be that goes along."""
INDEX = "travel-index"


class StateTooLarge(StateError):
    """The project's state is larger than what goes along with a job."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has more than {MOST_BYTES >> 20} MB, so no other host is sent the task",
            hint="Move what is no state of the project elsewhere, or run the task in this checkout:"
            " --no-clone.",
        )


def send_out(
    workspace: Workspace,
    settings: CloneSettings,
    remote_name: str,
    job_id: JobId,
    task_id: str,
    *,
    host: str | None = None,
    is_made: bool = False,
) -> Travel | None:
    """Push what a job begins with to a new ref of the remote, and return what goes on record.

    None for a task that stays here: it begins with the work of others that is not merged, or
    somebody has begun to solve a conflict in its clone. The task is marked by now. `host` is the id
    of the host on which its session lies, if it goes on with one. `is_made` is of a job that judges
    the work as it is on the task's branch. Raises StateError.
    """
    main = main_checkout(workspace, settings)
    task = read_task(workspace, task_id)
    base = main.project_commit
    place = main.place(task)
    if main.project_branch is None or is_being_solved(main, place):
        return None
    if not is_made and _builds_on_unmerged(main, workspace, task, base):
        return None
    remote = remote_of(main.repository, remote_name)
    branch = place.branch
    tip = branch_commit(main.repository, branch)
    packed = _packed(main, base, tip)
    ref = outward_ref(main.project.id, task.id, packed)
    remote.make_ref(ref, packed)
    return Travel(
        job_id=job_id,
        ref=ref,
        packed=packed,
        base=base,
        tip=tip,
        branch=branch,
        trunk=main.project_branch,
        host=host,
    )


def _builds_on_unmerged(main: MainCheckout, workspace: Workspace, task: Task, base: str) -> bool:
    """Whether a task begins with the work of completed ones that the project's branch lacks."""
    view = view_of(main.repository.top)
    for task_id in task.depends_on:
        other = read_task(workspace, task_id)
        tip = branch_commit(main.repository, main.place(other).branch)
        is_done = other.status is TaskStatus.COMPLETED
        if is_done and tip is not None and not view.is_ancestor(tip, base):
            return True
    return False


def _packed(main: MainCheckout, base: str, tip: str | None) -> str:
    """Return a commit of the project's state, whose parents are the commits that go along."""
    view = view_of(main.repository.top)
    version = main.workspace.sow / VERSION_FILE
    files = [*([version] if version.is_file() else []), *_files(main.workspace.project)]
    names = "".join(f"{path}\n" for path in files).encode("utf-8", "surrogateescape")
    words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
    blobs = view.text(*words, stdin=names, seconds=LONG_SECONDS).split() if files else []
    sow = main.workspace.sow
    lines = [
        f"100644 {blob}\t{path.relative_to(sow)}\0" for path, blob in zip(files, blobs, strict=True)
    ]
    index = main.repository.git_dir / "sow" / f"{INDEX}.{os.urandom(4).hex()}"
    index.parent.mkdir(exist_ok=True)
    own = {"GIT_INDEX_FILE": str(index)}
    try:
        stdin = "".join(lines).encode("utf-8", "surrogateescape")
        view.text("update-index", "-z", "--index-info", stdin=stdin, variables=own)
        tree = view.text("write-tree", variables=own)
    finally:
        index.unlink(missing_ok=True)
    parents = [word for commit in (base, tip) if commit is not None for word in ("-p", commit)]
    by = identity_of(main.repository.top)
    text = b"The project as a task of it begins on another host\n"
    return view.text("commit-tree", tree, *parents, stdin=text, variables=by)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a project's state: plain ones, and nothing that is at work there."""
    left = MOST_BYTES
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top, name)
            facts = path.lstat()
            if name.startswith(".") or "\n" in str(path) or not stat.S_ISREG(facts.st_mode):
                continue
            left -= facts.st_size
            if left < 0:
                raise StateTooLarge(folder)
            yield path
