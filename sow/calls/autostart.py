"""Seeing to it that a worker works: start one in the background where none lives.

Owns the decision and the start; the worker's own life is `worker.main`. The
worker is started as a process, so that nothing here imports it.

A start has a lock, and the worker that is started holds it until it is on record or dead. So each
call sees by the lock alone whether a worker is coming to life, whatever has become of the call that
has started it; by the file's time it sees since when.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from sow import env_vars
from sow.calls.caller import Caller
from sow.config.configuration import Configuration
from sow.config.environment import references
from sow.environment import own_process, worker_environment
from sow.errors import ConfigurationError, QueueError
from sow.files.flock import lock_within, open_lock_file
from sow.ids import JobId, ProjectId
from sow.jobs import jobs, workers
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.jobs.run_names import changed_at, worker_logs
from sow.paths import user_config_path

if TYPE_CHECKING:
    from subprocess import Popen

MOST_STARTS = 3
"""How often one call starts a worker that dies before it takes the job."""
START_SECONDS = 10.0
"""How long a call that goes away waits for a worker that is coming to life."""
LOOK_AFTER_SECONDS = 1.0
"""The same for one look of a call that waits."""
STUCK_SECONDS = 60.0
"""A start that takes longer counts as stuck: somebody may have stopped the worker."""
RETRY_SECONDS = 1.0
"""How long after a start that failed a call makes its next one; twice as long after the second."""
LOCK_SECONDS = 0.5
"""How long the lock of a start is tried: a call may hold it for a moment and start nothing."""
LOOK_SECONDS = 0.02


class NoWorker(QueueError):
    """Nobody works on the queue, and the configuration forbids to start anybody."""

    def __init__(self) -> None:
        super().__init__(
            "the job is queued, but no worker runs and worker.autostart is off",
            hint="Start one with `sow worker` in another terminal; it then runs the job. Run"
            " the same command again to wait for the job.",
        )


class NoHost(NoWorker):
    """No host of a shared queue is heard, and none is started here."""

    def __init__(self) -> None:
        QueueError.__init__(
            self,
            "the job is queued, but no worker of any host is heard, and this call starts none",
            hint="Start one with `sow worker`, here or on another host; it then runs the job. Run"
            " the same command again to wait for the job.",
        )


class NoDriver(NoWorker):
    """Batches are driven where they were made, and a role that may only queue runs no worker."""

    def __init__(self, role: str) -> None:
        QueueError.__init__(
            self,
            f"a worker of this host drives the batch, and the role {role} may not run jobs",
            hint=f"Whoever owns the queue gives it that right: `sow hosts init --host {role}`.",
        )


class Staffing(Struct):
    """One call's care for the queue: `ensure` before it goes away, `look_after` while it waits."""

    caller: Caller
    config: Configuration
    database: Database
    starts: int = field(default=0)
    """How many workers the call has started for the work that there is."""
    unreaped: list[int] = field(default_factory=list)
    """The processes of starts that took longer than they were waited for."""
    drives: bool = field(default=False)
    """Whether it is for a batch: of a shared queue a worker of this very host drives it."""

    def ensure(self) -> None:
        """Return once a worker works; start one in the background if none lives.

        The call may go away at once and nobody look again. So a worker that dies at its start is
        followed by another, whichever call has started it. One that is still coming to life after
        START_SECONDS is left to itself. Raises NoWorker, QueueError.

        Of a shared queue another host's worker does, where none is to be started here.
        """
        if self.database.is_shared and self._leaves_it_to_others():
            if not workers.staff(self.database, self.caller.workspace, everywhere=True):
                raise NoHost
            return
        while not self._is_served() and self._start(START_SECONDS) < START_SECONDS:
            time.sleep(LOOK_SECONDS)

    def look_after(self) -> None:
        """Start a worker in the background if none lives; return within a second or two.

        A call that waits looks again and again: a worker that dies at its start is followed by
        another at a later look. Raises NoWorker, QueueError.

        Of a shared queue it waits for another host's worker, where none is to be started here:
        that may come.
        """
        if self.database.is_shared and self._leaves_it_to_others():
            return
        self._reap()
        if not self._is_served():
            self._start(LOOK_AFTER_SECONDS)

    def _leaves_it_to_others(self) -> bool:
        """Whether a call of a shared queue starts no worker here: its role may only queue, say."""
        from sow.jobs.hosts import may_run_jobs  # few queues are shared

        may_run = may_run_jobs(self.database)
        if self.drives and not may_run:
            raise NoDriver(str(self.database.value("select session_user")))
        return not self.drives and not (self.config.worker.autostart and may_run)

    def _start(self, seconds: float) -> float:
        """Start a worker unless one is coming to life; return how long that has taken so far.

        One that we start is waited for so many seconds.
        """
        if not self.config.worker.autostart:
            raise NoWorker
        from subprocess import TimeoutExpired  # most calls find a worker

        lock = self._open_lock()
        try:
            is_ours = lock_within(lock, LOCK_SECONDS, every=LOOK_SECONDS)
            now = self.caller.now()
            age = abs(now - os.fstat(lock).st_mtime)
            if not is_ours and age < STUCK_SECONDS:
                return age
            if self._is_staffed():
                return 0.0
            if self.starts >= MOST_STARTS:
                raise self._gives_up()
            if age < self.starts * RETRY_SECONDS:
                return 0.0
            self.starts += 1
            os.utime(lock, (now, now))
            command = start_in_background(without_executors_own(self.caller, self.database), lock)
        finally:
            os.close(lock)
        try:
            command.wait(seconds)
        except TimeoutExpired:
            command.returncode = 0  # it ends by itself; without a code, Python warns of it
            self.unreaped.append(command.pid)
        return 0.0

    def _reap(self) -> None:
        """Take the exit codes of starts that have ended since; a zombie would stay for each."""
        for pid in list(self.unreaped):
            with suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    continue
            self.unreaped.remove(pid)

    def _open_lock(self) -> int:
        path = self.caller.workspace.start_lock
        try:
            return open_lock_file(path)
        except OSError as error:
            raise QueueError(
                f"the job is queued, but no worker can be started: {path}: {error.strerror}",
                hint="Check the folder and the disk's free space, then run the same command again.",
            ) from error

    def _is_served(self) -> bool:
        """Whether a worker works, or none is needed: ours has left, for it had nothing to do."""
        if self._is_staffed():
            return True
        if self.starts and not self._has_work():
            self.starts = 0
            return True
        return False

    def _has_work(self) -> bool:
        # Only where a worker was started.
        from sow.state.kept.store import project_id_at

        project_id = ProjectId(project_id_at(self.caller.workspace.root))
        return workers.has_work(self.database, project_id)

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


def start_in_background(caller: Caller, lock: int) -> "Popen[bytes]":
    """Start a worker that outlives us, and hand it the lock of its start.

    The process that is returned ends once the worker is on record or gone, or after some seconds.
    The worker inherits no variable that describes the caller; where the caller's configuration is
    not in its usual place, the worker is told where.
    """
    from subprocess import DEVNULL, Popen  # most calls find a worker

    named = caller.environ.get(env_vars.CONFIG)
    where = ["--config", str(user_config_path(caller.environ))] if named else []
    try:
        return Popen(
            own_process("sow", "worker", "--background", *where),
            cwd=caller.workspace.root,
            env=worker_environment(caller.environ),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
            pass_fds=[lock],
        )
    except OSError as error:
        raise QueueError(
            f"the job is queued, but no worker can be started now: {error.strerror}",
            hint="The system cannot start another process now. Run the same command again"
            " later: it starts a worker and waits for the job. `sow worker` starts a"
            " worker too.",
        ) from error
