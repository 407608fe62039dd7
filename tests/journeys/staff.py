"""What the journeys of the worker share: workers started by hand, and processes to kill."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeys.callers import process_state, queue, queue_lock
from journeys.site import Site, wait_until

from sow.ids import JobId
from sow.jobs import jobs, workers
from sow.paths import Workspace
from sow.schema.job import Attempt

QUICK: dict[str, Any] = {"autostart": False, "idle_exit": "1s"}
"""Workers are started by the test alone."""

SHELL_AGENT = """
sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""
"""An agent of a few milliseconds: it reports by writing its task's state itself."""


@dataclass
class WorkerRun:
    """A worker that the test has started; what it says goes into a file."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log_text(self) -> str:
        return self.log.read_text()

    @property
    def name(self) -> str:
        """The name it has registered under."""
        found = re.search(r"worker (w\S+) started", self.log_text)
        assert found is not None, self.log_text
        return found.group(1)

    def wait_for(self, words: str) -> None:
        wait_until(lambda: words in self.log_text, f"the worker says {words!r}: {self.log_text}")

    def signal(self, signum: signal.Signals) -> None:
        os.kill(self.process.pid, signum)

    def freeze(self, site: Site) -> None:
        """Stop it where it holds no lock of the queue, and see it stopped."""
        with queue_lock(site):
            self.signal(signal.SIGSTOP)
            wait_until(lambda: process_state(self.pid) == "T", f"worker {self.pid} has stopped")

    def wait(self) -> int:
        """Wait until it has left and return its exit code."""
        return self.process.wait(60)

    def kill(self) -> None:
        """Kill it and see it gone."""
        self.process.kill()
        self.process.wait()


def start_worker(site: Site, *options: str, program: Path | None = None, **env: str) -> WorkerRun:
    """Start `sow worker` and return it when it works; `program` is a Python file to run instead."""
    run = launch_worker(site, *options, program=program, **env)
    wait_until(lambda: " started; runs up to" in run.log_text, f"a worker starts: {run.log_text}")
    return run


def launch_worker(site: Site, *options: str, program: Path | None = None, **env: str) -> WorkerRun:
    """Start a worker as `start_worker` does, and return it at once."""
    log = site.base / f"worker-{len(site.started)}.log"
    with log.open("w") as file:
        if program is None:
            process = site.start("worker", *options, stdout=file, stderr=file, env=env or None)
        else:
            process = subprocess.Popen(
                [sys.executable, "-P", str(program), *options],
                cwd=site.root,
                env=site.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                text=True,
            )
            site.started.append(process)
    return WorkerRun(process, log)


def drain(site: Site) -> WorkerRun:
    """Run a worker until nothing is left to do."""
    run = start_worker(site, "--drain")
    assert run.wait() == 0, run.log_text
    return run


def write_program(site: Site, name: str, text: str) -> Path:
    """Write a Python file beside the repository."""
    path = site.base / name
    path.write_text(textwrap.dedent(text))
    return path


def shell_executor(
    site: Site, name: str, script: str = SHELL_AGENT, **settings: Any
) -> dict[str, Any]:
    """Write a shell script that is an agent, and return the executor that runs it."""
    path = site.base / f"{name}.sh"
    path.write_text(f"#!/bin/sh\n{textwrap.dedent(script)}")
    path.chmod(0o755)
    return {"type": "command", "settings": {"command": [str(path), "{task_dir}"]}, **settings}


def attempt_of(site: Site, job: int) -> Attempt:
    """Return a job's newest attempt."""
    with closing(queue(site)) as database:
        attempt = jobs.last_attempt(database, JobId(job))
    assert attempt is not None, f"job {job} has no attempt"
    return attempt


def await_supervisor(site: Site, job: int) -> int:
    """Return the pid of the newest attempt's supervisor, once it is on record."""

    def found() -> int | None:
        with closing(queue(site)) as database:
            attempt = jobs.last_attempt(database, JobId(job))
        return attempt.supervisor.pid if attempt and attempt.supervisor else None

    pid: int = wait_until(found, f"job {job} has a supervisor")
    return pid


def kill(*pids: int) -> None:
    """Kill processes that may have gone already."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def nothing_is_taken(site: Site) -> None:
    """Fail if a slot, a task or a worker's place is still held."""
    workspace = Workspace(site.root)
    with closing(queue(site)) as database:
        assert database.rows("select * from lease") == []
        assert database.rows("select * from task") == []
        assert not jobs.has_active_jobs(database)
        registered = {record.id for record in workers.registered(database)}
    held = {path.stem for path in workspace.workers.glob("*.lock")}
    assert held <= registered
    assert all(workers.is_alive(workspace, each) for each in registered)
