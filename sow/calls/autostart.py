"""Seeing to it that a worker works: start one in the background where none lives.

Owns the decision and the start; the worker's own life is `worker.main`. The
worker is started as a process, so that nothing here imports it.
"""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field, structs

from sow import env_vars
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.config.environment import references
from sow.environment import own_process, worker_environment
from sow.errors import ConfigurationError, QueueError
from sow.files.flock import lock_within, open_lock_file, try_lock
from sow.ids import JobId, ProjectId
from sow.jobs import jobs, workers
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.jobs.run_names import changed_at, worker_logs
from sow.paths import Workspace, user_config_path

MOST_STARTS = 3
"""How often one call starts a worker that dies before it takes the job."""
START_SECONDS = 10.0
"""How long a worker may take to come to life."""
RETRY_SECONDS = 0.5
"""How long after a worker has died at its start the next one is started: the reason may pass."""
AGAIN_SECONDS = 2.0
"""The same for a call that waits: it has the time."""
LEAST_SECONDS = 1.0
"""How long a worker may take to come to life, however short the call's time is."""
MOST_PAUSE_SECONDS = 5.0
"""How much longer than START_SECONDS another call's start is waited for at most, at random."""
LOOK_SECONDS = 0.02


class NoWorker(QueueError):
    """Nobody works on the queue, and the configuration forbids to start anybody."""

    def __init__(self) -> None:
        super().__init__(
            "the job is queued, but no worker runs and worker.autostart is off",
            hint="Start one with `sow worker` in another terminal; it then runs the job. Run"
            " the same command again to wait for the job.",
        )


class Staffing(Struct):
    """One call's care for the queue: `ensure` before it goes away, `look_after` while it waits."""

    caller: Caller
    config: Configuration
    database: Database
    starts: int = field(default=0)
    not_before: float = field(default=0.0)
    """Until then the next worker is not started: what the last one died of may pass."""
    alone_from: float | None = field(default=None)
    """From then on another call's start is waited for no longer; None where none is under way."""
    has_gone_alone: bool = field(default=False)

    def ensure(self) -> None:
        """Return once a worker works; start one in the background if none lives.

        The call may go away at once and nobody look again. So a worker that dies at its start is
        followed by another, and the start of another call is waited for. A worker that is still
        coming to life after START_SECONDS is left to itself. Raises NoWorker, QueueError.
        """
        while not self._is_staffed():
            self._refuse_start()
            if self._start(seconds=START_SECONDS, waits=True):
                return
            if self.starts < MOST_STARTS:
                time.sleep(RETRY_SECONDS)

    def look_after(self, seconds: float | None = None) -> None:
        """Start a worker in the background if none lives; return within `seconds`, or a second.

        A call that waits looks again and again. So it waits for no other call's start, and if a
        worker dies at its start, it starts another at a later look. Raises NoWorker, QueueError.
        """
        if self._is_staffed():
            self.alone_from = None
        elif time.monotonic() >= self.not_before or not self.config.worker.autostart:
            self._refuse_start()
            bound = START_SECONDS if seconds is None else min(START_SECONDS, seconds)
            self._start(seconds=max(LEAST_SECONDS, bound), waits=False)

    def _refuse_start(self) -> None:
        if not self.config.worker.autostart:
            raise NoWorker
        if self.starts >= MOST_STARTS:
            raise self._gives_up()

    def _start(self, *, seconds: float, waits: bool) -> bool:
        """Start a worker, or leave that to another call; return False where it has died.

        Another call may have been stopped in the middle of its start. Where that takes too long,
        one worker is started all the same; each call begins to do so at another moment.
        """
        begun = time.monotonic()
        if self.alone_from is None:
            self.alone_from = begun + START_SECONDS + _random_pause()
        patience = max(0.0, self.alone_from - begun) if waits else 0.0
        with _one_at_a_time(self.caller.workspace, patience, self._is_staffed) as is_ours:
            if self._is_staffed():
                return True
            if is_ours:
                self.alone_from = None
            elif not waits and time.monotonic() < self.alone_from:
                return True
            elif self.has_gone_alone:
                raise self._gives_up()
            else:
                self.has_gone_alone, self.alone_from = True, None
            self.starts += 1
            caller = without_executors_own(self.caller, self.database)
            is_there = start_in_background(caller, self._is_staffed, seconds)
        if not is_there and not self._has_work():  # it has left, for it had nothing to do
            self.starts -= 1
            is_there = True
        if not is_there:
            self.not_before = time.monotonic() + AGAIN_SECONDS
        elif not self._is_staffed():
            self.not_before = time.monotonic() + START_SECONDS
        return is_there

    def _has_work(self) -> bool:
        # Only where a worker was started, and has gone.
        from sow.state.kept.store import project_id_at

        project_id = ProjectId(project_id_at(self.caller.workspace.root))
        return workers.has_work(self.database, project_id)

    def _gives_up(self) -> QueueError:
        log = self._newest_log()
        where = f"Its log says why: {log}" if log else "Run `sow worker` to see why."
        times = f"{self.starts} times" if self.starts > 1 else "at its start"
        return QueueError(
            f"the job is queued, but its worker has died {times}",
            hint=f"{where}\nThe job starts when a worker runs: `sow worker`.",
        )

    def _is_staffed(self) -> bool:
        """Whether a worker of ours serves this queue; those of an older sow are asked to leave."""
        with self.database.reading():
            workspace = self.caller.workspace
            workers.dismiss_older(self.database, workspace, now=self.caller.now())
            return bool(workers.staff(self.database, workspace))

    def _newest_log(self) -> Path | None:
        return max(worker_logs(self.caller.workspace.workers), key=changed_at, default=None)


