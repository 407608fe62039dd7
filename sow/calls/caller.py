"""Who calls, from where: the surroundings of one `sow` command that touches the queue.

Owns the reading of `SOW_JOB_ID` and its kin: whether this caller is itself an
agent of a running job. Such a caller must not wait for its own job, nor for one above it,
nor cancel such, and where its own job is to end it queues nothing more: these refusals are
here too, and that of an executor whose program is nowhere that the caller's job may run.
Reads the environment it is given, never the process's.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from sow import env_vars
from sow.agents.roles import AGENTS
from sow.clock import utc_now
from sow.config.configuration import Configuration
from sow.config.load import load_named
from sow.errors import StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs.database import Database
from sow.paths import Workspace, user_config_path
from sow.processes import process_facts
from sow.schema.job import Job, JobState, ProcessIdentity
from sow.state.kept.lost import find_or_bring_back
from sow.surrounding_programs import users_path

if TYPE_CHECKING:
    from sow.executors.base import Executor


class WaitsForItself(StateError):
    """The call would wait for the very job that makes it."""

    def __init__(self, task_id: str, chain: Sequence[Job]) -> None:
        way = " → ".join(f"{job.task_id} (job {job.id})" for job in chain)
        super().__init__(
            f"task {task_id} cannot wait for itself, nor for a task that waits for it: {way}",
            hint="Set your task's status with `sow task set status …` and stop. Your caller"
            " then decides what to do next.",
        )


class WouldEndItself(StateError):
    """The call would end the very job that makes it, and with it all that this has queued."""

    def __init__(self, job: Job, chain: Sequence[Job]) -> None:
        way = " → ".join(f"{step.task_id} (job {step.id})" for step in chain)
        super().__init__(
            f"job {job.id} of task {job.task_id} is your own job, or one that started it: {way}",
            hint="Give the id of the task to cancel; without an id the command means your own"
            " task. To end your own job, set your task's status with `sow task set status"
            " …` and stop.",
        )


class Caller(Struct, frozen=True, dict=True):
    """The surroundings of a call. What of them is the same for all its jobs is found out once."""

    workspace: Workspace
    environ: Mapping[str, str]
    cwd: Path
    clock: Callable[[], float] = utc_now

    def now(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self.clock()

    @property
    def job_id(self) -> JobId | None:
        """The running job whose agent this caller is, if it is one of this workspace."""
        text = self.environ.get(env_vars.JOB_ID, "")
        same_root = self.environ.get(env_vars.ROOT) == str(self.workspace.root)
        return JobId(int(text)) if text.isdecimal() and same_root else None

    @property
    def escrow(self) -> str | None:
        """Where the outcomes go that this call prints, if a server runs it."""
        # Only what waits for jobs asks.
        from sow.jobs.waiters import escrow_in

        return escrow_in(self.environ)

    @cached_property
    def path_variable(self) -> str:
        """The caller's PATH, on which its agents' programs are found.

        Without the folders that git or npm has put before the user's own for its child. One
        whose name is no text cannot stand in a record, and is left out.
        """
        path = users_path(self.environ)
        folders = os.defpath if path is None else path
        return os.pathsep.join(filter(_is_text, folders.split(os.pathsep)))

    @cached_property
    def process(self) -> ProcessIdentity | None:
        """This process, by which it is known whether the call still lives."""
        return process_facts.identify(os.getpid())

    def load_configuration(self) -> Configuration:
        """Return the configuration in effect here. Raises ConfigurationError."""
        return load_named(
            path=user_config_path(self.environ),
            repository_path=self.workspace.repository_config,
            environ=self.environ,
            roles=[agent.name for agent in AGENTS],
        )

    def jobs_above(self, database: Database) -> Sequence[Job]:
        """Return the job whose agent this caller is, and those above it; none for a person."""
        if self.job_id is None:
            return ()
        from sow.jobs import jobs  # few calls are an agent's

        return jobs.ancestors(database, self.job_id)

    def tasks_above(self, database: Database, project_id: ProjectId) -> frozenset[TaskId]:
        """Return the tasks of a project that these jobs are about."""
        above = self.jobs_above(database)
        return frozenset(job.task_id for job in above if job.project_id == project_id)

    def refuse_waiting_for(
        self, database: Database, project_id: ProjectId, task_id: TaskId
    ) -> None:
        """Refuse to let an agent wait for its own task, or for one above it.

        Raises WaitsForItself.
        """
        chain = self.jobs_above(database)
        for index, job in enumerate(chain):
            if (job.project_id, job.task_id) == (project_id, task_id):
                raise WaitsForItself(task_id, chain[: index + 1])

    def refuse_ending(self, database: Database, job: Job) -> None:
        """Refuse to let an agent end its own job, or one above it. Raises WouldEndItself."""
        chain = self.jobs_above(database)
        for index, ancestor in enumerate(chain):
            if ancestor.id == job.id and not ancestor.state.is_final:
                raise WouldEndItself(job, chain[: index + 1])

    def refuse_missing(
        self, database: Database | None, executor: "Executor", *, may_travel: bool
    ) -> None:
        """Refuse a call whose executor has no program, here or on a host that may run its job.

        `may_travel`: another host of a shared queue may. Raises ExecutorBinaryNotFound.
        """
        # Only calls that place a job ask, and these have imported it.
        from sow.executors.executor_errors import ExecutorBinaryNotFound

        try:
            executor.validate_availability(self.path_variable)
        except ExecutorBinaryNotFound:
            if not may_travel or database is None or not database.is_shared:
                raise
            # Few queues are shared.
            from sow.jobs.hosts import is_offered

            if not is_offered(database, executor.name):
                raise

    def refuse_when_cancelled(self, database: Database) -> None:
        """Refuse to queue a job for an agent whose own was cancelled: it cannot outrun that.

        Asked in the transaction that puts the new job on record. The request and
        the jobs that it takes along are one transaction too, so a new job is
        either among those or refused here. Raises StateError.
        """
        if self.job_id is None:
            return
        from sow.jobs import jobs  # few calls are an agent's

        with suppress(jobs.UnknownJob):
            job = jobs.get_job(database, self.job_id)
            over_by_itself = job.state in (JobState.DONE, JobState.FAILED)
            if job.cancel_requested_at is not None and not over_by_itself:
                raise StateError(
                    f"job {job.id} (task {job.task_id}) was cancelled, so it cannot queue other"
                    " jobs",
                    hint="sow ends its agent and the jobs that it has queued.",
                )


def _is_text(name: str) -> bool:
    return name.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def find_caller(environ: Mapping[str, str], cwd: Path) -> Caller:
    """Return the surroundings of a call made in `cwd`. Raises StateError without a workspace."""
    return Caller(find_or_bring_back(cwd, environ), environ, cwd)
