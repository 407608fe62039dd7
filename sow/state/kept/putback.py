"""What git has taken is put back, while a job lives; all else is somebody's wish and stands.

Owns that decision, file by file under the lock of the file's folder, and what
is said of it: one line to whoever did it, one entry in each task's log. Runs
only where a file is not what was kept last, so it may take its time.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from sow.clock import format_time, utc_now
from sow.errors import StateError
from sow.files import locked_once, make_folder, move, remove_file, write_atomically
from sow.paths import path_at
from sow.state.kept import keeper_hooks
from sow.state.kept.copies import (
    LOG,
    UNREADABLE,
    agrees,
    forget,
    is_marked,
    keep,
    mark,
    read,
)
from sow.state.kept.history import came_before
from sow.state.kept.store import Checkout, Kept
from sow.state.log_writing import LogEntry, write_entry
from sow.unchanged_files import unchanged

QUIET_SECONDS = 0.3
"""So long after git's last write to its index, HEAD names what it has checked out."""
PATIENCE_SECONDS = 3.0
MANY_WRITES, MANY_SECONDS = 3, 1.0
"""So many writes of git's index in so long a time, under one HEAD, are no change of branch."""
HEAD_SECONDS = 0.05
"""So soon after its index git has written HEAD, if it changes that."""
STALE_SECONDS = 600.0
STATE = "state.yaml"
PROJECT_STATE = f"project/{STATE}"
OURS = frozenset({STATE, LOG, "description.md"})
FOUNDATION = (".version", ".gitignore", ".gitattributes", "config.yaml")
"""Files beside the project, put back only where they are missing."""
LOCK_SECONDS = 1.0
"""How long another's lock is waited for; its holder, or the next look, sees to that file."""
SHOWN = 8


def is_at_rest(kept: Kept, *, surely: bool = False) -> bool:
    """Wait until git is not at work here, and return whether HEAD is still the same.

    A checkout changes the files first, then its index, and HEAD last: in between, the
    files of one branch stand under the name of the other. Where git does not rest, that may
    be concluded from what it does, unless it has to be known `surely`.
    """
    git, began = kept.checkout.git, time.monotonic()
    writes = set()
    while git and _is_at_work(git):
        writes.add(_written_at(f"{git}/index"))
        waited = time.monotonic() - began
        if not surely and _keeps_branch(git, len(writes), waited):
            time.sleep(HEAD_SECONDS)
            break
        if waited >= PATIENCE_SECONDS:
            return False
        time.sleep(0.02)
    now = Checkout(kept.checkout.root)
    return (now.git, now.head) == (git, kept.checkout.head)


def _is_at_work(git: str) -> bool:
    lock, index = _age(f"{git}/index.lock"), _age(f"{git}/index")
    return lock < STALE_SECONDS or index < QUIET_SECONDS


def _keeps_branch(git: str, writes: int, waited: float) -> bool:
    """Whether git, which does not rest, is taken to stay on its branch.

    A git that was killed leaves its lock behind, and nobody has that open. And of commands
    that have written the index `writes` times meanwhile, a change of branch would be seen in
    HEAD: to wait for the end of them all would be to lose what others report.
    """
    lock = f"{git}/index.lock"
    if not os.path.lexists(lock):
        return writes >= MANY_WRITES and waited >= MANY_SECONDS
    if waited < PATIENCE_SECONDS:
        return False
    # Asked only while git is at work.
    from sow.processes import process_facts

    return not process_facts.is_open_somewhere(lock)


def _age(path: str) -> float:
    """Return how long ago a file was written, in seconds; for ever where there is none."""
    return abs(time.time() - _written_at(path))


def _written_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116
    except OSError:
        return float("inf")


def sweep(kept: Kept, names: Collection[str] | None = None) -> None:
    """See to every file of a project that was kept, or to `names`, and tell what was put back.

    `names` are those of files that were just seen to differ: each is read again under its lock. A
    file that differs from its copy is put back, becomes the copy, or is left alone while git is at
    work. Raises nothing for a file that cannot be seen to.
    """
    differing = differing_names(kept) if names is None else names
    if not differing or not is_at_rest(kept):
        return
    alive = keeper_hooks.OURS.witness(kept.checkout.root, kept.project_id)
    done = [name for name in differing if _restore_file(kept, name, alive)]
    if done:
        _tell(kept, done, alive)


