"""`sow worker`: one process that consumes the queue, from its registration to its leave.

Owns huey's Consumer on the main thread, its signals and its end. Its name is
`registration`, its rounds `housekeeping`, the decision to leave `departure`;
what happens to a job is `launch`, `monitor` and `settle`.
"""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from huey.consumer import Consumer

from sow import env_vars
from sow.agents.roles import AGENTS
from sow.calls.state_witness import witness_by
from sow.config.load import load_named
from sow.environment import own_environment, own_process
from sow.errors import QueueError
from sow.faults import passing_fault, reason_of, what_is_short
from sow.ids import JobId, ProjectId
from sow.jobs import doorbell, workers
from sow.jobs.database import QueueFile, open_existing_queue, open_queue
from sow.jobs.doorbell import Bell
from sow.jobs.faults import QueueChanged, QueueDamaged, QueueShared
from sow.jobs.leases import Fenced
from sow.jobs.store import HOST_MARK
from sow.paths import Workspace, user_config_path
from sow.processes.disks import is_local
from sow.state.kept import keeper_hooks
from sow.state.kept.store import project_id_at
from sow.unchanged_files import remember
from sow.user_folders import BaseFolder, user_folder
from worker import launch
from worker.broker import Claims, make_huey
from worker.capacity import Reserve, Room, raise_open_files
from worker.context import WorkerContext, logger
from worker.departure import Departure
from worker.fork_servers import fork_servers
from worker.heartbeat import Heartbeat
from worker.housekeeping import Housekeeping
from worker.kinds import worker_kinds
from worker.monitor import Monitor
from worker.notifier import Notifier
from worker.registration import (
    give_up_name,
    leave_fence,
    register,
    register_again,
    release_alive_lock,
    release_start_lock,
    say_leaving,
    strike_off,
    take_name,
)
from worker.worker_log import configure_logging, name_log

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, workers.END_AGENTS)
"""The signals at which a worker leaves."""

LEAVE_SECONDS = 1.5
"""How long a leaving worker waits for a start that is under way."""
LOOK_SECONDS = 0.05
"""How often a drain looks whether all has been told."""
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
    starting: int | None = None
    """A descriptor that is closed once the worker is on record: the command that has started it
    waits for that."""


