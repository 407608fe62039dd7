"""Seeing to it that a worker works: start one in the background where none lives.

Owns the decision and the start; the worker's own life is `worker.main`. The
worker is started as a process, so that nothing here imports it.
"""

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field, structs

from sow import env_vars
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.config.environment import references
from sow.environment import own_process, worker_environment
from sow.errors import ConfigurationError, QueueError
from sow.files.flock import lock_within, open_lock_file
from sow.ids import JobId
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
    """One call's care for the queue; `ensure` may be called as often as one likes."""

    caller: Caller
    config: Configuration
    database: Database
    starts: int = field(default=0)

    def ensure(self) -> None:
        """Return once a worker works; start one in the background if none lives.

        The call may go away at once and nobody look again. So a worker that dies at its start is
        followed by another, and the start of another call is waited for. A worker that is still
        coming to life after START_SECONDS is left to itself. Raises NoWorker, QueueError.
        """
        while not self._is_staffed():
            if not self.config.worker.autostart:
                raise NoWorker
            if self.starts >= MOST_STARTS:
                raise self._gives_up()
            with _one_at_a_time(self.caller.workspace):
                if self._is_staffed():
                    return
                self.starts += 1
                caller = without_executors_own(self.caller, self.database)
                if start_in_background(caller, self._is_staffed):
                    return
            if self.starts < MOST_STARTS:
                time.sleep(RETRY_SECONDS)

    def _gives_up(self) -> QueueError:
        log = self._newest_log()
        where = f"Its log says why: {log}" if log else "Run `sow worker` to see why."
        return QueueError(
            f"the job is queued, but its worker has died {MOST_STARTS} times",
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


@contextmanager
def _one_at_a_time(workspace: Workspace) -> Iterator[None]:
    """Wait while another call starts a worker: until that one works, has died, or takes too long.

    A call that is stopped in the middle keeps the others no longer than START_SECONDS.
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
        lock_within(fd, START_SECONDS, every=LOOK_SECONDS)
        yield
    finally:
        os.close(fd)


def start_in_background(caller: Caller, is_staffed: Callable[[], bool]) -> bool:
    """Start a worker that outlives us; returns when it works, has died, or takes too long.

    False where it has died. It inherits no variable that describes the caller; where the
    caller's configuration is not in its usual place, the worker is told where.
    """
    try:
        return _start_in_background(caller, is_staffed)
    except OSError as error:
        raise QueueError(
            f"the job is queued, but no worker can be started now: {error.strerror}",
            hint="The system cannot start another process now. Run the same command again"
            " later: it starts a worker and waits for the job. `sow worker` starts a"
            " worker too.",
        ) from error


def _start_in_background(caller: Caller, is_staffed: Callable[[], bool]) -> bool:
    import subprocess  # most calls find a worker

    named = caller.environ.get(env_vars.CONFIG)
    where = ["--config", str(user_config_path(caller.environ))] if named else []
    alive, held = os.pipe()
    subprocess.run(
        own_process("sow", "worker", "--background", *where),
        cwd=caller.workspace.root,
        env=worker_environment(caller.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=[held],
        check=False,
    )
    os.close(held)
    deadline = time.monotonic() + START_SECONDS
    try:
        while not is_staffed() and time.monotonic() < deadline:
            if select.select([alive], [], [], LOOK_SECONDS)[0]:
                return is_staffed()  # nobody holds the other end any more
        return True
    finally:
        os.close(alive)