def sweep_from(kept: Kept, name: str) -> None:
    """See to one file that differs, and to every other one if it was put back.

    Where it was not, it is an edit, and says nothing of the others: whoever reads one of
    them compares it. To compare all takes 10 ms for 100 tasks (docs/performance.md).
    """
    if not is_at_rest(kept):
        return
    alive = keeper_hooks.OURS.witness(kept.checkout.root, kept.project_id)
    if not _restore_file(kept, name, alive):
        return
    kept.is_restored = True
    others = [other for other in differing_names(kept) if _restore_file(kept, other, alive)]
    _tell(kept, [name, *others], alive)


def differing_names(kept: Kept, names: Collection[str] | None = None) -> list[str]:
    """Return which of the files that were kept, or of `names`, are not what was kept last."""
    wanted = kept_names(kept) if names is None else names
    return [name for name in wanted if not _agrees(kept, name)]


def adopt(kept: Kept, names: Iterable[str] | None = None) -> None:
    """Keep every file of the project, or of `names`, of which there is no copy yet."""
    wanted = present_names(kept) if names is None else names
    new = [name for name in wanted if not os.path.exists(kept.copy(name))]  # noqa: PTH110
    if not new or not is_at_rest(kept, surely=True):
        return
    for name in new:
        with suppress(OSError, StateError), _locked(Path(f"{kept.sow}/{name}").parent):
            data = read(f"{kept.sow}/{name}")
            if read(kept.copy(name)) is None and isinstance(data, bytes) and _is_valid(name, data):
                keep(kept, name, data)


def _locked(folder: Path) -> AbstractContextManager[object]:
    """Hold the lock of a folder, as every writer of a copy does; we may hold it already."""
    return locked_once(folder, timeout_seconds=LOCK_SECONDS)


def kept_names(kept: Kept) -> list[str]:
    """Return the names of the files that were kept, those of a task together."""
    start = len(kept.files) + 1
    return [path[start:] for path in _files_below(kept.files) if not path.endswith(".tmp")]


