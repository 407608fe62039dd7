"""One report, carried out by a process of its own: the very command, as the agent's own would be.

Owns what that process is: forked from one that has imported what reports need, with the variables
of the attempt, in the workspace's root. Nothing that the agent sends has a say in who it is. It
ends with the process that has forked it, so that no report is carried out later than that of
whoever has waited for it; such a report is kept by its sender, and known again by its id.
"""

import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from sow.agents.rights import CallingAgent, NoReport, reports_of
from sow.commands import KEPT, row_of
from sow.digest import sha256
from sow.env_vars import REPORT
from sow.errors import ExitCode
from sow.processes.tree_linux import end_with_parent
from sow.report_message import Report, pack_answer
from sow.state.authors import ID_DIGITS
from sow.state.due_entries import settle
from sow.state.kept.guard import restore_project
from sow.state.kept.store import project_id_at
from sow.state.log_writing import LOG_LIMIT, has_entry
from worker.reports.server_messages import ServedAttempt

MOST_TRIES = 2
"""How often a report is begun whose process is killed."""
MOST_OUTPUT = 8 << 20
"""How much of what a command prints is told, in bytes."""
MOST_NAMED = 200
"""How much of a line is named that no command begins."""
NOT_HERE = 99
"""The exit code of a process that finds another project checked out than the attempt's."""
ELSEWHERE = "Error: the project of this task is not checked out now\n\nReport it once it is.\n"


class Outcome(NamedTuple):
    """What came of a report."""

    code: int
    out: bytes = b""
    err: bytes = b""


def entry_id_of(attempt: str, report: Report) -> str:
    """Return the id of the log's entry that tells of a report."""
    digest: str = sha256(attempt.encode() + b"\0" + report.id).hexdigest()
    return digest[:ID_DIGITS]


def fork(what: Callable[[], int], keeps: tuple[int, ...] = ()) -> int:
    """Have a process of its own do something, and return its pid.

    It has no descriptors but the standard ones, which lead nowhere, and those that it keeps. Its
    exit code is what `what` returns. It ends with us. Raises OSError.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _be(what, parent, keeps)
    return pid


def _be(what: Callable[[], int], parent: int, keeps: tuple[int, ...]) -> NoReturn:
    code = 1
    try:
        end_with_parent()
        if os.getppid() == parent:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            _close_all_but(keeps)
            code = what()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _close_all_but(keeps: tuple[int, ...]) -> None:
    last = 2
    for number in sorted(keeps):
        os.closerange(last + 1, number)
        last = number
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


def carry_out(served: ServedAttempt, report: Report, *, is_new: bool = True) -> Outcome:
    """Run the command of a report in this process, which is forked for it, and ends soon.

    One that is not new was perhaps carried out before: then nothing is done again. `sow task set`
    with several tasks may have been killed between two of them, and asks the log of each.
    """
    if refusal := _refusal_of(served, report):
        return refusal
    entry_id = entry_id_of(served.id, report)
    is_set = [*report.words[:2]] == [b"task", b"set"]
    may_be_several = is_set and len(report.words) > len(("task", "set", "TASK", "FIELD", "VALUE"))
    if not is_new and not may_be_several and is_on_record(served, entry_id):
        return Outcome(0)
    os.chdir(served.root)
    out, err = _streams(report.stdin)
    os.environ.clear()
    os.environ.update(served.environ)
    os.environ[REPORT] = entry_id
    line = [os.fsdecode(word) for word in report.words]
    sys.argv = ["sow", *line]
    from sow.cli.root import run

    code = run(line)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return Outcome(code, _read(out), _read(err))


def is_here(served: ServedAttempt) -> bool:
    """Whether the attempt's project is checked out; what git has taken of it is put back first."""
    root = Path(served.root)
    if project_id_at(root) == served.project:
        return True
    restore_project(root)
    return project_id_at(root) == served.project


def is_on_record(served: ServedAttempt, entry_id: str) -> bool:
    """Whether the log of a task, or the project's, has the entry of a report."""
    project = Path(served.root) / ".sow" / "project"
    for log in (project / "log.md", *project.glob("phases/*/tasks/*/log.md")):
        settle(log.parent)
        if has_entry(log.parent, entry_id, within=LOG_LIMIT):
            return True
    return False


def may_come_again(report: Report) -> bool:
    """Whether a report is known again, and so is carried out once however often it comes."""
    row = row_of([os.fsdecode(word) for word in report.words])
    return row is not None and row.right in KEPT


def _refusal_of(served: ServedAttempt, report: Report) -> Outcome | None:
    """Return the answer to what is no report of this agent; None for one that is."""
    line = [os.fsdecode(word) for word in report.words]
    row = row_of(line)
    agent = CallingAgent(served.task, served.role, reviews=served.reviews)
    if row is not None and row.path in reports_of(agent.role, reviews=agent.reviews):
        return None
    name = " ".join(("sow", *line)) if row is None else " ".join(("sow", *row.path))
    error = NoReport(name[:MOST_NAMED], agent)
    words = f"Error: {error.message}\n\n{error.hint}\n".encode("utf-8", "backslashreplace")
    return Outcome(int(ExitCode.STATE), b"", words)


def _streams(stdin: bytes | None) -> tuple[int, int]:
    """Give this process standard streams; return where its output and its errors are."""
    source = os.open(os.devnull, os.O_RDONLY)
    if stdin is not None:
        source = os.memfd_create("stdin")
        with open(source, "wb", closefd=False) as file:
            file.write(stdin)
        os.lseek(source, 0, os.SEEK_SET)
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    for number, descriptor in enumerate((source, out, err)):
        os.dup2(descriptor, number)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = _text(1, "surrogateescape")
    sys.stderr = _text(2, "backslashreplace")
    return out, err


def _text(descriptor: int, errors: str) -> io.TextIOWrapper:
    return open(descriptor, "w", encoding="utf-8", errors=errors, closefd=False)


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, MOST_OUTPUT, 0)


def answer_of(outcome: Outcome) -> bytes:
    """Return an outcome as it is sent to the agent."""
    return pack_answer(outcome.code, outcome.out, outcome.err)
