"""Waiting for the first change after a cursor: `--since` of `sow agent wait` and `sow batch wait`.

Owns what such a call prints: all that has changed, and the cursor with which the next
call goes on. Nothing is missed between two calls, and nothing is told twice.
"""

import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.call_options import WaitOptions, bound_of
from sow.cli.changes import change_record, print_row
from sow.cli.detaching import GONE, detaching_signals, leave_if_nobody_waits
from sow.cli.output import echo_json
from sow.cli.streams import wait_for_more
from sow.errors import ExitCode, QueueError
from sow.ids import TaskId
from sow.jobs import waiters
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.changes import Cursor, Filter, newest, parse_since
from sow.jobs.database import Database
from sow.schema.change import Change, ChangeKind

LOOK_SECONDS = 0.25
ENDS = frozenset({ChangeKind.DONE, ChangeKind.FAILED, ChangeKind.CANCELLED})


def wait_since(
    caller: Caller,
    database: Database,
    since: str,
    options: WaitOptions,
    *,
    wanted: Filter,
    tasks: Collection[TaskId] = (),
    code: Callable[[], int],
) -> int:
    """Wait for changes after a cursor and print them; return what `code` says after that.

    `code` tells how what is waited for stands: as long as that is "still running", the
    call goes on until something changes. `tasks` leaves out the changes of others.
    """
    cursor = parse_since(since)
    seconds, begun = bound_of(options, caller), time.monotonic()
    staffing = Staffing(caller, caller.load_configuration(), database)
    feed = ChangeFeed(caller.workspace, cursor, wanted)
    with closing(feed), detaching_signals():
        try:
            while True:
                upto = newest(database)
                stands = code()  # before the look: what ends after it is told by the next call
                if newest(database) != upto:
                    stands = int(ExitCode.STILL_RUNNING)  # it was seen in the middle of a change
                found = _read(feed, caller, tasks)
                waited = time.monotonic() - begun
                if found or stands != ExitCode.STILL_RUNNING:
                    break
                if seconds is not None and waited >= seconds:
                    break
                staffing.look_after()
                leave_if_nobody_waits()
                wait_for_more(LOOK_SECONDS)
        except GONE:
            return int(ExitCode.INTERRUPTED)
        _print(found, feed.cursor or newest(database), options)
        _note_shown(caller, database, [change for change, _ in found])
        return stands


def _read(
    feed: ChangeFeed, caller: Caller, tasks: Collection[TaskId]
) -> list[tuple[Change, Cursor | None]]:
    found = [(change, feed.cursor) for change in feed.read(now=caller.now())]
    return [pair for pair in found if not tasks or not pair[0].task or pair[0].task in tasks]


def _note_shown(caller: Caller, database: Database, changes: Sequence[Change]) -> None:
    """Note that the ends of jobs among these changes have been shown: who detached follows them.

    A caller that was killed is owed the outcome itself, as before.
    """
    ended = {change.job for change in changes if change.kind in ENDS and change.job is not None}
    if not any(waiters.is_unshown(database, job_id) for job_id in ended):
        return
    if sys.stdout is not None:  # whoever started us may have closed it
        sys.stdout.flush()
    with suppress(QueueError), database.transaction():  # else they are named once more
        for job_id in ended:
            if waiters.take_detached(database, job_id) and caller.escrow is not None:
                waiters.put_into(database, caller.escrow, job_id, now=caller.now())


def _print(found: list[tuple[Change, Cursor | None]], cursor: Cursor, options: WaitOptions) -> None:
    if options.as_json:
        records = [change_record(change, at) for change, at in found]
        echo_json({"changes": records, "cursor": str(cursor)})
        return
    for change, _ in found:
        print_row(change)
    click.echo(f"cursor: {cursor}")