class WorkerProcess:
    """The worker of this process."""

    def __init__(
        self, workspace: Workspace, options: WorkerOptions, environ: Mapping[str, str]
    ) -> None:
        database = open_queue(workspace)
        worker_kinds()
        configuration = load_named(
            path=user_config_path(environ),
            repository_path=workspace.repository_config,
            environ=environ,
            roles=[agent.name for agent in AGENTS],
        )
        self.options = options
        worker_id, self._lock = take_name(workspace, database.named)
        if options.background:
            name_log(workspace, worker_id)
        path = workspace.workers / f"{worker_id}{workers.BELL_SUFFIX}"
        self.bell = Bell(path, database.listen(lambda _: True))
        self.context = WorkerContext(workspace, database, worker_id, configuration, environ)
        if not isinstance(database, QueueFile):
            # Few queues can be shared.
            from worker.hosting import go_by_own_facts

            go_by_own_facts(self.context)
        self.own = options.concurrency or configuration.worker.concurrency
        claims = Claims(
            worker_id,
            total=configuration.worker.concurrency,
            own=self.own,
            checks=configuration.worker.checks,
        )
        self.room = Room(claims)
        self.monitor = Monitor(self.context, self._leave_without_queue)
        self.fork_servers = fork_servers(environ, open_files=raise_open_files())
        self.reserve = Reserve(self.context)
        self.consumer = self._make_consumer(claims)
        self.departure = Departure(self.context, self.consumer.stop_flag)
        self.notifier = Notifier(self.context, self.ring)
        self.heartbeat = Heartbeat(self.context, self.monitor, self.ring)
        self.housekeeping = Housekeeping(
            self.context,
            self.monitor,
            self.fork_servers,
            self.room,
            self.departure,
            self.notifier,
            idle_exit_seconds=_idle_timeout(options, configuration.worker.idle_exit_seconds),
        )

    def _make_consumer(self, claims: Claims) -> Consumer:
        huey = make_huey(
            self.run_job,
            database=self.context.database,
            workspace=self.context.workspace,
            claims=claims,
            bell=self.bell,
            look_round=self._look_round,
            may_take=self._may_take,
            on_change=self._leave_without_queue,
        )
        return Consumer(huey, workers=1, periodic=False, scheduler_interval=60)

    def run(self) -> None:
        """Work until told to stop, or until nothing has been left to do for long enough."""
        witness = witness_by(self.context.database)
        with keeper_hooks.answering(witness, logger.warning):
            self._run()

    def _run(self) -> None:
        self.departure.leave_at(SIGNALS)
        register(self.context, concurrency=self.own, background=self.options.background)
        release_start_lock(self.context.workspace)
        if self.options.starting is not None:
            os.close(self.options.starting)
        try:
            self.heartbeat.start()
            self.monitor.start()
            self.notifier.start()
            self.housekeeping.recover()
            self.consumer.start()
            self.departure.leave_at(SIGNALS)  # `start` has set huey's own handlers
            self.ring()  # a first look round: with nothing to do, a drain is over at once
            self.departure.wait(self.consumer.check_worker_health)
            self._leave()
        finally:
            self.heartbeat.stop(LEAVE_SECONDS)
            strike_off(self.context)
            self.bell.close()
            give_up_name(self.context, self._lock)

    def run_job(self, job_id: JobId) -> None:
        """Run one job that was claimed: huey calls this. The boundary around a start."""
        running = None
        try:
            if not workers.is_alive(self.context.workspace, self.context.worker_id):
                self.departure.without_name()  # the others may start this very job
                return
            running = launch.start(self.context, self.fork_servers, job_id)
        except QueueChanged as error:
            self.departure.without_queue(error)
            return
        except Exception as error:
            self._start_failed(job_id, error)
        if running is not None:
            self.monitor.watch(running)
        else:
            workers.wake(self.context.workspace)  # nothing was started: its slot is free
        # A long queue leaves no time to look round.
        self.housekeeping.recover_if_due()
        self.housekeeping.drive_batches_if_due()

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
            self.departure.without_queue(changed)
        except Exception as again:
            if passing_fault(again) is None:
                raise
            words = "job %s could neither be started (%s) nor queued again (%s); sow tries again"
            logger.warning(words, job_id, reason_of(error), reason_of(again))

    def _look_round(self) -> float:
        if self.context.hearing.is_shared and HOST_MARK not in self.context.worker_id:
            self.departure.without_queue(QueueShared())
        if not self.context.hearing.is_on_record:
            self._register_again()
        return self.housekeeping.look_round()

    def _register_again(self) -> None:
        """Be seen again by `sow worker list`; where the server is away, at the next look round."""
        with suppress(QueueError):
            register_again(self.context, concurrency=self.own, background=self.options.background)

    def _may_take(self, may_run: bool, has_failed: bool) -> bool:
        """Whether a job may be taken now. What has failed in a batch may stop its next one.

        A worker that leaves takes none, though its own last ring wakes its claim; nor does one
        that the queue's server has not heard lately.
        """
        if self.departure.is_decided or not self.context.hearing.allows_another:
            return False
        if has_failed:
            self.housekeeping.drive_batches()
        return self.reserve.allows_another(may_run=may_run)

    def _leave_without_queue(self, error: QueueChanged) -> None:
        self.departure.without_queue(error)

    def _leave(self) -> None:
        if self.departure.signals and self.departure.changed is None:
            say_leaving(self.context)
        self.ring()
        for _, thread in self.consumer.worker_threads:
            thread.join(timeout=LEAVE_SECONDS)
        if self.departure.signals and self.options.drain:
            self._say("draining: waiting for %d agents; a second signal ends them")
            while self._may_drain() and not self.monitor.wait_until_idle(0.2):
                pass
        if self.departure.signals > 1:
            self._say("ending %d agents; their jobs are queued again")
            self.monitor.end_all()
            self.monitor.wait_until_idle(END_SECONDS)
        elif self.monitor.count and self._may_have_been_given_away:
            self._say("ending %d agents, whose jobs others may have; what they have made is kept")
            self.monitor.end_all()
            self.monitor.wait_until_idle(END_SECONDS)
        elif self.monitor.count:
            self._say(
                "leaving %d agents running; their tasks will show how they ended"
                if self.departure.has_lost_records
                else f"leaving %d agents running; the next worker adopts them{self._within()}"
            )
        self.monitor.stop()
        self._let_notify()
        if not any(thread.is_alive() for _, thread in self.consumer.worker_threads):
            self.fork_servers.close()  # otherwise a start may be using it; it ends when we do

    @property
    def _may_have_been_given_away(self) -> bool:
        """Whether another host may run the jobs of our agents: by records that do not know us."""
        return self.departure.has_lost_records and self.context.hearing.is_shared

    def _within(self) -> str:
        """Return until when, where leases have an end."""
        seconds = self.context.hearing.adoption_seconds
        return "" if seconds is None else f", and without one they end in {seconds:.0f} s"

    def _may_drain(self) -> bool:
        """Whether agents are still waited for: nobody insists, and their ends can be recorded."""
        return self.departure.signals < 2 and self.departure.changed is None

    def _let_notify(self) -> None:
        """Give a command that runs a moment; a drain waits until all has been told."""
        if self.options.drain and self.departure.changed is None:
            with suppress(QueueError):
                self.notifier.look()
            while self._may_drain() and not self.notifier.is_idle:
                time.sleep(LOOK_SECONDS)
        self.notifier.stop(LEAVE_SECONDS)

    def _say(self, words: str) -> None:
        logger.info(words, self.monitor.count)

    def ring(self) -> None:
        """Wake our own claim, so that it looks round."""
        doorbell.ring(self.bell.path)


