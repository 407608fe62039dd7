"""What a worker does besides jobs: recovery, pruning, the next supervisor, leaving when idle.

Owns when each is due. It runs on huey's thread, whenever nothing may be claimed.
"""

import math
import time
from contextlib import suppress

from sow.calls.held_jobs import ReadyLook
from sow.errors import QueueError, SowError
from sow.faults import reason_of
from sow.ids import ProjectId
from sow.jobs import statuses, workers
from sow.jobs.faults import QueueChanged
from sow.jobs.pruning import Limits, prune
from sow.state.kept.store import project_id_at
from worker.batch_driver import BatchDriver
from worker.capacity import Room
from worker.context import WorkerContext, logger
from worker.departure import Departure
from worker.features import worker_features
from worker.fork_servers import ForkServers
from worker.monitor import Monitor
from worker.notifier import Notifier
from worker.postponing import release_if_trusted
from worker.recovery import end_recorded, give_back_tasks, recover
from worker.session_home import sweep_homes
from worker.sweeping import Sweeper, in_background

RECOVERY_SECONDS = 5.0
"""How often a worker looks for dead workers and dead callers, at most."""
PRUNE_SECONDS = 3600.0
"""How often a worker that has nothing to do prunes old records, at most."""
MOST_COMPARING = 400
"""A look at the tasks' files is followed by at least so many times its own length without one: that
is 0.25 % of a CPU."""
SWEEP_SECONDS = 5.0
"""How often a worker that comes to rest looks for what killed processes have left, at most."""
LOOK_ROUND_SECONDS = 0.1
"""How often a worker that has agents looks round at most, however often it is rung."""
FIRST_PRUNE_SECONDS = 60.0
"""How long after its start it does so for the first time: a start must be quick."""


