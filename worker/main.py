"""`sow worker`: one process that consumes the queue, from its registration to its leave.

Owns the worker's life: its lock, its place on record, huey's Consumer on the
main thread, its signals and its end. What happens to a job is `launch`,
`monitor` and `settle`.
"""

import fcntl
import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

from huey.consumer import Consumer

from sow import __version__
from sow.agents.roles import AGENTS
from sow.clock import utc_now
from sow.config.load import load_named
from sow.errors import QueueError, SowError
from sow.faults import passing_fault, what_is_short
from sow.ids import JobId, WorkerId
from sow.jobs import doorbell, jobs, workers
from sow.jobs.database import Database, open_existing_queue, open_queue
from sow.jobs.doorbell import Bell
from sow.jobs.faults import QueueChanged, QueueReplaced
from sow.jobs.leases import Fenced
from sow.jobs.migrations import FORMAT
from sow.jobs.pruning import Limits, prune
from sow.paths import Workspace, user_config_path
from sow.processes import facts
from sow.schema.job import WorkerRecord
from worker import launch, state_guard
from worker.broker import Claims, make_huey
from worker.context import WorkerContext, logger
from worker.inheritance import leave_fence, release_alive_lock
from worker.monitor import Monitor
from worker.next_supervisor import Standby
from worker.recovery import give_back_tasks, recover
from worker.room import Room, raise_open_files
from worker.worker_log import configure_logging, name_log

HEALTH_SECONDS = 60.0
"""How often huey looks whether its threads live."""
LEAVE_SECONDS = 1.5
"""How long a leaving worker waits for a start that is under way."""
RECOVERY_SECONDS = 5.0
"""How often a worker looks for dead workers and dead callers, at most."""
PRUNE_SECONDS = 3600.0
"""How often a worker that has nothing to do prunes old records, at most."""
FIRST_PRUNE_SECONDS = 60.0
"""How long after its start it does so for the first time: a start must be quick."""
END_SECONDS = 15.0
"""How long it waits for agents that it was told to end."""


@dataclass(frozen=True)
class WorkerOptions:
    """How `sow worker` was called."""

    concurrency: int | None = None
    """The most agents that this worker runs at once; None: as many as the project allows."""
    drain: bool = False
    """Leave when nothing is queued or running; wait for agents when told to stop."""
    background: bool = False
    """Leave after an idle time."""
    as_json: bool = False
    """Say what it does as one object a line, on standard output."""


