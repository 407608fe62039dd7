"""What becomes of a queue's file without the proof that it is this user's own (`queue_owner`).

A file that was made here by a sow without such proofs is adopted, once. One that was copied or
restored together with its proof, or made under another state folder, is refused in words. Any
other is put aside whole, and told; where our own file lies below its second name only, for
a pull has replaced it, that takes its place again. Nothing is deleted, and no job of
a file is believed before. Once for each such file, under the folder's lock.
"""

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from sow.errors import QueueError, SowError
from sow.files import sync_folder
from sow.git.git_errors import GitMissing, NoRepository
from sow.git.run import git
from sow.jobs.closing import close_unwritten
from sow.jobs.faults import SUFFIXES, put_aside_command
from sow.jobs.giving_back import give_back
from sow.jobs.putting_aside import UNPROVEN, keep_aside, locked_run, move_aside
from sow.jobs.queue_files import connect, count_commit, refuse_unfit
from sow.jobs.queue_owner import (
    JOURNAL,
    all_names,
    give_names,
    is_own,
    is_same,
    is_signed,
    names_here,
    sign_content,
)
from sow.jobs.user_secret import made_at_ns
from sow.paths import Workspace
from sow.state.kept import keeper_hooks

UNFINISHED = "select 1 from job where state not in ('done', 'failed', 'cancelled') limit 1"
BUSY_SECONDS = 5.0