def _idle_timeout(options: WorkerOptions, idle_exit_seconds: float) -> float | None:
    """Return how long a worker stays without work; None: until it is told to leave."""
    if options.drain:
        return 0.0
    return idle_exit_seconds if options.background else None


def serve(workspace: Workspace, options: WorkerOptions, environ: Mapping[str, str]) -> None:
    """Run a worker in this process until it leaves."""
    configure_logging(as_json=options.as_json)
    release_alive_lock(environ)
    leave_fence()
    _remember(workspace, environ)
    try:
        process = WorkerProcess(workspace, options, environ)
    except OSError as error:
        raise QueueError(
            f"a worker cannot work in {workspace.workers}: {error.strerror}",
            hint="Check the disk's free space and the folder's permissions, then start the"
            " worker again.",
        ) from error
    process.run()
    _look_once_more(workspace, options, process)
    if process.departure.changed is not None:
        raise process.departure.changed


def _remember(workspace: Workspace, environ: Mapping[str, str]) -> None:
    """Read what hardly ever changes no second time, where no other machine may change it."""
    users = (Path(user_folder(BaseFolder.STATE)), user_config_path(environ).parent)
    ours = (workspace.root,) if is_local(workspace.sow) else ()
    remember(*(str(folder) for folder in (*ours, *users) if is_local(folder)))


def _look_once_more(workspace: Workspace, options: WorkerOptions, process: WorkerProcess) -> None:
    """Start a successor if a job came in between our leave and the end of our lock.

    Where the queue was replaced, the jobs of the one that is there now may be without a worker.
    One that is damaged waits for a person: a successor would leave as we do.
    """
    changed = process.departure.changed
    if not options.background or process.departure.signals or isinstance(changed, QueueDamaged):
        return
    replaced = changed is not None
    database = open_existing_queue(workspace) if replaced else process.context.database
    if database is None:
        return
    project = ProjectId(project_id_at(workspace.root))
    if workers.has_work(database, project) and not workers.staff(database, workspace):
        os.chdir(workspace.root)
        argv = own_process("sow", "worker", "--background")
        if env_vars.CONFIG in process.context.environ:
            argv += ["--config", process.context.environ[env_vars.CONFIG]]
        os.execve(argv[0], argv, own_environment(process.context.environ))
