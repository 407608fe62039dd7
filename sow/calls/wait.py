"""Waiting for jobs to end: a bell, the records, and nothing in between.

Owns the waiter's life: it hangs its bell, goes on record, looks, sleeps, looks
again. Going away (time is up, or a callback raises) leaves its rows behind,
which is how the outcome comes to be owed; not those of a passing one.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from sow.calls.caller import Caller
from sow.calls.job_end import give_back
from sow.errors import QueueError, StateError
from sow.ids import JobId
from sow.jobs import jobs, waiters, workers
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell
from sow.jobs.waiters import Recipient
from sow.schema.job import Job
from sow.state.state_errors import WorkArrives

FALLBACK_SECONDS = 2.0
"""How long a waiter sleeps at most without being rung."""
RESTS, MOST_REST_SECONDS = 10, 0.1
"""How many times its own length a look that has delivered outcomes is followed by none."""


class Progress(Struct, frozen=True):
    """How the jobs that are waited for stand, for a person to see."""

    job_ids: Sequence[JobId]
    """Those that have not ended."""


class Waiter(Recipient):
    """One caller that waits for some jobs. Use it as a context manager.

    It waits for jobs that it places (`expect`) and for such as are on record
    (`take_up`, `begin`); each is told by one ring of the same bell. One that is `passing`
    waits for the end alone, and is owed no outcome, however it goes away.
    """

    def __init__(
        self,
        caller: Caller,
        database: Database,
        *,
        passing: bool = False,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        """`rest` sleeps for so many seconds."""
        super().__init__(database, caller.now, waiters.PASSING if passing else waiters.CALLER)
        self.caller = caller
        self.passing = passing
        self.rest = rest

    def __enter__(self) -> "Waiter":
        self.bell = self._hang_bell()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.passing:
                with suppress(QueueError):  # what stays is owed to nobody
                    waiters.forget(self.database, self.id)
            elif self.caller.job_id is not None:
                waiters.stop_lending(self.database, self.id)
        finally:
            self.bell.close()

    def expect(self, job_id: JobId) -> None:
        """Wait for a job of our own; call it in the transaction that inserts the job.

        From here on the job that we act for, if any, counts against no limit; the
        workers are rung for its slot when ours is queued.
        """
        self._begin(job_id, on_behalf_of=self.caller.job_id)

    def begin(self, job_ids: Sequence[JobId]) -> None:
        """Wait for jobs on record. Jobs that we wait for already stay so."""
        with self.database.transaction():
            for job_id in self._missing(job_ids):
                self.expect(job_id)
        self._tell_of_free_slot()

    def take_up(self, job_ids: Sequence[JobId]) -> None:
        """Wait for jobs on record, and take up what is owed to one caller of each that went away.

        We are that caller once more, in all likelihood, or the one that has detached. Jobs that we
        wait for already stay so.
        """
        missing = self._missing(job_ids)
        if not missing:
            return
        with self.database.transaction():
            for job_id in missing:
                waiters.take_owed(self.database, self.caller.workspace, job_id)
                waiters.take_detached(self.database, job_id)
                self.expect(job_id)
        self._tell_of_free_slot()

    def _missing(self, job_ids: Sequence[JobId]) -> list[JobId]:
        """Return those that we do not wait for yet, each once however often it is named."""
        return [job_id for job_id in dict.fromkeys(job_ids) if job_id not in self.job_ids]

    def _tell_of_free_slot(self) -> None:
        """Wake the workers, after the commit: the slot of the job that we act for is free now."""
        if self.caller.job_id is not None:
            workers.wake(self.caller.workspace)

    def _hang_bell(self) -> Bell:
        path = waiters.bell_path(self.caller.workspace, self.id)
        try:
            # Many tools that copy a tree leave empty folders out.
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return Bell(path, self.database.listen(lambda ring: ring.job in self.job_ids))
        except OSError as error:
            raise QueueError(
                f"cannot wait: {path}: {error.strerror}",
                hint="No job was queued. Check the folder, then run the command again.",
            ) from error

    def printed(self, job_ids: Sequence[JobId]) -> None:
        """Say that these jobs' outcomes have been printed: for the caller, or for its server.

        One commit says so of all of them. If the caller dies before that commit, or a loss of power
        takes it, the next call prints them once more. What lies in an escrow was printed nowhere:
        that commit is on disk when this returns.
        """
        if not job_ids:
            return
        escrow = self.caller.escrow
        with self.database.transaction(durable=escrow is not None):
            for job_id in job_ids:
                if escrow is not None:
                    waiters.put_into(self.database, escrow, job_id, now=self.caller.now())
                self.delivered(job_id)

    def wait(
        self,
        *,
        seconds: float | None,
        any_one: bool = False,
        on_tick: Callable[[Progress], None] = lambda _: None,
        on_end: Callable[[Sequence[Job]], None] = lambda _: None,
        is_in_vain: Callable[[Sequence[JobId]], bool] = lambda _: False,
    ) -> list[Job]:
        """Wait until all jobs have ended (`any_one`: one of them), at most `seconds`.

        It returns, too, once the jobs that are left wait in vain: none goes on by itself.

        `on_end` gets each job once, when it has ended, with all that one look has seen ended;
        `on_tick` is called before
        each sleep. What they raise passes through. Returns the jobs that have
        not ended.

        A job that has ended is waited for until its task's work has come home from another host,
        where another process brings it. A look that has found ends is followed by a short rest,
        where other jobs are left: many jobs that end one after the other are told by fewer looks,
        prints and commits.
        """
        begun = time.monotonic()
        left, seen, active = list(self.job_ids), None, set[JobId]()
        while True:
            looked_at = time.monotonic()
            with self.database.reading():
                sign = self.database.sign()
                if sign != seen:  # before the jobs, so that what is written meanwhile is seen next
                    active = jobs.active_among(self.database, left)
                ended = [
                    jobs.get_job(self.database, job_id) for job_id in left if job_id not in active
                ]
            ended = [job for job in map(self._given_back, ended) if job is not None]
            if ended:
                on_end(ended)
                delivered = {job.id for job in ended}
                left = [job_id for job_id in left if job_id not in delivered]
            waited = time.monotonic() - begun
            time_is_up = seconds is not None and waited >= seconds
            if not left or (any_one and ended) or (time_is_up and seen is not None):
                return [jobs.get_job(self.database, job_id) for job_id in left]
            on_tick(Progress(left))
            if is_in_vain(left):
                return [jobs.get_job(self.database, job_id) for job_id in left]
            seen = sign
            rest = FALLBACK_SECONDS if seconds is None else seconds - waited
            if ended:
                took = time.monotonic() - looked_at
                self.rest(max(0.0, min(RESTS * took, MOST_REST_SECONDS, rest)))
            self.bell.wait(min(FALLBACK_SECONDS, rest))

    def _given_back(self, job: Job) -> Job | None:
        """Return a job that has ended, its task given back if whoever ended it has died.

        None while another process brings its task's work home.
        """
        if not job.owes_task:
            return job
        try:
            give_back(self.caller.workspace, self.database, job, now=self.caller.now())
        except WorkArrives:
            return None
        except StateError:
            pass  # a worker tries again
        return jobs.get_job(self.database, job.id)