def put_place(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Write down where the file lies, in the transaction that is open."""
    mark, _ = _marks(workspace)
    value = mark.encode() + b" " + os.fsencode(workspace.root)
    connection.execute("insert or replace into control values ('place', ?)", (value,))


def noted_place(connection: sqlite3.Connection) -> tuple[str, Path] | None:
    """Return the folder's mark and the root that a file names; None where it names none."""
    row = connection.execute("select value from control where name = 'place'").fetchone()
    if row is None:
        return None
    value = row[0] if isinstance(row[0], bytes) else str(row[0]).encode()
    mark, _, root = value.partition(b" ")
    return mark.decode("ascii", "replace"), Path(os.fsdecode(root))


def is_noted_here(noted: tuple[str, Path], workspace: Workspace) -> bool:
    """Whether a file names this very folder; a device may have another number since."""
    mark, root = noted
    here, inode = _marks(workspace)
    return mark == here or (mark.endswith(f":{inode}") and root == workspace.root)


def _marks(workspace: Workspace) -> tuple[str, str]:
    """Return what tells a folder from its copies, and the part of it that stays for good."""
    facts = workspace.run.stat()
    return f"{facts.st_dev}:{facts.st_ino}", str(facts.st_ino)


def see_to_unproven(workspace: Workspace) -> None:
    """Adopt, refuse or put aside a file without proof; there may be no file afterwards.

    Raises QueueError, NoSecret.
    """
    path = workspace.queue_db
    try:
        with locked_run(workspace.run):
            if is_own(workspace) or not os.path.lexists(path):
                return
            file = os.lstat(path)
            journal = path.with_name(path.name + JOURNAL)
            if folder := move_aside(path, [journal], kind=UNPROVEN):
                keeper_hooks.OURS.tell(
                    f"{journal} does not belong to sow, so it was moved to {folder}"
                )
                if is_own(workspace):
                    return
            if file.st_uid != os.geteuid():
                raise QueueError(
                    f"the queue file {path} belongs to the user with uid"
                    f" {file.st_uid}, but sow runs as uid {os.geteuid()}",
                    hint="Nothing was read or changed. Run sow as that user: only one user can"
                    " use a checkout.",
                )
            if _is_ours_all_the_same(workspace, file):
                _name(workspace)
            else:
                _put_aside(workspace)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_tell(path, error) from error


def put_copied_over_aside(workspace: Workspace) -> None:
    """Put a file aside that was copied over ours, and has its names: ours is gone.

    Raises QueueError.
    """
    path = workspace.queue_db
    if not is_own(workspace):
        see_to_unproven(workspace)  # it has come under the name since we looked: ours is there
        return
    try:
        with locked_run(workspace.run):
            if not is_own(workspace):
                return  # another process was first
            connection = connect(path, seconds=BUSY_SECONDS)
            try:
                if is_signed(connection, workspace.run):
                    return
            finally:
                close_unwritten(path, connection)
            files = [path.with_name(path.name + suffix) for suffix in SUFFIXES]
            folder = move_aside(path, [*files, *all_names(workspace.run)], kind=UNPROVEN)
            sync_folder(workspace.run)
            _tell(workspace, folder, is_back=False)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_tell(path, error) from error


def _cannot_tell(path: Path, error: Exception) -> QueueError:
    return QueueError(
        f"sow cannot find out who owns the queue file {path}: {error}",
        hint="Check the disk's free space and the permissions of .sow/run, then run the command"
        " again.",
    )


def _is_ours_all_the_same(workspace: Workspace, file: os.stat_result) -> bool:
    """Whether a file is ours by the folder's place, or was made here before there were proofs.

    Raises QueueError.
    """
    run = workspace.run
    if any(is_same(file, str(run / name)) for name in names_here(workspace)):
        return True
    if any(is_same(file, str(name)) for name in all_names(run)):
        raise QueueError(
            f"the queue file {workspace.queue_db} was not made by you for this folder on this"
            " machine, so sow runs none of its jobs. It was copied or restored, or HOME or"
            " XDG_STATE_HOME was different when it was made",
            repair=put_aside_command(workspace.queue_db),
            hint="Move it away, then run the command again; sow creates a new queue for this"
            f" checkout:\n    {put_aside_command(workspace.queue_db)}\nIf the original"
            " queue exists elsewhere, it and its agents are not affected.",
        )
    is_regular = stat.S_ISREG(file.st_mode)
    if not is_regular or _own_file(workspace) or not _may_be_adopted(workspace, file):
        return False
    _sign(workspace.queue_db)
    return True


def _own_file(workspace: Workspace) -> Path | None:
    """Return our own file, which has lost its first name; None where there is none."""
    for name in names_here(workspace):
        path = workspace.run / name
        with suppress(OSError):
            facts = os.lstat(path)
            if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                return path
    return None


def _may_be_adopted(workspace: Workspace, file: os.stat_result) -> bool:
    """Whether a file that no sow has proved yet was made here, as far as can be known.

    A worker of this checkout that has it open has taken it for its own long before. Else the
    file has to be older than the secret, so that none that comes later poses as one, and
    to lie where it says that it was made. One that does not say that, as the first sow's,
    must have nothing left to do. (Who dies while adopting leaves a newer one that is signed.)
    """
    if git_tracks(workspace):
        return False
    is_in_use = _is_open_in_worker(workspace, file)
    is_older = file.st_ctime_ns < made_at_ns()
    try:
        refuse_unfit(workspace.queue_db)
        with closing(connect(workspace.queue_db, seconds=BUSY_SECONDS)) as connection:
            if not (is_in_use or is_older or is_signed(connection, workspace.run)):
                return False
            noted = noted_place(connection)
            if noted is not None:
                return is_noted_here(noted, workspace)
            return is_in_use or connection.execute(UNFINISHED).fetchone() is None
    except (QueueError, sqlite3.Error):
        return False


def _sign(path: Path) -> None:
    """Write into a file that is adopted whose it is. Raises sqlite3.Error, NoSecret."""
    with closing(connect(path, seconds=BUSY_SECONDS)) as connection:
        connection.execute("begin immediate")
        sign_content(connection, path.parent)
        count_commit(connection)
        connection.execute("commit")


def git_tracks(workspace: Workspace) -> bool:
    """Whether git has anything of `.sow/run` in its index or in the commit that is checked out.

    True where git is there and cannot tell. Runs git.
    """
    folder = str(workspace.run.relative_to(workspace.root))
    try:
        if not git(workspace.root, "rev-parse", "--git-dir", accepted=(0, 128)):
            return False
        if git(workspace.root, "ls-files", "-z", "--", folder):
            return True
        words = ("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", folder)
        return bool(git(workspace.root, *words, accepted=(0, 128)))
    except (GitMissing, NoRepository):
        return False
    except SowError:
        return True


def _is_open_in_worker(workspace: Workspace, file: os.stat_result) -> bool:
    """Whether a living worker of this checkout has this very file open."""
    for lock in workspace.workers.glob("*.lock"):
        with suppress(OSError, ValueError, IndexError, QueueError):
            pid = int(lock.read_bytes()[:200].split()[0])
            if _holds(pid, lock.stat()) and _holds(pid, file):
                return True
    return False


def _holds(pid: int, file: os.stat_result) -> bool:
    """Whether a process of ours has a file open."""
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(OSError):
                if os.path.samestat(entry.stat(), file):
                    return True
    return False


def _name(workspace: Workspace) -> None:
    """Give the file under the queue's name the proofs of this folder."""
    file = os.lstat(workspace.queue_db)
    others = [path for path in all_names(workspace.run) if not is_same(file, str(path))]
    move_aside(workspace.queue_db, others, kind=UNPROVEN)
    give_names(workspace.queue_db, workspace)


def _put_aside(workspace: Workspace) -> None:
    """Put the file aside with all that belongs to it; our own takes its place, if there is one."""
    path, own = workspace.queue_db, _own_file(workspace)
    log = [path.with_name(path.name + suffix) for suffix in SUFFIXES[1:]]
    if own is None:
        folder, is_whole = move_aside(path, [path, *log], kind=UNPROVEN), True
    else:
        folder = keep_aside(path, kind=UNPROVEN)
        is_whole = give_back(own, log, workspace)
    sync_folder(workspace.run)
    _tell(workspace, folder, is_back=own is not None, is_whole=is_whole)


def _tell(
    workspace: Workspace, folder: Path | None, *, is_back: bool, is_whole: bool = True
) -> None:
    run = workspace.run.relative_to(workspace.root)
    now = "your own file was put back" if is_back else "sow created a new queue"
    if not is_whole:
        now += (
            ". A process had the file open while its log was removed or replaced, so the newest"
            " entries may be missing. `sow job list` shows the jobs that are left"
        )
    words = (
        f"the queue file {workspace.queue_db} was not made by you in this checkout, so sow runs"
        f" none of its jobs. It was moved to {folder}, and {now}"
    )
    if git_tracks(workspace):
        words += (
            f"\nGit tracks files in {run}; `git rm -r --cached {run}` makes git stop tracking them."
        )
    keeper_hooks.OURS.tell(words)
