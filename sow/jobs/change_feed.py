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
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.faults import QueueChanged, QueueReplaced
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
            yield from self._rows(database)
        except QueueReplaced:  # the next time reads the file that is there then
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
        before, pruned = self.cursor, changes.forgotten(database)
        if before is None:
            first = pruned
            if self.last is not None:
                first = max(first, changes.seq_before_last(database, self.last, self.wanted))
            self.cursor = Cursor(here.file, first)
        elif before.file != here.file or before.seq > here.seq:
            self.cursor = Cursor(here.file, pruned)
            reason = "the cursor belongs to another queue file; all that this one has follows"
            yield _notice(ChangeKind.OTHER_QUEUE, self.cursor, reason, now)
        elif before.seq < pruned:
            self.cursor = Cursor(here.file, pruned)
            reason = f"{pruned - before.seq} changes after the cursor were pruned, and are missing"
            yield _notice(ChangeKind.PRUNED, self.cursor, reason, now)

    def _rows(self, database: Database) -> Iterator[Change]:
        assert self.cursor is not None  # noqa: S101 - set before
        upto = changes.newest(database)
        while rows := changes.read_after(database, self.cursor.seq, self.wanted):
            for change in rows:
                self.cursor = Cursor(upto.file, change.seq)
                yield change
        if upto.seq > self.cursor.seq:
            self.cursor = upto  # what is left out needs no second look


def _notice(kind: ChangeKind, cursor: Cursor, reason: str, now: float) -> Change:
    return Change(
        seq=cursor.seq,
        at=now,
        project=ProjectId(""),
        task=TaskId(""),
        kind=kind.value,
        data=ChangeData(reason=reason),
    )
