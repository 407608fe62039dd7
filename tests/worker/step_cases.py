"""A worker that runs the checks of a repository, in the test's own process: true supervisors and
true step programs, and no consumer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import yaml
from attempt_cases import AttemptSite, wait_until
from attempts.job_values import NOW, PROJECT, make_job
from watch_cases import ME, WatchSite

from sow.config.checks import read_repository
from sow.ids import JobId, TaskId
from sow.jobs import jobs, leases
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.state.tasks import add_task
from sow.trust.accepted import accept, command_lines
from worker import launch
from worker.fork_servers import fork_servers
from worker.monitor import Monitor
from worker.running import Running


class CheckSite:
    """A workspace with checks that its user has accepted, and a task to be checked."""

    def __init__(self, site: WatchSite, **checks: Any) -> None:
        self.site = site
        environ = {
            **site.context.environ,
            "SOW_CONFIG": str(site.workspace.sow / "users" / "config.yaml"),
        }
        site.context = replace(site.context, environ=environ)
        self.fork_servers = fork_servers(environ)
        self.write(**checks)
        self.trust()
        add_task(site.workspace, name="Task", agent="implementer", now=NOW, task_id=TaskId("010"))

    def write(self, **checks: Any) -> None:
        """Write the repository's settings anew."""
        path = self.site.workspace.repository_config
        path.write_text(yaml.safe_dump({"checks": checks}, sort_keys=False))

    def trust(self) -> None:
        """Accept the command lines as they stand."""
        source = read_repository(self.site.workspace.repository_config)
        lines = command_lines(source.content)
        accept(self.site.workspace, lines, self.site.context.environ)

    def place(self, *names: str, task: str = "010") -> Job:
        """Queue a check, as a call does."""
        job = make_job(
            id=JobId(0),
            project_id=PROJECT,
            task_id=TaskId(task),
            verb=Verb.CHECK,
            agent="",
            executor=None,
            terms=CheckTerms(names=names),
            path_variable=self.site.context.environ["PATH"],
            state=JobState.PREPARING,
        )
        job = jobs.insert_job(self.site.database, job)
        leases.enqueue(self.site.database, job.id, now=NOW)
        return job

    def claim(self) -> None:
        """Lease whatever waits, whether or not its time has come."""
        self.site.database.run("update job set retry_at = 0")
        leases.claim(self.site.database, ME, total=99, own=99, now=NOW)

    def start(self, job: Job) -> Running | None:
        """Claim and start a job; what runs of it is ended with the test."""
        self.claim()
        running = launch.start(self.site.context, self.fork_servers, job.id)
        if running is not None:
            attempt = AttemptSite(self.site.workspace, running.attempt.number, job.id)
            attempt.token = running.attempt.id.rsplit(".", 1)[1]
            attempt.forked = running.attempt.supervisor
            self.site.attempts.append(attempt)
        return running

    def run(self, *names: str, task: str = "010") -> Job:
        """Run a check to its end."""
        job = self.place(*names, task=task)
        running = self.start(job)
        assert running is not None
        return self.watched(running)

    def watched(self, running: Running, *, until: JobState | None = None) -> Job:
        """Let a monitor watch an attempt until its job has ended, or stands where it should."""
        monitor = self.site.start_monitor()
        try:
            monitor.watch(running)
            job = running.job

            def arrived() -> bool:
                state = self.site.get(job).state
                return state is until if until is not None else state.is_final

            wait_until(arrived, f"job {job.id} is {until or 'over'}")
            assert monitor.wait_until_idle(30.0)
            return self.site.get(job)
        finally:
            monitor.stop()

    def watch(self, running: Running) -> Monitor:
        """Begin to watch an attempt."""
        monitor = self.site.start_monitor()
        monitor.watch(running)
        return monitor

    def file(self, name: str) -> Path:
        return self.site.workspace.root / name

    def check(self) -> dict[str, Any]:
        """Return the outcome that stands in the task's state."""
        found: dict[str, Any] = msgspec.to_builtins(self.site.task().check)
        return found

    def close(self) -> None:
        self.fork_servers.close()
