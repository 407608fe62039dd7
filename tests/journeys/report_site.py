"""What the journeys of reports share: a worker whose agents report through a socket."""

import os
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from journeys.staff import QUICK, WorkerRun, start_worker

from sow import env_vars
from sow.ids import JobId
from sow.paths import AttemptPaths, Workspace
from sow.state.log_reading import LogEntry
from sow.state.task_log import read_entries

BY_SOCKET = {env_vars.REPORTS: "socket"}


def begin(site: Site, *tasks: str, agent: str = "implementer") -> None:
    """Begin a project whose workers are started by the test."""
    site.configure({"worker": QUICK})
    site.project(*tasks, agent=agent)


def spawn(site: Site, task: str = "010", agent: str = "implementer") -> None:
    site.sow("agent", "spawn", agent, task, "--detach")


def socket_worker(site: Site, *options: str) -> WorkerRun:
    return start_worker(site, *options, **BY_SOCKET)


def paths_of(site: Site, job: int = 1, attempt: int = 1) -> AttemptPaths:
    return Workspace(site.root).attempt(JobId(job), attempt)


def socket_of(site: Site, job: int = 1, attempt: int = 1) -> Path:
    return paths_of(site, job, attempt).report_folder / "socket"


def entries_of(site: Site, task: str = "010") -> list[LogEntry]:
    return read_entries(site.task_folder(task) / "log.md")


def logged(site: Site, task: str = "010") -> list[str]:
    """Return what was logged that is no event, in its order."""
    return [entry.action for entry in entries_of(site, task) if not entry.event]


def served(site: Site, job: int = 1) -> Any:
    """Wait until the socket of a job's first attempt is there."""
    return wait_until(lambda: socket_of(site, job).exists(), "a socket")


def as_agent(site: Site, job: int = 1, attempt: int = 1) -> dict[str, str]:
    """Return the variables of a command that reports as the agent of an attempt."""
    return {env_vars.REPORT_SOCKET: str(socket_of(site, job, attempt))}


def server_pids(worker: int) -> list[int]:
    """Return the processes of a worker that take reports."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
            above = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"worker.reports.server" in line and above == worker:
            found.append(int(entry.name))
    return found


def kill(pid: int) -> None:
    os.kill(pid, 9)
