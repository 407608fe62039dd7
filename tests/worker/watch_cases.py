"""A worker's surroundings without its consumer: records, a task, attempts to watch and adopt."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from attempt_cases import AttemptSite, wait_until
from attempts.job_values import CLAUDE, NOW, PROJECT, make_job

from sow.agents.roles import AGENTS
from sow.config.load import load_configuration
from sow.ids import AttemptId, TaskId, WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import Attempt, Job, JobState, Lease, ProcessIdentity, Verb
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.projects import new_project
from sow.state.tasks import add_task, change_task, read_task
from worker.adopt import adopt
from worker.context import WorkerContext
from worker.monitor import Monitor, Pace
from worker.running import Running

ME = WorkerId("w1-aaaaaa")
SESSION = "22222222-2222-4222-8222-222222222222"
SHORT_TICKS = Pace(tick_seconds=0.05)


@dataclass
class WatchSite:
    """A workspace with a project and one task of it in progress."""

    workspace: Workspace
    database: Database
    context: WorkerContext
    attempts: list[AttemptSite] = field(default_factory=list)

    def job(self, task: str = "010", **more: Any) -> Job:
        """Put a job on record, its task marked as a call would mark it."""
        add_task(self.workspace, name="Task", agent="implementer", now=NOW, task_id=TaskId(task))
        self.change_task(
            task,
            status=TaskStatus.IN_PROGRESS,
            session_id=SESSION,
            session=SessionFacts(executor=CLAUDE.name),
        )
        values = {
            "task_id": TaskId(task),
            "state": JobState.PREPARING,
            "path_variable": os.environ["PATH"],
        }
        return jobs.insert_job(self.database, make_job(**(values | more)))

    def lease(self, job: Job, worker: WorkerId = ME) -> Lease:
        """Queue and claim a job."""
        leases.enqueue(self.database, job.id, now=NOW)
        leases.claim(self.database, worker, total=99, own=99, now=NOW)
        lease = leases.lease_of(self.database, job.id)
        assert lease is not None
        return lease

    def attempt(
        self, job: Job, *, supervisor: ProcessIdentity | None = None, **more: Any
    ) -> AttemptSite:
        """Put an attempt on record, with its folder; return where its supervisor can be started."""
        last = jobs.last_attempt(self.database, job.id)
        number = 1 if last is None else last.number + 1
        site = AttemptSite(self.workspace, number, job.id)
        site.prepare()
        site.paths.last_valid_state.write_bytes(self.state_file(job.task_id).read_bytes())
        record = Attempt(
            job_id=job.id,
            number=number,
            id=AttemptId(site.attempt_id),
            verb=Verb.SPAWN,
            worker_id=ME,
            supervisor=supervisor,
            session_id=SESSION,
            created_at=NOW,
        )
        jobs.insert_attempt(self.database, record)
        if more:
            jobs.change_attempt(self.database, job.id, number, **more)
        self.attempts.append(site)
        return site

    def run(self, job: Job, script: str, **popen: Any) -> AttemptSite:
        """Start an attempt of a job under a true supervisor, on record as the worker does it."""
        site = self.attempt(job)
        process = site.sh(script, **popen)
        identity = process_facts.identify(process.pid)
        jobs.change_attempt(self.database, job.id, site.number, supervisor=identity)
        site.agent_pid()
        return site

    def adopt(self, job: Job) -> Running:
        lease = leases.lease_of(self.database, job.id)
        assert lease is not None
        running = adopt(self.context, lease)
        assert running is not None
        return running

    def get(self, job: Job) -> Job:
        return jobs.get_job(self.database, job.id)

    def ended(self, job: Job) -> Job:
        """Return a job as soon as it has ended."""
        wait_until(lambda: self.get(job).state.is_final, f"job {job.id} ends")
        return self.get(job)

    def task(self, task: str = "010") -> Task:
        return read_task(self.workspace, task)

    def change_task(self, task: str = "010", **changes: Any) -> None:
        change_task(self.workspace, task, lambda _: changes, now=NOW)

    def state_file(self, task: str = "010") -> Path:
        (path,) = self.workspace.phases.glob(f"*/tasks/{task}/state.yaml")
        return path

    def last_attempt(self, job: Job) -> Attempt:
        attempt = jobs.last_attempt(self.database, job.id)
        assert attempt is not None
        return attempt

    def start_monitor(self, pace: Pace = SHORT_TICKS) -> Monitor:
        monitor = Monitor(self.context, pace=pace)
        monitor.start()
        return monitor

    def close(self) -> None:
        for attempt in self.attempts:
            attempt.close()
        self.database.close()


def make_watch_site(workspace: Workspace) -> WatchSite:
    new_project(workspace, name="project", project_id=PROJECT, now=NOW)
    database = open_queue(workspace)
    configuration = load_configuration(
        path=workspace.root / "no-config.yaml",
        repository_path=None,
        environ={},
        roles=[agent.name for agent in AGENTS],
    )
    context = WorkerContext(workspace, database, ME, configuration, dict(os.environ))
    return WatchSite(workspace, database, context)


def dead_process() -> ProcessIdentity:
    """Return the identity of a process of this boot and namespace that has gone."""
    mine = process_facts.identify(os.getpid())
    assert mine is not None
    return msgspec.structs.replace(mine, start_ticks="1")
