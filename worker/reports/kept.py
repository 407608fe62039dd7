"""The reports that an agent has kept beside its socket while nobody listened.

Owns the order in which they are carried out, each once, and what becomes of one that is refused:
the task's log says so. All that lies in the folder is the agent's own: a name, a size and a kind of
file are believed only as far as they are looked at, and no more is read than an agent may report.
Runs in a process of its own, so that it holds nobody up.
"""

import heapq
import os
import select
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sow.clock import format_time, utc_now
from sow.errors import StateError
from sow.faults import passing_fault
from sow.files.flock import lock_file_held
from sow.files.trees import remove_tree
from sow.paths import AttemptPaths, Workspace
from sow.report_message import (
    HEAD,
    ID_DIGITS,
    KEPT_SUFFIX,
    MOST_BYTES,
    BadMessage,
    Report,
    unpack_report,
)
from sow.state.log_writing import LogEntry, is_full, write_entry
from sow.state.places import find_task
from sow.terminal_text import printable, readable
from worker.reports.blanked_inside import note_on_record
from worker.reports.carrying_out import (
    MOST_TRIES,
    NOT_HERE,
    Outcome,
    carry_out,
    entry_id_of,
    fork,
    is_here,
    is_on_record,
)
from worker.reports.server_messages import ServedAttempt

PREVENTED = 98
"""The exit code where a full disk, a lock or the like keeps what is left for later."""
MOST_KEPT = 1000
"""How many reports are taken of those that were kept."""
MOST_SECONDS = 60.0
"""How long one of them may take."""
ALL_SECONDS = 300.0
"""How long all of them may take; what is left then is refused."""
NAME_LENGTH = 20 + 1 + ID_DIGITS + len(KEPT_SUFFIX)
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LONGEST_SHOWN = 200
LONGEST_TEXT = 2000
UNREADABLE = "what was kept as a report cannot be read as one, here and perhaps elsewhere"
TOO_MANY = "too many reports were kept, or they have taken too long; the last were dropped"


def empty(served: ServedAttempt, *, is_last: bool) -> int:
    """Carry out what was kept, in its order; the exit code of the process that does so.

    With `is_last` the agent has ended: its folder is taken away first, so that nothing comes any
    more, and is gone afterwards. NOT_HERE where another project is checked out: all stays then.
    """
    paths = AttemptPaths(Path(served.folder))
    if not is_here(served):
        return NOT_HERE
    try:
        with suppress(FileNotFoundError), lock_file_held(paths.reports / "lock"):
            if is_last:
                with suppress(OSError):  # it has ended before, and somebody was killed since
                    paths.report_folder.rename(paths.reports_ended)
            for folder in (paths.reports_ended, paths.report_folder):
                with suppress(FileNotFoundError, NotADirectoryError):
                    _empty(served, folder)
            if is_last:
                for folder in (paths.reports_ended, paths.report_folder):
                    note_on_record(served, folder)
                _remove(paths)
    except (StateError, OSError) as error:
        if passing_fault(error) is None:
            raise
        return PREVENTED
    return 0


def _remove(paths: AttemptPaths) -> None:
    above = os.open(paths.folder, FOLDER)
    try:
        remove_tree(above, paths.reports.name)
    finally:
        os.close(above)


def _empty(served: ServedAttempt, path: Path) -> None:
    deadline = time.monotonic() + ALL_SECONDS
    folder = os.open(path, FOLDER)
    try:
        os.fchmod(folder, 0o700)  # what is carried out has to go
        names = heapq.nsmallest(MOST_KEPT + 1, _names(folder))
        done = 0
        for name in names[:MOST_KEPT]:
            if time.monotonic() >= deadline:
                break
            done += 1
            report = _report_in(folder, name)
            if report is not None:
                _carry_out(served, report)
            else:
                _refuse(served, "unreadable", "", UNREADABLE)
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        if done < len(names):
            _refuse(served, "more", "", TOO_MANY)
            _drop(folder)
        with suppress(OSError):
            os.fsync(folder)
    finally:
        os.close(folder)


def _names(folder: int) -> Iterator[str]:
    """Yield the names that a kept report may have; of others there may be any number."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if len(name) == NAME_LENGTH and name.endswith(KEPT_SUFFIX) and name[:20].isdecimal():
                yield name


def _drop(folder: int) -> None:
    for name in _names(folder):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _report_in(folder: int, name: str) -> Report | None:
    """Return the report in a file; None for anything else, whatever kind of thing it is."""
    try:
        file = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > HEAD + MOST_BYTES:
            return None
        data = bytearray()
        while len(data) < facts.st_size:
            piece = os.read(file, facts.st_size - len(data))
            if not piece:
                return None
            data += piece
        return unpack_report(data)
    except (OSError, BadMessage):
        return None
    finally:
        os.close(file)


def _carry_out(served: ServedAttempt, report: Report) -> None:
    outcome = run_apart(served, report)
    if outcome.code != 0:
        err = outcome.err.decode("utf-8", "replace").strip()
        _refuse(served, report.id.decode(), _line_of(report), err or f"exit code {outcome.code}")


def run_apart(served: ServedAttempt, report: Report) -> Outcome:
    """Carry out a kept report in a process of its own, and wait for it, but not for ever.

    One that is killed is begun once more.
    """
    deadline = time.monotonic() + MOST_SECONDS
    result = os.memfd_create("outcome")
    try:
        for _ in range(MOST_TRIES):
            pid = fork(lambda: _leave(carry_out(served, report, is_new=False), result), (result,))
            if _wait(pid, deadline):
                code, _, err = os.pread(result, 1 << 20, 0).partition(b"\n")
                return Outcome(int(code or b"1"), b"", err)
            if time.monotonic() >= deadline:
                break
        return Outcome(1, b"", b"it was ended: it has taken too long, or something killed it")
    finally:
        os.close(result)


def _leave(outcome: Outcome, result: int) -> int:
    os.pwrite(result, b"%d\n%s" % (outcome.code, outcome.err[:LONGEST_TEXT]), 0)
    return 0


def _wait(pid: int, deadline: float) -> bool:
    """Wait for a process; return whether it has come to its own end in time."""
    pidfd = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, 9)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(pidfd)


def _line_of(report: Report) -> str:
    words = " ".join(os.fsdecode(word) for word in report.words)
    shown = printable(readable(f"sow {words}"))
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"


def _refuse(served: ServedAttempt, name: str, line: str, why: str) -> None:
    """Tell in the task's log that a kept report was not carried out, once, as long as it has room.

    Raises StateError where the log takes no entry now: the report is still there then.
    """
    mark = Report(name.encode("utf-8", "surrogateescape") + b" refused", (), None)
    entry_id = entry_id_of(served.id, mark)
    folder = find_task(Workspace(Path(served.root)), served.task).folder
    if is_full(folder) or is_on_record(served, entry_id):
        return
    what = f": `{line}`" if line else ""
    entry = LogEntry(
        timestamp=format_time(utc_now()),
        agent="sow",
        action=f"Refused a report that was kept while no worker took any{what}",
        text=why[:LONGEST_TEXT],
        id=entry_id,
    )
    write_entry(folder, entry)
