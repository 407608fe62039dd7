"""One reader's way through the record of changes: from a cursor on, again and again.

Owns what a reader is told where its cursor does not fit: another queue file,
rows that were pruned. Opens the queue where there is one, and the new one when
it was replaced, so that whoever follows outlives the file.
"""

import time
from collections.abc import Iterator

from sow.errors import QueueError
from sow.ids import ProjectId, TaskId
from sow.jobs import changes, statuses
from sow.jobs.changes import EVERYTHING, Cursor, Filter
from sow.jobs.database import Database, Row, open_existing_queue
from sow.jobs.faults import QueueChanged, QueueReplaced
from sow.jobs.records import DamagedRecord
from sow.paths import Workspace
from sow.schema.change import Change, ChangeData, ChangeKind

LOOK_SECONDS = 5.0
"""How often whoever follows compares the tasks' files, at most."""
MOST_LOOKING = 400
"""A look is followed by at least so many times its own length without one: 0.25 % of a CPU."""


class ChangeFeed:
    """The changes after a cursor. Without one, all that is on record, or the `last` of it.

    `cursor` is where the reader stands; None until there is a queue.
    """

    def __init__(
        self,
        workspace: Workspace,
        since: Cursor | None,
        wanted: Filter = EVERYTHING,
        *,
        last: int | None = None,
    ) -> None:
        self.workspace = workspace
        self.cursor = since
        self.wanted = wanted
        self.last = last
        self.lagging = ""
        """Why a status may be missing that was set by now; empty where none is."""
        self.damaged = ""
        """What is wrong with the last row that was passed over; empty where none was."""
        self._database: Database | None = None
        self._look_at = 0.0

    def read(self, *, now: float) -> Iterator[Change]:
        """Yield what has come since the last time, oldest first. Raises QueueError.

        `now`: seconds since the epoch.
        """
        try:
            database = self._opened()
            if database is None:
                return
            self._catch_up(database, now)
            yield from self._notices(database, now)
            yield from self._rows(database, now)
        except QueueReplaced:  # the next call reads the file that is there by then
            self.close()

    def _opened(self) -> Database | None:
        if self._database is None:
            self._database = open_existing_queue(self.workspace)
        return self._database

    def close(self) -> None:
        """Close the queue's file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _catch_up(self, database: Database, now: float) -> None:
        """Put on record the statuses that only files tell so far; edits by hand less often."""
        began = time.monotonic()
        try:
            if began >= self._look_at:
                statuses.catch_up(self.workspace, database, now=now)
                took = time.monotonic() - began
                self._look_at = began + max(LOOK_SECONDS, took * MOST_LOOKING)
            elif statuses.has_notes(self.workspace, database):
                statuses.take_notes(self.workspace, database, now=now)
        except QueueChanged:
            raise
        except QueueError as error:  # what is on record can be read where nothing can be written
            self.lagging = error.message
        else:
            self.lagging = ""

    def _notices(self, database: Database, now: float) -> Iterator[Change]:
        """Yield what the reader must know before it goes on from where it stands."""
        here = changes.newest(database)
        before = self.cursor
        if before is None:
            first = changes.forgotten(database)
            if self.last is not None:
                first = max(first, changes.seq_before_last(database, self.last, self.wanted))
            self.cursor = Cursor(here.file, first)
        elif before.file != here.file or before.seq > here.seq:
            self.cursor = Cursor(here.file, changes.forgotten(database))
            reason = "the cursor belongs to another queue file, so all changes of this one follow"
            yield _notice(ChangeKind.OTHER_QUEUE, self.cursor, reason, now)

    def _rows(self, database: Database, now: float) -> Iterator[Change]:
        assert self.cursor is not None  # noqa: S101 - set before
        upto = changes.newest(database)
        while True:
            rows = changes.rows_after(database, self.cursor.seq, self.wanted)
            yield from self._gap(database, rows, now)
            if not rows:
                break
            for row in rows:
                self.cursor = Cursor(upto.file, row["seq"])
                yield from self._change(row)
        if upto.seq > self.cursor.seq:
            self.cursor = upto  # the rows that the filter leaves out need no second look

    def _gap(self, database: Database, rows: list[Row], now: float) -> Iterator[Change]:
        """Yield that what comes before these rows was pruned, if it was before they were read."""
        assert self.cursor is not None  # noqa: S101 - set before
        before, pruned = self.cursor.seq, changes.forgotten(database)
        if before < pruned and (not rows or rows[0]["seq"] > pruned):
            self.cursor = Cursor(self.cursor.file, pruned)
            reason = f"{pruned - before} changes after the cursor are missing: they were pruned"
            yield _notice(ChangeKind.PRUNED, self.cursor, reason, now)

    def _change(self, row: Row) -> Iterator[Change]:
        """Yield the change that a row tells of; a damaged row hides no other."""
        try:
            change = changes.change_of(row)
        except DamagedRecord as error:
            self.damaged = error.message
        else:
            yield change


def _notice(kind: ChangeKind, cursor: Cursor, reason: str, now: float) -> Change:
    return Change(
        seq=cursor.seq,
        at=now,
        project=ProjectId(""),
        task=TaskId(""),
        kind=kind.value,
        data=ChangeData(reason=reason),
    )
