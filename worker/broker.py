"""Huey, for real: the one task, its storage on our database, its serializer.

Owns everything that touches huey. The storage is a `SqliteStorage` or a `PostgresStorage`
whose connection is our `Database`'s, so that enqueue and claim join its transactions;
`dequeue` claims under the limits and waits on a bell instead of polling.
Huey's retry, schedule, results and locks are not used for jobs: they commit
apart from the job (docs/decisions.md).
"""

import datetime
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from huey import Huey
from huey.registry import Message
from huey.serializer import Serializer
from huey.storage import PostgresStorage, SqliteStorage

from sow.clock import utc_now
from sow.errors import QueueError
from sow.ids import JobId, WorkerId
from sow.jobs import batch_news, leases, waiters, workers
from sow.jobs.database import Database, QueueFile
from sow.jobs.doorbell import Bell
from sow.jobs.faults import QueueChanged
from sow.paths import Workspace

FALLBACK_SECONDS = 5.0
"""How long a claim sleeps at most without being rung."""

logger = logging.getLogger("sow.worker")


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()


class JsonSerializer(Serializer):  # type: ignore[misc] # huey ships no types
    """Messages and values as JSON: a row in the file can start no code of its own."""

    def _serialize(self, data: Any) -> bytes:
        if not isinstance(data, Message):
            return _encoded({"value": data})
        fields = {name: value for name, value in data._asdict().items() if value is not None}
        if isinstance(fields.get("eta"), datetime.datetime):
            fields["eta"] = fields["eta"].isoformat()
        return _encoded(fields)

    def _deserialize(self, data: bytes) -> Any:
        fields: dict[str, Any] = json.loads(data)
        if "value" in fields:
            return fields["value"]
        if "eta" in fields:
            fields["eta"] = datetime.datetime.fromisoformat(fields["eta"])
        return Message(**fields)


@dataclass
class Claims:
    """What a worker may take: its name and its limits."""

    worker_id: WorkerId
    total: int
    """Agents that may run at once in the project."""
    own: int
    """Agents that may run at once in this worker."""
    checks: int = leases.CHECKS
    """Jobs without an agent that may run at once in the project."""
    most: int | None = None
    """Jobs of either sort that this worker may run while the machine is short (`room`)."""

    @property
    def limits(self) -> leases.Limits:
        """What bounds a claim."""
        return {"total": self.total, "own": self.own, "checks": self.checks, "most": self.most}