def without_executors_own(caller: Caller, database: Database) -> Caller:
    """Return the caller without what its executor's `env` has set for it, where it is an agent.

    A worker that it starts serves agents of other executors as well. A variable that was
    only handed on (`KEY: ${KEY}`) is the user's own.
    """
    names = _executors_own(database, caller.job_id) if caller.job_id is not None else frozenset()
    kept = {name: value for name, value in caller.environ.items() if name not in names}
    return structs.replace(caller, environ=kept) if names else caller


def _executors_own(database: Database, job_id: JobId) -> frozenset[str]:
    try:
        job = jobs.get_job(database, job_id)
        if job.executor is None or not job.executor.env_names:
            return frozenset()
        handed_on = {
            variable
            for executor, variable, name in references(Path(job.config_file))
            if executor == job.executor.name and variable == name
        }
    except (UnknownJob, ConfigurationError):
        return frozenset()
    return frozenset(job.executor.env_names) - handed_on


def _random_pause() -> float:
    return MOST_PAUSE_SECONDS * int.from_bytes(os.urandom(2)) / 0xFFFF


@contextmanager
def _one_at_a_time(
    workspace: Workspace, seconds: float, is_over: Callable[[], bool]
) -> Iterator[bool]:
    """Be the one call that starts a worker; yield whether we are.

    Another one is waited for: until it has done so or has died, until it `is_over`, or for so many
    seconds.
    """
    lock = workspace.workers / ".start"
    try:
        fd = open_lock_file(lock)
    except OSError as error:
        raise QueueError(
            f"the job is queued, but no worker can be started: {lock}: {error.strerror}",
            hint="Check the folder and the disk's free space, then run the same command again.",
        ) from error
    try:
        deadline = time.monotonic() + seconds
        is_ours = try_lock(fd)
        while not is_ours and time.monotonic() < deadline and not is_over():
            is_ours = lock_within(fd, LOOK_SECONDS, every=LOOK_SECONDS)
        yield is_ours
    finally:
        os.close(fd)


def start_in_background(
    caller: Caller, is_staffed: Callable[[], bool], seconds: float = START_SECONDS
) -> bool:
    """Start a worker that outlives us; returns when it works, is gone, or takes too long.

    False where it is gone: it has died, or found nothing to do. It inherits no variable that
    describes the caller; where the caller's configuration is not in its usual place, the worker is
    told where.
    """
    try:
        return _start_in_background(caller, is_staffed, seconds)
    except OSError as error:
        raise QueueError(
            f"the job is queued, but no worker can be started now: {error.strerror}",
            hint="The system cannot start another process now. Run the same command again"
            " later: it starts a worker and waits for the job. `sow worker` starts a"
            " worker too.",
        ) from error


def _start_in_background(caller: Caller, is_staffed: Callable[[], bool], seconds: float) -> bool:
    import subprocess  # most calls find a worker

    named = caller.environ.get(env_vars.CONFIG)
    where = ["--config", str(user_config_path(caller.environ))] if named else []
    alive, held = os.pipe()
    deadline = time.monotonic() + seconds
    try:
        command = subprocess.Popen(
            own_process("sow", "worker", "--background", *where),
            cwd=caller.workspace.root,
            env=worker_environment(caller.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[held],
        )
    except OSError:
        os.close(alive)
        raise
    finally:
        os.close(held)
    try:
        while time.monotonic() < deadline:
            is_gone = select.select([alive], [], [], LOOK_SECONDS)[0]  # nobody holds the other end
            if is_staffed():
                break
            if is_gone:
                command.wait()
                return False
        with suppress(subprocess.TimeoutExpired):
            command.wait(max(0.0, deadline - time.monotonic()))  # it ends once its worker works
        return True
    finally:
        os.close(alive)
