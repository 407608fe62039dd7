"""What is told of an agent's secrets when its attempt has ended: which were found, and where.

Owns the words: names of variables and files, never a value. What was found on the way out is in
`blanked`, by the relay and by commands of sow that the agent has run; what was found in the work is
in `found.json`.
"""

from collections.abc import Sequence
from contextlib import suppress

from sow.blanking import LOST
from sow.clock import format_time
from sow.digest import sha256
from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import NotAFile, read_regular
from sow.ids import TaskId
from sow.state.authors import ID_DIGITS
from sow.state.log_writing import LogEntry, has_entry
from sow.state.task_log import append_entry
from sow.state.tasks import find_task
from sow.terminal_text import printable, readable
from worker.context import WorkerContext, tell
from worker.gathering import named
from worker.running import Running, read_record
from worker.steps.scan_record import Found

RECORD_LIMIT = 1 << 22
"""Each command of an agent that has a value on its line adds a line of the record, in bytes."""


def findings_of(running: Running) -> tuple[str, ...]:
    """Return what a person should know, a sentence each."""
    return (*_blanked(running), *_in_work(running))


def log_findings(context: WorkerContext, running: Running) -> None:
    """Tell it in the worker's log and in the task's, once for an attempt. Raises StateError."""
    found = findings_of(running)
    if not found:
        return
    entry_id = str(sha256(f"secrets of {running.attempt.id}".encode()).hexdigest())[:ID_DIGITS]
    try:
        folder = find_task(context.workspace, TaskId(running.job.task_id)).folder
        if has_entry(folder, entry_id, has_text=True):
            return
        for words in found:
            tell(running.job, words)
        entry = LogEntry(
            timestamp=format_time(context.now()),
            agent="sow",
            action="Found secrets that the agent was given",
            result="",
            text="\n".join(f"- {words}" for words in found),
            role=running.job.agent,
            job=running.job.id,
            attempt=running.attempt.number,
            id=entry_id,
        )
        append_entry(folder, entry)
    except StateError as error:  # a log that takes no entry must not keep the job alive
        if passing_fault(error) is not None:
            raise


def _blanked(running: Running) -> Sequence[str]:
    data = b""
    with suppress(FileNotFoundError, NotAFile):
        data = read_regular(running.paths.blanked, RECORD_LIMIT)
    lines = (line.partition(" ")[::2] for line in data.decode("utf-8", "replace").splitlines())
    names = {name for attempt, name in lines if running.owns(attempt)}
    given = running.job.executor.secret_names if running.job.executor is not None else ()
    found = [
        f"the agent has printed or reported the value of {name}; [{name}] stands in its place"
        for name in given
        if name in names
    ]
    if LOST.decode() in names:
        found.append("a part of its output is missing: the process that writes it was killed")
    return found


def _in_work(running: Running) -> Sequence[str]:
    if not running.paths.scan_orders.exists():
        return ()
    record = read_record(running.paths.found, Found)
    if record is None or not running.owns(record.attempt):
        if _never_began(running):
            return ()
        return ("its work was not searched for secrets: the search was killed or took too long",)
    files: dict[str, list[str]] = {}
    for name, file in record.places:
        files.setdefault(name, []).append(file)
    found = [
        f"the value of {printable(readable(name))} is in its work: {named(where)}"
        for name, where in files.items()
    ]
    if record.fault:
        first = record.fault.splitlines()[0]
        found.append(f"its work was not searched whole for secrets: {printable(first)}")
    return found


def _never_began(running: Running) -> bool:
    """Whether the supervisor has left on record that it started no agent: there is no work.

    Of an agent that ran it tells the processor time.
    """
    end = running.read_exit()
    return end is not None and end.cpu_seconds is None and not running.paths.started.exists()
