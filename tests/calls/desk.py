"""A caller's desk: a repository with a project, a queue's file and a PATH, and no worker at all.

The steps of a call run here in the test's own process. Where they need
somebody else (a worker that lives, an agent that reports, a caller that has
died), the desk writes what that one would have written.
"""

import fcntl
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml
from own_queue import give_secret
from reports.job_cases import NOW, make_attempt, make_job

from sow.calls.caller import Caller
from sow.calls.request import Request
from sow.clock import format_time
from sow.config.configuration import Configuration
from sow.ids import JobId, ProjectId, TaskId, WorkerId
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database
from sow.paths import Workspace, attempt_id
from sow.processes import process_facts
from sow.schema.job import Attempt, Job, JobState, ProcessIdentity, Verb, WorkerRecord
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.log_writing import LogEntry
from sow.state.projects import new_project
from sow.state.task_log import append_entry
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")
SESSION = "11111111-2222-4333-8444-555555555555"
WORKER = WorkerId("w1")


@dataclass
class Desk:
    """One repository, its queue, and who calls there."""

    base: Path
    database: Database
    caller: Caller
    held: list[int] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        return self.caller.workspace

    @property
    def config(self) -> Configuration:
        return self.caller.load_configuration()

    def configure(self, content: Mapping[str, Any]) -> None:
        """Write the user's configuration; no call of a desk ever starts a worker."""
        path = self.base / "config.yaml"
        path.write_text(yaml.safe_dump({"worker": {"autostart": False}, **content}))

    def program(self, name: str, script: str = "exit 1") -> Path:
        """Put a program on the caller's PATH; none of them is ever an agent here."""
        path = self.base / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def as_agent_of(self, job: Job, **environ: str) -> Caller:
        """Return the caller that the agent of a job is."""
        mine = {"SOW_JOB_ID": str(job.id), "SOW_ROOT": str(self.workspace.root), **environ}
        return Caller(self.workspace, {**self.caller.environ, **mine}, self.caller.cwd)

    def task(
        self, task_id: str = "010", status: TaskStatus = TaskStatus.PENDING, **fields: Any
    ) -> Task:
        """Add a task in some status."""
        depends_on = fields.pop("depends_on", ())
        add_task(
            self.workspace,
            name=f"Task {task_id}",
            agent="implementer",
            now=NOW,
            task_id=task_id,
            depends_on=depends_on,
        )
        return self.change(task_id, status=status, **fields)

    def with_session(
        self, task_id: str = "010", *, started: bool = True, executor: str = "claude-code"
    ) -> Task:
        """Put a session on a task's record."""
        known = SessionFacts(executor=executor, cwd=".", started=started)
        return self.change(task_id, session_id=SESSION, session=known)

    def change(self, task_id: str = "010", **fields: Any) -> Task:
        return change_task(self.workspace, task_id, lambda _: fields, now=NOW)

    def read(self, task_id: str = "010") -> Task:
        return read_task(self.workspace, task_id)

    def log(self, task_id: str = "010") -> str:
        return find_task(self.workspace, task_id).log.read_text()

    def log_as(self, agent: str, action: str, *, task_id: str = "010", text: str = "") -> None:
        """Write an entry into a task's log, as an agent does."""
        entry = LogEntry(format_time(NOW), agent, action, text=text)
        append_entry(find_task(self.workspace, task_id).folder, entry)

    def spawn(self, task_id: str = "010", **fields: Any) -> Request:
        return Request(verb=Verb.SPAWN, task_id=TaskId(task_id), **fields)

    def resume(self, task_id: str = "010", prompt: str = "Go on.", **fields: Any) -> Request:
        return Request(verb=Verb.RESUME, task_id=TaskId(task_id), prompt=prompt, **fields)

    def job(self, job_id: int) -> Job:
        return jobs.get_job(self.database, JobId(job_id))

    def insert(self, **fields: Any) -> Job:
        """Put a job on record, as a call of this desk would have."""
        return jobs.insert_job(self.database, make_job(project_id=PROJECT, **fields))

    def queue(self, **fields: Any) -> Job:
        """Put a job into the queue, its task marked."""
        job = self.insert(prior_status=TaskStatus.PENDING, **fields)
        self.change(job.task_id, status=TaskStatus.IN_PROGRESS)
        leases.enqueue(self.database, job.id, now=NOW)
        return self.job(job.id)

    def run(self, **fields: Any) -> Job:
        """Queue a job and let a worker take it."""
        job = self.queue(**fields)
        leases.claim(self.database, WORKER, total=99, own=99, now=NOW)
        return self.job(job.id)

    def attempt(self, job: Job, **fields: Any) -> Attempt:
        """Put an attempt of a job on record.

        Its id is no other's: the machine is searched for processes that carry it.
        """
        attempt = msgspec.structs.replace(
            make_attempt(**fields), job_id=job.id, id=attempt_id(job.id, 1, uuid.uuid4().hex)
        )
        jobs.insert_attempt(self.database, attempt)
        return attempt

    def end(
        self,
        job_id: int,
        status: TaskStatus = TaskStatus.NEEDS_REVIEW,
        state: JobState = JobState.DONE,
    ) -> None:
        """End a job as its worker does once its agent has reported, and ring those who wait."""
        job = self.job(job_id)
        self.change(job.task_id, status=status)
        leases.withdraw(self.database, job.id)
        self.database.run("delete from lease where job_id = ?", (job_id,))
        ends = {"state": state, "outcome_status": status, "settled": 1, "ended_at": NOW + 1}
        jobs.change_job(self.database, job.id, **ends)
        waiters.ring_job(self.database, self.workspace, job.id)

    def owe(self, job: Job) -> None:
        """Leave the outcome of a job to a caller that went away."""
        waiters.begin(self.database, f"gone-{job.id}", job.id, on_behalf_of=None, now=NOW)

    def is_owed(self, job_id: int) -> bool:
        return waiters.is_owed(self.database, self.workspace, JobId(job_id))

    def staff(self) -> None:
        """Have a worker live that serves this queue; this process holds its lock."""
        lock = self.workspace.worker_lock(WORKER)
        lock.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.held.append(fd)
        process = process_facts.identify(os.getpid())
        assert process is not None
        record = WorkerRecord(
            id=WORKER,
            process=process,
            concurrency=4,
            version="0",
            background=True,
            started_at=NOW,
            format=99,
        )
        workers.register(self.database, record)

    def close(self) -> None:
        for fd in self.held:
            os.close(fd)
        self.database.close()


def make_desk(base: Path, open_queue: Any) -> Desk:
    """Make a repository with an empty project, whose caller has `claude` on its PATH."""
    for name in ("repo", "home", "bin"):
        (base / name).mkdir()
    give_secret(base / "home")
    workspace = Workspace(base / "repo")
    init_workspace(workspace.root)
    new_project(workspace, name="desk", project_id=PROJECT, now=NOW)
    environ = {
        "PATH": f"{base / 'bin'}:/usr/bin:/bin",
        "HOME": str(base / "home"),
        "SOW_CONFIG": str(base / "config.yaml"),
    }
    caller = Caller(workspace, environ, workspace.root, clock=lambda: NOW)
    desk = Desk(base, open_queue(workspace), caller)
    desk.program("claude")
    desk.configure({})
    return desk


def a_dead_process() -> ProcessIdentity:
    """Return a process that was, and is no more."""
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    identity = process_facts.identify(process.pid)
    process.communicate()
    assert identity is not None
    return identity