class WorkerProcess:
    """The worker of this process."""

    def __init__(
        self, workspace: Workspace, options: WorkerOptions, environ: Mapping[str, str]
    ) -> None:
        self.options = options
        self.workspace = workspace
        self.database: Database = open_queue(workspace)
        configuration = load_named(
            path=user_config_path(environ),
            repository_path=workspace.repository_config,
            environ=environ,
            roles=[agent.name for agent in AGENTS],
        )
        self.worker_id, self._lock = take_name(workspace)
        if options.background:
            name_log(workspace, self.worker_id)
        self.bell = Bell(workspace.workers / f"{self.worker_id}{workers.BELL_SUFFIX}")
        self.context = WorkerContext(
            workspace, self.database, self.worker_id, configuration, environ
        )
        state_guard.install(self.database)
        self.monitor = Monitor(self.context, self._leave_changed)
        self.standby = Standby(environ, open_files=raise_open_files())
        self.total = configuration.worker.concurrency
        self.own = options.concurrency or self.total
        self.claims = Claims(self.worker_id, total=self.total, own=self.own)
        self.room = Room(self.claims)
        self.idle_exit_seconds = configuration.worker.idle_exit_seconds
        self.signals = 0
        self.recover_after = 0.0
        self.prune_after = time.monotonic() + FIRST_PRUNE_SECONDS
        self.idle_since: float | None = None
        self.changed: QueueChanged | None = None
        self._leave_read, self._leave_write = os.pipe()
        self.consumer = self._make_consumer()

    def _make_consumer(self) -> Consumer:
        huey = make_huey(
            self.run_job,
            database=self.database,
            workspace=self.workspace,
            claims=self.claims,
            bell=self.bell,
            look_round=self.look_round,
            on_change=self._leave_changed,
        )
        return Consumer(huey, workers=1, periodic=False, scheduler_interval=60)

    def run(self) -> None:
        """Work until told to stop, or until nothing has been left to do for long enough."""
        self._install_signal_handlers()
        self._register()
        try:
            self.monitor.start()
            self._recover()
            self.consumer.start()
            self._install_signal_handlers()
            self.ring()  # a first look round: with nothing to do, a drain is over at once
            self._wait_for_leave()
            self.consumer.stop_flag.set()
            self._leave()
        finally:
            self._unregister()

    def _wait_for_leave(self) -> None:
        """Sleep until a signal or an idle time says to leave; see to huey's threads meanwhile."""
        while not select.select([self._leave_read], [], [], HEALTH_SECONDS)[0]:
            self.consumer.check_worker_health()

    def _ask_to_leave(self) -> None:
        """Wake the main thread for good. A byte in a pipe is safe in a signal handler."""
        os.write(self._leave_write, b"!")

    def run_job(self, job_id: JobId) -> None:
        """Run one job that was claimed: huey calls this. The boundary around a start."""
        running = None
        try:
            if not workers.is_alive(self.workspace, self.worker_id):
                self._leave_nameless()  # the others may start this very job
                return
            running = launch.start(self.context, self.standby, job_id)
        except QueueChanged as error:
            self._leave_changed(error)
            return
        except Exception as error:
            self._start_failed(job_id, error)
        if running is not None:
            self.monitor.watch(running)
        else:
            workers.wake(self.workspace)  # nothing was started: its slot is free
        self._recover_if_due()  # a long queue leaves no time to look round

    def _start_failed(self, job_id: JobId, error: Exception) -> None:
        """Have a job tried again that the machine would not start now; fail it by any other fault.

        Where not even that can be written, the job keeps its lease until recovery comes to it.
        """
        try:
            if passing_fault(error) is None:
                logger.error("job %s could not be started", job_id, exc_info=error)
                launch.give_up(self.context, job_id, error)
                return
            if short := what_is_short(error):
                self.room.shrink(self.monitor.count, short, now=time.monotonic())
            launch.try_later(self.context, job_id, error)
        except Fenced:
            return
        except QueueChanged as changed:
            self._leave_changed(changed)
        except Exception as again:
            if passing_fault(again) is None:
                raise
            words = "job %s could not be started (%s) nor queued again (%s); it is looked at again"
            logger.warning(words, job_id, launch.reason_of(error), launch.reason_of(again))

    def look_round(self) -> None:
        """See to all else when nothing may be claimed; then we sleep until somebody rings."""
        if self.consumer.stop_flag.is_set():
            return
        if not workers.is_alive(self.workspace, self.worker_id):
            self._leave_nameless()
            return
        self.monitor.wake()
        self.room.look(now=time.monotonic())
        self._recover_if_due()
        if not self.monitor.count and time.monotonic() >= self.prune_after:
            self._prune()
        self._leave_if_idle()
        if not self.consumer.stop_flag.is_set():
            self._prepare_supervisor()

    def _prepare_supervisor(self) -> None:
        """Have a supervisor wait for the next job; the job's start says it if none can."""
        with suppress(SowError, OSError):
            self.standby.prepare()

    def _leave_nameless(self) -> None:
        """Leave when our lock file is gone: to the others we are dead, and they take our jobs."""
        logger.warning("our lock file is gone, so others take us for dead; leaving")
        self.context.guard.look()  # what took it may have taken more
        self.consumer.stop_flag.set()
        self._ask_to_leave()

    def _leave_changed(self, error: QueueChanged) -> None:
        """Leave when the queue's file is not ours any more; from now on we write nothing to it."""
        if self.changed is None:
            self.changed = error
            logger.warning("%s; leaving", error.message)
            if isinstance(error, QueueReplaced):
                self.context.guard.look()  # what took it may have taken more
            self.consumer.stop_flag.set()
            self._ask_to_leave()

    def _recover_if_due(self) -> None:
        if time.monotonic() >= self.recover_after:
            self._recover()

    def _recover(self) -> None:
        """Look for what the dead left behind; the boundary around it."""
        self.recover_after = time.monotonic() + RECOVERY_SECONDS
        try:
            recover(self.context, self.monitor)
        except (SowError, OSError) as error:
            logger.warning("cannot recover yet: %s", launch.reason_of(error))

    def _prune(self) -> None:
        """Remove the records of old jobs; the boundary around it."""
        self.prune_after = time.monotonic() + PRUNE_SECONDS
        settings = self.context.configuration.worker
        limits = Limits(settings.keep_for_seconds, settings.keep_bytes)
        try:
            gone = prune(self.workspace, self.database, limits, now=self.context.now())
        except SowError as error:
            logger.warning("cannot prune yet: %s", error.message)
        else:
            if gone.jobs:
                logger.info("pruned %d old jobs", len(gone.jobs))

    def _leave_if_idle(self) -> None:
        if not (self.options.background or self.options.drain):
            return
        if self.monitor.count or jobs.has_active_jobs(self.database):
            self.idle_since = None
            return
        now = self.context.now()
        self.idle_since = self.idle_since or now
        patience = 0.0 if self.options.drain else self.idle_exit_seconds
        if now - self.idle_since < patience:
            return
        give_back_tasks(self.context)
        if workers.unregister_if_idle(self.database, self.worker_id):
            logger.info("nothing to do; leaving")
            self.consumer.stop_flag.set()
            self._ask_to_leave()

    def _register(self) -> None:
        identity = facts.identify(os.getpid())
        assert identity is not None  # noqa: S101 - this very process
        record = WorkerRecord(
            id=self.worker_id,
            process=identity,
            concurrency=self.own,
            version=__version__,
            background=self.options.background,
            started_at=utc_now(),
            format=FORMAT,
        )
        workers.register(self.database, record)
        for older in workers.dismiss_older(self.database, self.workspace):
            logger.info("worker %s is of an older sow; it was asked to leave", older)
        logger.info("worker %s started; runs up to %d agents", self.worker_id, self.own)

    def _unregister(self) -> None:
        """Leave the record, then the lock: what is still leased is for the next worker to adopt."""
        with suppress(QueueError):  # whoever finds our lock free strikes us off
            workers.unregister(self.database, self.worker_id)
        self.bell.close()
        with suppress(OSError):
            self.workspace.worker_lock(self.worker_id).unlink(missing_ok=True)
        os.close(self._lock)
        logger.info("worker %s left", self.worker_id)

    def _install_signal_handlers(self) -> None:
        """Have signals wake the main thread; again after `Consumer.start()` has set its own."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, workers.END_AGENTS):
            signal.signal(signum, self._on_signal)

    def _on_signal(self, signum: int, _frame: FrameType | None) -> None:
        self.signals += 2 if signum == workers.END_AGENTS else 1
        self._ask_to_leave()

    def _leave(self) -> None:
        self.ring()
        for _, thread in self.consumer.worker_threads:
            thread.join(timeout=LEAVE_SECONDS)
        if self.signals and self.options.drain:
            self._say("draining: waiting for %d agents; a second signal ends them")
            while self.signals < 2 and not self.monitor.wait_until_idle(0.2):
                pass
        if self.signals > 1:
            self._say("ending %d agents; their jobs are queued again")
            self.monitor.end_all()
            self.monitor.wait_until_idle(END_SECONDS)
        elif self.monitor.count:
            self._say(
                "leaving %d agents running; their tasks say how they end"
                if isinstance(self.changed, QueueReplaced)
                else "leaving %d agents running; the next worker adopts them"
            )
        self.monitor.stop()
        if not any(thread.is_alive() for _, thread in self.consumer.worker_threads):
            self.standby.dismiss()  # else it leaves with us

    def _say(self, words: str) -> None:
        logger.info(words, self.monitor.count)

    def ring(self) -> None:
        """Wake our own claim, so that it looks round."""
        doorbell.ring(self.bell.path)


def take_name(workspace: Workspace) -> tuple[WorkerId, int]:
    """Make and lock a worker's file. The lock is the worker's life; the file tells who holds it.

    It gets its name when it is locked, so that a lock file nobody holds is a dead worker's.
    """
    import uuid

    identity = facts.identify(os.getpid())
    assert identity is not None  # noqa: S101 - this very process
    worker_id = WorkerId(f"w{identity.pid}-{uuid.uuid4().hex[:6]}")
    draft = workspace.workers / f".{worker_id}.lock.new"
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(fd, f"{identity.pid} {identity.start_ticks}\n".encode())
    draft.rename(workspace.worker_lock(worker_id))
    return worker_id, fd


def serve(workspace: Workspace, options: WorkerOptions, environ: Mapping[str, str]) -> None:
    """Run a worker in this process until it leaves."""
    configure_logging(as_json=options.as_json)
    release_alive_lock(environ)
    leave_fence()
    try:
        process = WorkerProcess(workspace, options, environ)
    except OSError as error:
        raise QueueError(
            f"a worker cannot work in {workspace.workers}: {error.strerror}",
            hint="Check the disk's free space and the folder's permissions, then start it again.",
        ) from error
    process.run()
    _look_once_more(workspace, options, process)
    if process.changed is not None:
        raise process.changed


def _look_once_more(workspace: Workspace, options: WorkerOptions, process: WorkerProcess) -> None:
    """Start a successor if a job came in between our leave and the end of our lock.

    Where the queue was replaced, the jobs of the one that is there now may be without a worker.
    """
    if not options.background or process.signals:
        return
    replaced = process.changed is not None
    database = open_existing_queue(workspace) if replaced else process.database
    if database is None:
        return
    if jobs.has_active_jobs(database) and not workers.staff(database, workspace):
        from sow.environment import own_environment, own_process

        os.chdir(workspace.root)
        argv = own_process("sow", "worker", "--background")
        if "SOW_CONFIG" in process.context.environ:
            argv += ["--config", process.context.environ["SOW_CONFIG"]]
        os.execve(argv[0], argv, own_environment(process.context.environ))
