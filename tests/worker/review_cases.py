"""A worker that runs reviews, in the test's own process: true supervisors, stand-ins for Claude
Code that run the true `sow`, and no consumer."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from attempt_cases import AttemptSite, wait_until
from attempts.job_values import CLAUDE, make_job
from clones.making_site import PROJECT_ID, Home, make_home
from own_queue import put_secret
from standins import install_standins
from watch_cases import ME

from sow.agents.roles import AGENTS
from sow.clones.bring_back import bring_back
from sow.clones.judged import judged_commit
from sow.clones.make import MadeClone
from sow.clones.record import record_clone
from sow.config.checks import read_repository
from sow.config.defaults import BUILT_IN_EXECUTORS
from sow.config.load import load_configuration
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, leases
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.job_terms import CheckTerms, ReviewTerms
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.places import find_task
from sow.state.tasks import change_task, read_task
from sow.trust.accepted import accept, command_lines
from worker import launch
from worker.adopt import adopt
from worker.context import WorkerContext
from worker.fork_servers import fork_servers
from worker.monitor import Monitor
from worker.running import Running

AUTHORS = "11111111-2222-4333-8444-555555555555"
"""The session of the task's author, which no review may touch."""
ACCEPT = {"sow": ["review", "accept", "{task}", "--summary", "It holds."]}
CORRECT = {"shell": "echo 'Name it better.' >f.md; sow review correct {task} --file f.md"}

YOLO = msgspec.structs.replace(CLAUDE, yolo_mode=True)
"""What it may run is not what is tested here."""

Run = Sequence[Mapping[str, Any]]


def define(path: Path, executor: ExecutorConfig) -> None:
    """Write a user's file that has this executor."""
    settings: dict[str, Any] = {"yolo_mode": executor.yolo_mode}
    if executor.command:
        settings["command"] = list(executor.command)
    section: dict[str, Any] = {"settings": settings}
    if executor.name not in BUILT_IN_EXECUTORS:
        section["type"] = executor.type.value
    path.write_text(json.dumps({"agents": {"executors": {executor.name: section}}}))