def _files_below(folder: str) -> Iterator[str]:
    """Yield the files below a folder, those of each folder together: half of `os.walk`'s time."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    yield from (entry.path for entry in entries if not entry.is_dir())
    for path in inner:
        yield from _files_below(path)


def present_names(kept: Kept) -> Iterator[str]:
    """Yield the names of the files that are to be kept, as they lie on the disk."""
    for folder in folders(kept.sow):
        yield from names_in(kept.sow, folder)


def folders(base: str, task_id: str | None = None) -> Iterator[str]:
    """Yield the folders that hold what is to be kept, below `.sow` or where its copies lie.

    With `task_id`, of all tasks only those of this one, whether it is there or not.
    """
    yield from ("", "project", "project/feedback")
    phases = f"{base}/project/phases"
    for phase in unchanged(lambda: _entries(phases, folder=True), phases):
        tasks = f"project/phases/{phase}/tasks"
        for task in [task_id] if task_id else _entries(f"{base}/{tasks}", folder=True):
            if task.isdecimal():
                yield from (f"{tasks}/{task}", f"{tasks}/{task}/feedback")


def names_in(base: str, folder: str) -> list[str]:
    """Return the names of the files to be kept in one such folder."""
    if not folder:
        return [name for name in FOUNDATION if os.path.isfile(f"{base}/{name}")]  # noqa: PTH113
    present = _entries(f"{base}/{folder}", folder=False)
    return [f"{folder}/{name}" for name in present if folder.endswith("/feedback") or name in OURS]


def _entries(path: str, *, folder: bool) -> list[str]:
    """Return the names of the folders, or of the files, in a folder; none where there is none."""
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.name
                for entry in entries
                if entry.name[0] != "." and (entry.is_dir() if folder else entry.is_file())
            )
    except OSError:
        return []


def _agrees(kept: Kept, name: str) -> bool:
    """Whether a file is what was kept; read only where it has changed since that was found last."""
    path, copy = f"{kept.sow}/{name}", kept.copy(name)
    try:
        facts = os.stat(path)  # noqa: PTH116 - asked of every file
    except OSError:
        facts = None
    if facts is not None and is_marked(copy, facts):
        return True
    data = read(path)
    if data is UNREADABLE:
        return name != PROJECT_STATE
    if not agrees(kept, name, data if isinstance(data, bytes) else None):
        return False
    if facts is not None:
        mark(copy, facts)
    return True


def _restore_file(kept: Kept, name: str, alive: str) -> bool:
    """See to one file under the lock of its folder; return whether it was put back."""
    folder = path_at(f"{kept.sow}/{name}").parent
    try:
        if alive:
            if not folder.is_dir():
                make_folder(folder)
        elif not folder.is_dir():
            if os.path.lexists(f"{kept.sow}/project/state.yaml"):
                forget(kept, name)  # the copies of a project that is gone as a whole stay
            return False
        with _locked(folder):
            return _decide(kept, name, alive)
    except (OSError, StateError):
        return False  # it is seen to at the next look


def _decide(kept: Kept, name: str, alive: str) -> bool:
    path = path_at(f"{kept.sow}/{name}")
    data, copy = read(str(path)), read(kept.copy(name))
    if alive and data is UNREADABLE and name == PROJECT_STATE and isinstance(copy, bytes):
        return _replace_odd(kept, name, copy)
    if data == copy or data is UNREADABLE or not isinstance(copy, bytes):
        return False
    if not isinstance(data, bytes):
        if alive:
            write_atomically(path, copy)
            kept.put_back[name] = copy
            if "/tasks/" in name and path.name == STATE:
                make_folder(path.with_name("feedback"))  # git keeps no empty folder
            return True
        forget(kept, name)
        return False
    if alive and name not in FOUNDATION:
        whole = came_before(kept, name, data, copy)
        if whole is not None:
            write_atomically(path, whole)
            kept.put_back[name] = whole
            if whole != copy:
                keep(kept, name, whole)
            return True
    if _is_valid(name, data):
        keep(kept, name, data)
    return False


def _replace_odd(kept: Kept, name: str, copy: bytes) -> bool:
    """Put a file back where something lies that is none: a pipe, a folder, a loop of links.

    Done for the project's own state, without which no job of it can be settled.
    A task's is its job's to put back.
    """
    path = path_at(f"{kept.sow}/{name}")
    if path.is_file():
        return False  # one that is too large: that is for a person to mend
    if path.is_dir():  # it may hold anything
        move(path, path.with_name(f"{path.name}.aside-{os.urandom(4).hex()}"))
    remove_file(path)
    write_atomically(path, copy)
    kept.put_back[name] = copy
    return True


def _is_valid(name: str, data: bytes) -> bool:
    """Whether a state file can be read; what cannot never becomes the copy."""
    if not name.endswith(STATE):
        return True
    # Logs and descriptions need neither schema nor YAML.
    from sow.schema.project import ProjectState
    from sow.schema.task import TaskState
    from sow.yamlfile import YamlProblem, read_shared

    form: type[ProjectState | TaskState]
    form = ProjectState if name == PROJECT_STATE else TaskState
    try:
        read_shared(data, form, path=Path(name))
    except YamlProblem:
        return False
    return True


def _tell(kept: Kept, names: list[str], alive: str) -> None:
    """Say what was put back: to whoever runs this, and in the log of each task."""
    taker = "git" if kept.checkout.git else "somebody"
    reason = f"{taker} had taken them away or to an earlier version, and {alive} has not ended"
    folders: dict[str, list[str]] = {}
    for name in names:
        folders.setdefault(_folder_of(name), []).append(os.path.basename(name))  # noqa: PTH119
    keeper_hooks.OURS.tell(f"put back: {_sum(folders)}; {reason}")
    for folder, files in folders.items():
        if not folder:
            continue
        action = f"Put back: {', '.join(files)}; {reason}"
        try:
            entry = LogEntry(timestamp=format_time(utc_now()), agent="sow", action=action)
            write_entry(Path(f"{kept.sow}/{folder}"), entry)
        except StateError:
            continue  # it was said to the caller


def _folder_of(name: str) -> str:
    """Return the folder whose log tells of a file: its task's, the project's, or none."""
    parts = name.split("/")
    if parts[0] != "project":
        return ""
    return "/".join(parts[:5]) if len(parts) > 5 else "project"


def _sum(folders: dict[str, list[str]]) -> str:
    words = []
    for folder, files in folders.items():
        whose = f"task {folder.rpartition('/')[2]}" if "/" in folder else folder or ".sow"
        words.append(f"{', '.join(files)} of {whose}")
    more = len(words) - SHOWN
    return "; ".join(words[:SHOWN]) + (f"; and of {more} more" if more > 0 else "")