class Housekeeping:
    """The rounds of one worker. Its times are those of this process's own clock."""

    def __init__(
        self,
        context: WorkerContext,
        monitor: Monitor,
        fork_servers: ForkServers,
        room: Room,
        departure: Departure,
        notifier: Notifier,
        *,
        idle_exit_seconds: float | None,
    ) -> None:
        """`idle_exit_seconds` is how long the worker stays without work; None: until it is told."""
        self._context = context
        self._monitor = monitor
        self._fork_servers = fork_servers
        self._room = room
        self._departure = departure
        self._notifier = notifier
        self._idle_exit_seconds = idle_exit_seconds
        self._compare_after = 0.0
        self._ready = ReadyLook(context.workspace, context.database)
        self._batches = BatchDriver(context)
        self._recover_after = 0.0
        self._prune_after = time.monotonic() + FIRST_PRUNE_SECONDS
        self._idle_since: float | None = None
        self._sweeper = Sweeper(context)
        self._sweep_after = 0.0
        self._is_swept = False
        self._look_round_after = 0.0
        self._drive_after = 0.0

    def look_round(self) -> float:
        """See to all else when nothing may be claimed; return after how long that is due again.

        While agents run, batches are driven each time, and all else not more often than every
        LOOK_ROUND_SECONDS: it takes longer than the start of an instant job.
        """
        if self._departure.is_decided:
            return LOOK_ROUND_SECONDS
        left = self._look_round_after - time.monotonic()
        if left > 0 and self._monitor.count:
            self.drive_batches()
            return left
        self._look_round()
        self._look_round_after = time.monotonic() + LOOK_ROUND_SECONDS
        return self._have_one_wait_ahead()

    def _look_round(self) -> None:
        if not workers.is_alive(self._context.workspace, self._context.worker_id):
            self._departure.without_name()
            return
        self._monitor.wake()
        self._room.look(now=time.monotonic())
        self.recover_if_due()
        self._notify()
        self._let_go_on()
        self.drive_batches()
        if not self._monitor.count and time.monotonic() >= self._prune_after:
            self._prune()
        self._sweep_if_idle()
        if self._idle_exit_seconds is not None:
            self._leave_if_idle(self._idle_exit_seconds)

    def _have_one_wait_ahead(self) -> float:
        """Have a supervisor wait ahead; return after how long that is due again."""
        if not self._departure.is_decided:
            with suppress(
                SowError, OSError, MemoryError
            ):  # the start of a job reports it if none can be started
                return self._fork_servers.start_in_peace()
        return math.inf

    def drive_batches_if_due(self) -> None:
        """Drive them unless that was done a moment ago: a job that starts is no news to many."""
        if time.monotonic() >= self._drive_after:
            self.drive_batches()

    def drive_batches(self) -> None:
        """Do what follows for the batches that something has happened to; leave with the queue."""
        self._drive_after = time.monotonic() + LOOK_ROUND_SECONDS
        try:
            if self._context.database.is_shared:
                give_back_tasks(self._context)  # what has come home since, before batches look
            self._batches.drive()
        except QueueChanged as error:
            self._departure.without_queue(error)

    def recover_if_due(self) -> None:
        """Look for what the dead left behind, unless that was done a moment ago."""
        if time.monotonic() >= self._recover_after:
            self.recover()

    def recover(self) -> None:
        """Look for what the dead left behind; the boundary around it."""
        self._recover_after = time.monotonic() + RECOVERY_SECONDS
        try:
            recover(self._context, self._monitor)
            release_if_trusted(self._context)
            self._compare_statuses()
            self._release_ready()
            self._notifier.look()
        except QueueChanged as error:
            self._departure.without_queue(error)
        except (SowError, OSError, MemoryError) as error:
            logger.warning("cannot recover yet: %s", reason_of(error))

    def _compare_statuses(self) -> None:
        """Put on record what was written or edited in the tasks' files since the last look.

        The longer a look takes, the rarer it is; a fault of it stops nothing else.
        """
        began = time.monotonic()
        if began < self._compare_after:
            return
        context = self._context
        try:
            statuses.catch_up(context.workspace, context.database, now=context.now())
        except QueueChanged:
            raise
        except (QueueError, OSError, MemoryError) as error:
            logger.warning("the statuses of the tasks cannot be recorded now: %s", reason_of(error))
        self._compare_after = began + (time.monotonic() - began) * MOST_COMPARING

    def _notify(self) -> None:
        """Have events told; the boundary around it."""
        with suppress(
            SowError, OSError, MemoryError
        ):  # a queue that cannot be read is told of by others
            self._notifier.look()

    def _let_go_on(self) -> None:
        """Let jobs go on that features have made wait; the boundary around it."""
        with suppress(
            SowError, OSError, MemoryError
        ):  # a queue that cannot be read is told of by others
            for feature in worker_features():
                feature.on_round(self._context)

    def _release_ready(self) -> None:
        """Queue the jobs whose tasks' dependencies are met by now."""
        released = self._ready.look(now=self._context.now())
        if released:
            logger.info(
                "continues, because the tasks that it waited for are completed: job %s", released
            )

    def _prune(self) -> None:
        """Remove the records of old jobs; with a shared queue in the background, for git is asked.

        The sweep stays in this thread: no job begins here while it removes the homes of sessions.
        """
        self._prune_after = time.monotonic() + PRUNE_SECONDS
        if self._context.database.is_shared:
            in_background(self._prune_shared)
        else:
            self._prune_records()
        self._sweep(thorough=True)

    def _prune_shared(self) -> None:
        """Remove what lies elsewhere first: without the records nobody knows of the refs."""
        # Few queues are shared.
        from worker.guests import sweep_travelled

        keeps = self._context.configuration.worker.keep_for_seconds
        sweep_travelled(self._context, oldest=self._context.now() - keeps)
        self._prune_records()

    def _prune_records(self) -> None:
        """Remove the records of old jobs; the boundary around it."""
        settings = self._context.configuration.worker
        limits = Limits(settings.keep_for_seconds, settings.keep_bytes)
        try:
            gone = prune(
                self._context.workspace, self._context.database, limits, now=self._context.now()
            )
        except SowError as error:
            logger.warning("cannot prune yet: %s", error.message)
        else:
            if gone.jobs:
                logger.info("pruned %d old jobs", len(gone.jobs))

    def _sweep_if_idle(self) -> None:
        """Sweep once each time that nothing is left to be done, the first time included."""
        if self._monitor.count:
            self._is_swept = False
        elif not self._is_swept and time.monotonic() >= self._sweep_after:
            self._sweep()

    def _sweep(self, *, thorough: bool = False) -> None:
        self._is_swept, self._sweep_after = True, time.monotonic() + SWEEP_SECONDS
        sweep_homes(self._context)
        self._sweeper.begin(thorough=thorough)

    def _leave_if_idle(self, idle_timeout: float) -> None:
        project = ProjectId(project_id_at(self._context.workspace.root))
        is_busy = self._monitor.count or not self._notifier.is_idle
        if is_busy or workers.has_work(self._context.database, project):
            self._idle_since = None
            return
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if now - self._idle_since < idle_timeout:
            return
        give_back_tasks(self._context)
        end_recorded(self._context)
        self._release_ready()  # else nobody might look before the next call
        if workers.unregister_if_idle(self._context.database, self._context.worker_id, project):
            logger.info("nothing to do; leaving")
            self._departure.decide()
