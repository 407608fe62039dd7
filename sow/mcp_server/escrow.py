"""What a call has printed for a client, and the client may not have read yet.

Owns when such an outcome counts as told: once the answer that holds it has been written to the
client. Until then it lies in an escrow, a waiter of the queue whose bell this process holds
(`sow.jobs.waiters`). Where the server dies, or the client gives the call up, nobody holds the bell
any more, and the outcome is owed to the next call that asks.
"""

import os
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from sow.clock import utc_now
from sow.errors import SowError
from sow.ids import JobId
from sow.jobs import waiters
from sow.jobs.database import open_existing_queue, open_queue
from sow.jobs.doorbell import Bell
from sow.paths import Workspace
from sow.state.kept.lost import find_or_bring_back

MOST_REMEMBERED = 256
"""Of the calls whose answers were written: how many may still be cancelled."""

MOST_LOOKS = 4
"""At the queue, at once."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
"""Between two tries to owe an outcome again."""

RequestId = int | str


class Escrow:
    """Holds the outcomes that one command prints. Its bell hangs until `settle` or `give_up`."""

    def __init__(self, workspace: Workspace, *, makes_queue: bool) -> None:
        """Hang the bell. Raises SowError, and OSError where there is no folder for it."""
        self._workspace = workspace
        self.id = f"m{os.getpid()}-{uuid.uuid4().hex[:8]}"
        if makes_queue:
            open_queue(workspace).close()
        self._bell: Bell | None = Bell(waiters.bell_path(workspace, self.id))
        self._settled: list[JobId] = []

    def settle(self, untold: Collection[int]) -> None:
        """Owe the outcomes to nobody any more; but those of `untold`, to the next call that asks.

        Raises QueueError; all of them are owed then, and are told once more.
        """
        if self._bell is None:  # it was given up, and what lies in it is owed
            return
        try:
            database = open_existing_queue(self._workspace)
            if database is None:
                return
            with closing(database):
                found = waiters.in_escrow(database, self.id)
                self._settled = [job_id for job_id in found if job_id not in untold]
                if self._settled:
                    with database.transaction():
                        for job_id in self._settled:
                            waiters.end(database, database.named(self.id), job_id)
        finally:
            self.give_up()

    def give_up(self) -> None:
        """Owe what lies in it, and what is still put there, to the next call that asks."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None

    def owe_again(self) -> None:
        """Owe what was told to a client that has cancelled the call meanwhile. Raises QueueError.

        By the protocol such a client does not look at the answer any more.
        """
        database = open_existing_queue(self._workspace) if self._settled else None
        if database is None:
            return
        with closing(database), database.transaction():
            for job_id in self._settled:
                waiters.owe_again(database, self.id, job_id, now=utc_now())


class Holding:
    """The escrow of one call of a client, if it has one, and what its answer leaves out."""

    def __init__(self, looks: anyio.CapacityLimiter | None = None) -> None:
        """Hold nothing yet; `looks` is how many of all holdings may look at the queue at once."""
        self.escrow: Escrow | None = None
        self.untold: Collection[int] = ()
        """The jobs whose outcomes there was no room for."""
        self._looks = looks
        self._order = anyio.Lock()

    @property
    def id(self) -> str | None:
        """Return the id by which a command puts outcomes into it."""
        return self.escrow.id if self.escrow else None

    async def give_up(self) -> None:
        """Owe what lies in it; that takes no look at the queue."""
        await self._do(Escrow.give_up, None)

    async def settle(self) -> None:
        """Owe it to nobody; what the queue does not let us strike is told once more."""
        await self._do(lambda escrow: escrow.settle(self.untold), self._looks)

    async def owe_again(self) -> None:
        """Owe what was told; it would be lost where the queue is locked, so try until it is not."""
        pause = FIRST_PAUSE_SECONDS
        while not await self._do(Escrow.owe_again, self._looks):
            await anyio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _do(
        self, action: Callable[[Escrow], None], limiter: anyio.CapacityLimiter | None
    ) -> bool:
        """Do something with it, in a thread and after what was begun before, whoever is cancelled.

        Return whether the queue let it.
        """
        with anyio.CancelScope(shield=True):
            async with self._order:
                if self.escrow is not None:
                    try:
                        await anyio.to_thread.run_sync(action, self.escrow, limiter=limiter)
                    except (SowError, OSError):
                        return False
        return True


class Escrows:
    """The escrows of one client, by its requests. Nothing that a client says waits for them.

    A look at a queue that somebody has locked takes a thread for 20 seconds, and the streams of
    the client need threads too: so there are few such looks at once.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path, group: TaskGroup) -> None:
        """`group` does in the background what takes a look at the queue."""
        self._environ = environ
        self._folder = folder
        self._group = group
        self._looks = anyio.CapacityLimiter(MOST_LOOKS)
        self._unread: dict[str, Holding] = {}
        self._read: OrderedDict[str, Holding] = OrderedDict()
        self._owing: set[Holding] = set()

    @asynccontextmanager
    async def for_call(self, request: RequestId | None, *, waits: bool) -> AsyncIterator[Holding]:
        """Hold what a command prints until its answer has been written; owe it where it fails.

        A command that waits makes the queue where there is none yet; we are first then.
        """
        holding = Holding(self._looks)
        self.gone(request)  # of two answers with one number a client reads one
        self._unread[str(request)] = holding
        with anyio.CancelScope(shield=True):  # else a bell would be left that nobody knows
            holding.escrow = await anyio.to_thread.run_sync(self._make, waits)
        try:
            yield holding
        except BaseException:
            await holding.give_up()
            raise

    def written(self, request: RequestId) -> None:
        """Count what lies there as told: the answer to a request has been written to the client."""
        holding = self._unread.pop(str(request), None)
        if holding is None:
            return
        self._read[str(request)] = holding
        if len(self._read) > MOST_REMEMBERED:
            self._read.popitem(last=False)
        self._group.start_soon(holding.settle)

    def gone(self, request: RequestId | None) -> None:
        """Owe what it holds: the client has cancelled the request, or was written an error."""
        if (holding := self._unread.pop(str(request), None)) is not None:
            self._group.start_soon(holding.give_up)
        if (holding := self._read.pop(str(request), None)) is not None:
            self._owing.add(holding)
            self._group.start_soon(self._owe_again, holding)

    async def _owe_again(self, holding: Holding) -> None:
        await holding.owe_again()
        self._owing.discard(holding)

    async def close(self) -> None:
        """Owe whatever was not written to the client, which has gone; return when all is done."""
        await anyio.lowlevel.checkpoint()  # what was to be done in the background has begun then
        for holding in [*self._unread.values(), *self._read.values(), *self._owing]:
            await holding.give_up()

    def _make(self, waits: bool) -> Escrow | None:
        """Return an escrow; None where it cannot be made: the command says what is wrong there."""
        try:
            workspace = find_or_bring_back(self._folder, self._environ)
            return Escrow(workspace, makes_queue=waits)
        except (SowError, OSError):
            return None