class Claiming:
    """What our storages do, whichever store they are over; `claims` and `bell` are a worker's own.

    Without them (a process that only enqueues) `dequeue` takes nothing. `may_take`
    is asked before each claim, and told whether anything waits that the limits allow now, and
    whether anything has failed in a batch meanwhile. `look_round` is called where nothing may run,
    and returns after how many seconds it is to be called again.
    """

    blocking = True

    def __init__(
        self,
        name: str = leases.QUEUE,
        *,
        database: Database,
        workspace: Workspace,
        claims: Claims | None = None,
        bell: Bell | None = None,
        look_round: Callable[[], float] | None = None,
        may_take: Callable[[bool, bool], bool] | None = None,
        on_change: Callable[[QueueChanged], None] | None = None,
        **store: Any,
    ) -> None:
        self.database = database
        self.workspace = workspace
        self.claims = claims
        self.bell = bell
        self.look_round = look_round
        self.may_take = may_take
        self.on_change = on_change
        self._found_nothing = False
        """Whether the last claim found nothing, after a ring: the next one waits for another."""
        super().__init__(name, create_tables=False, **store)  # type: ignore[call-arg] # huey's own

    @property
    def conn(self) -> Any:
        """The connection that all of sow in this process uses."""
        return cast(Any, self.database).connection

    @contextmanager
    def db(self, commit: bool = False, close: bool = False) -> Iterator[Any]:  # noqa: ARG002
        """Give huey a cursor, inside our transaction when it wants to write."""
        if commit:
            with self.database.transaction():
                yield self.conn.cursor()
        else:
            with self.database.lock:
                yield self.conn.cursor()

    def close(self) -> bool:
        """Leave the connection open: it is not huey's alone."""
        return False

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Put a message into the queue, joined to its job, and wake the workers."""
        leases.enqueue_message(self.database, data, priority=priority, now=utc_now())
        workers.wake(self.workspace)

    def dequeue(self) -> bytes | None:
        """Claim the first message that may run; look round and wait on the bell when none may.

        Whoever is rung claims first: what else there is to do can wait until nothing may run.
        """
        if self.claims is None or self.bell is None:
            return None
        try:
            return self._dequeue(self.claims, self.bell)
        except QueueChanged as error:
            if self.on_change is None:
                raise
            self.on_change(error)
        except QueueError as error:  # locked, full, damaged: it may pass, or a person sees to it
            logger.warning("cannot take a job now: %s", error.message)
            self.bell.wait(FALLBACK_SECONDS)
        return None

    def _dequeue(self, claims: Claims, bell: Bell) -> bytes | None:
        data = None if self._found_nothing else self._claim(claims)
        if data is None:
            due = self.look_round() if self.look_round is not None else FALLBACK_SECONDS
            bell.wait(min(self._wait_seconds(), due))
            data = self._claim(claims)
        self._found_nothing = data is None
        return data

    def _claim(self, claims: Claims) -> bytes | None:
        now = utc_now()
        with self.database.reading():
            waiters.reclaim_lent(self.database, self.workspace)
            if mended := leases.mend_waits(self.database, now=now):
                logger.warning("the clock was set back; the waits of %d jobs start again", mended)
            may_run = leases.is_any_claimable(
                self.database, claims.worker_id, **claims.limits, now=now
            )
            has_failed = may_run and batch_news.has_new_failure(self.database)
        if self.may_take is not None and not self.may_take(may_run, has_failed):
            return None
        if not may_run:
            return None
        return leases.claim(self.database, claims.worker_id, **claims.limits, now=now)

    def _wait_seconds(self) -> float:
        now = utc_now()
        retry_at = leases.next_retry_at(self.database, now=now)
        return FALLBACK_SECONDS if retry_at is None else min(FALLBACK_SECONDS, retry_at - now)


class FileStorage(Claiming, SqliteStorage):  # type: ignore[misc] # huey ships no types
    """Huey's storage over a queue's file."""

    def __init__(self, name: str, *, database: QueueFile, **more: Any) -> None:
        super().__init__(name, database=database, filename=str(database.path), **more)


class ServerStorage(Claiming, PostgresStorage):  # type: ignore[misc] # huey ships no types
    """Huey's storage over a queue on a server, in the tables that a file has too.

    huey's own `dequeue` loses what a worker has taken that then dies; ours keeps it on record.
    """

    def __init__(self, name: str, **more: Any) -> None:
        super().__init__(name, **more)
        self.table_kv, self.table_counter = "kv", "counter"
        self.table_task, self.table_schedule = "task", "schedule"


class SowHuey(Huey):  # type: ignore[misc] # huey ships no types
    """Huey over our storage: no results, JSON on the wire."""

    def get_storage(self, *, database: Database, **kwargs: Any) -> Claiming:
        """Build the storage; huey passes the keyword arguments of its constructor."""
        if isinstance(database, QueueFile):
            return FileStorage(self.name, database=database, **kwargs)
        return ServerStorage(self.name, database=database, **kwargs)

    def is_revoked(self, *_: Any, **__: Any) -> bool:
        """Nothing is: a job is cancelled on its record, where its start looks."""
        return False

    def delete(self, _: str) -> bool:
        """Remove nothing: huey keeps no mark of a job, and asks for its removal after each one."""
        return False


def make_huey(run: Callable[[JobId], None], **storage: Any) -> SowHuey:
    """Return a huey with the one task `run_job`, whose body is `run`.

    `storage` goes to `Claiming`: `database` and `workspace` at the least.
    """
    huey = SowHuey(leases.QUEUE, results=False, serializer=JsonSerializer(), **storage)

    def run_job(job_id: int) -> None:
        run(JobId(job_id))

    huey.run_job = cast(Any, huey.task(name="run_job"))(run_job)
    return huey
