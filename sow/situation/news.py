"""What a session that leads is told at its next turn: what waits for it, and what has ended.

Owns which changes are worth a look, and the words. What agents have written is not among them: a
session reads these lines as its own instructions.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from msgspec import Struct
from msgspec.structs import replace

from sow.calls.caller import Caller
from sow.errors import UsageError
from sow.jobs import changes
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.database import open_existing_queue
from sow.schema.batch import BatchState
from sow.schema.change import Change, ChangeKind
from sow.schema.output.situation import Wait
from sow.schema.task import TaskStatus
from sow.situation.looking import look
from sow.situation.situation import Situation
from sow.situation.waiting import DEPENDENCY, waits_of

MOST_LINES = 12
NEWS = frozenset(
    {
        *(ChangeKind.DONE, ChangeKind.FAILED, ChangeKind.CANCELLED, ChangeKind.STATUS),
        *(ChangeKind.PARKED, ChangeKind.HELD, ChangeKind.WARNING, ChangeKind.VERDICT),
        *(ChangeKind.BATCH, ChangeKind.ITEM, ChangeKind.SHORT, ChangeKind.STALLED),
    }
)
"""The changes that may have something to tell to who leads; the others are of work that goes on."""


class News(Struct, frozen=True):
    """What is told, and up to where."""

    lines: Sequence[str]
    cursor: str


def how_it_stands(caller: Caller) -> News:
    """Return all that waits, and what is at work: for a session that begins."""
    cursor = _newest(caller)
    now = _look(caller)
    lines = [_of_wait(wait) for wait in _for_people(waits_of(now))]
    lines += list(_at_work(now))
    return News(_bounded(lines), cursor)


def since(caller: Caller, cursor: str) -> News:
    """Return what has ended since a cursor, or waits since then.

    What was settled meanwhile is not told. Where there was no queue's file yet, there is no record
    of what has changed: all that waits is told. Raises QueueError.
    """
    if cursor == changes.FROM_THE_BEGINNING:
        return how_it_stands(caller)
    found, upto = _changes(caller, cursor)
    if not found:
        return News((), upto)
    now = _look(caller)
    tasks = {str(change.task) for change in found if change.task}
    batches = {f"batch {change.batch}" for change in found if change.batch is not None}
    at_work = {task for job in now.queue.live for task in job.tasks}
    waits = [wait for wait in _for_people(waits_of(now)) if set(wait.what.split(", ")) & tasks]
    waits += [wait for wait in _for_people(waits_of(now)) if wait.what in batches]
    lines = [_of_wait(wait) for wait in waits]
    named = {wait.what for wait in waits} | at_work
    lines += list(_ended(found, now, named))
    return News(_bounded(dict.fromkeys(lines)), upto)


def _newest(caller: Caller) -> str:
    database = open_existing_queue(caller.workspace)
    if database is None:
        return changes.FROM_THE_BEGINNING
    with closing(database):
        return str(changes.newest(database))


def _changes(caller: Caller, cursor: str) -> tuple[list[Change], str]:
    """Return the changes after a cursor that may be news, and the cursor after them."""
    try:
        begin: changes.Cursor | None = changes.parse_cursor(cursor)
    except UsageError:  # somebody has written into the file
        begin = None
    feed = ChangeFeed(caller.workspace, begin)
    with closing(feed):
        found = [change for change in feed.read(now=caller.now()) if change.kind in NEWS]
        return found, str(feed.cursor or cursor)


def _look(caller: Caller) -> Situation:
    """Return how things stand, without what agents ask, in their words."""
    now = look(caller, is_at_terminal=False, closely=True)
    return replace(now, queue=replace(now.queue, words={}))


def _for_people(waits: Iterable[Wait]) -> list[Wait]:
    """Return what does not go on by itself."""
    return [wait for wait in waits if wait.on not in (DEPENDENCY, "slot", "time", "limit")]


def _of_wait(wait: Wait) -> str:
    """Return a line of something that waits; of a failure no more than that it is one."""
    what = f"task {wait.what}" if wait.what[:1].isdecimal() else wait.what
    head, _, rest = wait.why.partition(": ")
    if head.startswith("in batch"):
        return f"{what} needs somebody {head}{', and has failed' * rest.startswith('has failed')}"
    if head == "has failed":
        return f"{what} has failed"
    return f"{what}: {wait.why}"


def _at_work(now: Situation) -> Iterator[str]:
    tasks = [task for job in now.queue.live for task in job.tasks]
    if tasks:
        yield f"at work, or queued: {', '.join(dict.fromkeys(tasks))}"


def _ended(found: Sequence[Change], now: Situation, named: Iterable[str]) -> Iterator[str]:
    """Yield what has ended and waits for nobody: completed tasks, batches that are over."""
    known, status = set(named), {str(task.id): task.status for task in now.tasks}
    for change in found:
        task = str(change.task)
        if change.kind == ChangeKind.BATCH and change.data.status == BatchState.OVER:
            yield f"batch {change.batch} is over"
        elif task in known or not task:
            continue
        elif change.kind == ChangeKind.CANCELLED:
            yield f"task {task}: its job {change.job} was cancelled"
        elif change.kind == ChangeKind.DONE and (
            change.data.status == status.get(task) == TaskStatus.COMPLETED
        ):
            yield f"task {task} is completed"


def _bounded(lines: Iterable[str]) -> Sequence[str]:
    every = list(lines)
    if len(every) <= MOST_LINES:
        return every
    return [*every[:MOST_LINES], f"and {len(every) - MOST_LINES} more: `sow status`"]