class ReviewSite:
    """A repository with a task that waits for a review, and a worker's context."""

    def __init__(self, folder: Path, *, has_clone: bool = True) -> None:
        self.folder = folder
        self.home: Home = make_home(folder)
        (folder / "bin").mkdir()
        (self.home.top / ".git/info/exclude").write_text(".standin\n")
        install_standins(folder / "bin", sys.executable)
        ours = str(Path(sys.executable).parent)
        self.path = os.pathsep.join([str(folder / "bin"), ours, "/usr/bin", "/bin"])
        state = folder / "state"
        put_secret(state)
        self.environ = {"PATH": self.path, "HOME": str(folder), "XDG_STATE_HOME": str(state)}
        self.database = open_queue(self.workspace)
        configuration = load_configuration(
            path=folder / "no-config.yaml",
            repository_path=None,
            environ={},
            roles=[agent.name for agent in AGENTS],
        )
        self.context = WorkerContext(
            self.workspace, self.database, ME, configuration, self.environ, time.time
        )
        self.fork_servers = fork_servers(self.environ)
        self.attempts: list[AttemptSite] = []
        self.made: MadeClone | None = self._clone() if has_clone else None
        self.change(
            status=TaskStatus.NEEDS_REVIEW,
            session_id=AUTHORS,
            session=SessionFacts(executor=CLAUDE.name, started=True),
        )

    def _clone(self) -> MadeClone:
        settings = self.workspace.sow / "config.yaml"
        settings.write_text(f"clones:\n  folder: {self.folder / 'clones'}\n")
        self.home = self.home.with_settings(folder=str(self.folder / "clones"))
        made = self.home.make("010")
        record_clone(self.workspace, made.mark, now=time.time())
        return made

    @property
    def workspace(self) -> Workspace:
        return self.home.workspace

    @property
    def clones(self) -> Path:
        return self.home.place("010").path.parent

    def bring_back(self) -> str:
        assert self.made is not None
        facts = self.home.place("010").since(self.made.mark.base)
        brought = bring_back(facts, self.home.repository)
        assert brought is not None
        return brought.commit

    def script(self, *runs: Run) -> None:
        """Say what the reviewers do, run by run."""
        folder = self.workspace.root / ".standin"
        folder.mkdir(exist_ok=True)
        (folder / "010.json").write_text(json.dumps(list(runs)))

    def place(self, executor: ExecutorConfig = YOLO, **more: Any) -> Job:
        """Queue a review, as a call does, by an executor that the user's file defines."""
        define(self.context.configuration.path, executor)
        job = make_job(
            id=JobId(0),
            project_id=ProjectId(PROJECT_ID),
            verb=Verb.REVIEW,
            agent="reviewer",
            executor=executor,
            terms=ReviewTerms(commit=judged_commit(self.workspace, self.task())),
            path_variable=self.path,
            prior_status=TaskStatus.NEEDS_REVIEW,
            state=JobState.PREPARING,
        )
        job = jobs.insert_job(self.database, msgspec.structs.replace(job, **more))
        leases.enqueue(self.database, job.id, now=time.time())
        return job

    def check(self) -> Job:
        """Queue a check of the project, which passes."""
        self.workspace.repository_config.write_text("checks: {unit: 'true'}")
        source = read_repository(self.workspace.repository_config)
        accept(self.workspace, command_lines(source.content), self.environ)
        job = make_job(
            id=JobId(0),
            project_id=ProjectId(PROJECT_ID),
            task_id=TaskId(""),
            verb=Verb.CHECK,
            agent="",
            executor=None,
            terms=CheckTerms(names=("unit",)),
            path_variable=self.path,
            state=JobState.PREPARING,
        )
        job = jobs.insert_job(self.database, job)
        leases.enqueue(self.database, job.id, now=time.time())
        return job

    def start(self, job: Job) -> Running | None:
        """Claim and start a job; what runs of it is ended with the test."""
        self.database.run("update job set retry_at = 0")
        leases.claim(self.database, ME, total=99, own=99, now=time.time())
        running = launch.start(self.context, self.fork_servers, job.id)
        if running is not None:
            self.note(running)
        return running

    def note(self, running: Running) -> None:
        attempt = AttemptSite(self.workspace, running.attempt.number, running.job.id)
        attempt.token = running.attempt.id.rsplit(".", 1)[1]
        attempt.forked = running.attempt.supervisor
        self.attempts.append(attempt)

    def watched(self, running: Running) -> Job:
        """Let a monitor watch an attempt until it is settled."""
        monitor = Monitor(self.context)
        monitor.start()
        try:
            monitor.watch(running)
            assert monitor.wait_until_idle(60.0)
            return self.get(running.job)
        finally:
            monitor.stop()

    def run(self, job: Job) -> Job:
        """Run a job to its end, attempt by attempt."""
        while not self.get(job).state.is_final:
            running = self.start(job)
            if running is not None:
                self.watched(running)
        return self.get(job)

    def adopt(self, job: Job) -> Running:
        """Take a job over as another worker does."""
        lease = leases.lease_of(self.database, job.id)
        assert lease is not None
        running = adopt(self.context, lease)
        assert running is not None
        return running

    def get(self, job: Job) -> Job:
        return jobs.get_job(self.database, job.id)

    def tries(self, job: Job) -> list[Attempt]:
        return list(jobs.attempts(self.database, job.id))

    def task(self) -> Task:
        return read_task(self.workspace, TaskId("010"))

    def change(self, **changes: Any) -> None:
        change_task(self.workspace, TaskId("010"), lambda _: changes, now=time.time())

    def prompt(self, job: Job, number: int = 1) -> str:
        return self.workspace.attempt(job.id, number).prompt.read_text()

    def task_folder(self) -> Path:
        return find_task(self.workspace, TaskId("010")).folder

    def reviews(self) -> list[str]:
        """Return what lies of throw-away clones."""
        return sorted(path.name for path in self.clones.iterdir() if ".review-" in path.name)

    def await_no_clone(self) -> None:
        """Wait until nothing lies of throw-away clones: they are deleted when the job has ended."""
        wait_until(lambda: self.reviews() == [], "the throw-away clones are gone")

    def wait_for(self, name: str) -> Path:
        path = self.folder / name
        wait_until(path.exists, name)
        return path

    def close(self) -> None:
        self.fork_servers.close()
        for attempt in self.attempts:
            attempt.close()
        self.database.close()
