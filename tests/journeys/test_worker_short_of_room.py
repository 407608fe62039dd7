"""Faults of the machine at a start that pass: the job waits and is tried again (§6, §10)."""

import re
from pathlib import Path

import pytest
from journeys.callers import await_end, await_state, queue_lock
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    attempt_of,
    launch_worker,
    nothing_is_taken,
    shell_executor,
    start_worker,
    write_program,
)

from sow.schema.job import JobState

AGENT = """
    echo run >>"$SOW_ROOT/runs"
    ulimit -Sn >"$SOW_ROOT/open-files"
    while [ ! -e "$SOW_ROOT/go" ]; do sleep 0.02; done
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
"""


def queue_tasks(site: Site, *tasks: str, **worker: object) -> None:
    """Queue tasks whose agents wait for a file named `go`."""
    executor = shell_executor(site, "brief", AGENT)
    config = {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}}
    site.configure({"worker": {**QUICK, **worker}, "agents": config})
    site.project(*tasks)
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")


def runs(site: Site) -> int:
    path = site.root / "runs"
    return len(path.read_text().split()) if path.exists() else 0


def is_delivered(site: Site, *tasks: str) -> None:
    """Fail unless each job has ended well by one run of its agent, and nothing was spent on it."""
    for task in tasks:
        job = await_end(site, task)
        assert job.state is JobState.DONE, (job, site.worker_logs())
        spent = (job.retries, job.worker_deaths, job.postponements, job.corrections)
        assert spent == (0, 0, 0, ())
        assert attempt_of(site, job.id).number == 1
    assert runs(site) == len(tasks)
    nothing_is_taken(site)


HELD_UP = """
    import sys
    import time
    from pathlib import Path

    from sow.jobs import database
    from worker import launch

    database.BUSY_SECONDS = 0.3
    {function} = launch.{function}

    def held_up(*arguments):
        Path("claimed").touch()
        while not Path("enter").exists():
            time.sleep(0.01)
        return {function}(*arguments)

    launch.{function} = held_up
    from sow.cli.root import run

    sys.exit(run(["worker", *sys.argv[1:]]))
"""
"""A worker that waits, before a step of a start, for a file named `enter`; it gives a locked
queue up after 0.3 s."""


@pytest.mark.one_of
@pytest.mark.parametrize("function", ["_write_files", "_record_attempt"])
def test_a_queue_that_is_locked_between_claim_and_record_costs_nothing(
    site: Site, function: str
) -> None:
    """Nor can the job be queued again meanwhile: its worker keeps it, and comes back to it."""
    queue_tasks(site, "010")
    program = write_program(site, "held_up.py", HELD_UP.format(function=function))
    worker = start_worker(site, program=program)
    wait_until((site.root / "claimed").exists, "the job is claimed")
    with queue_lock(site):
        (site.root / "enter").touch()
        worker.wait_for("nor queued again")
        assert "database is locked" in worker.log_text
    (site.root / "go").touch()
    is_delivered(site, "010")
    assert "Traceback" not in worker.log_text


SHORT = """
    import resource
    import sys

    resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
    from sow.cli.root import run

    sys.exit(run(["worker"]))
"""


def test_a_worker_short_of_open_files_takes_fewer_jobs_and_fails_none(site: Site) -> None:
    tasks = [f"{number:03}" for number in range(10, 130, 10)]
    queue_tasks(site, *tasks, concurrency=12)
    program = write_program(site, "short.py", SHORT.format(soft=22, hard=22))
    worker = start_worker(site, program=program)
    worker.wait_for("this machine is short of open files; until that changes")
    (site.root / "go").touch()
    is_delivered(site, *tasks)
    assert worker.log_text.count("this machine is short of") == 1
    assert "Traceback" not in worker.log_text


def test_a_worker_raises_its_own_limit_and_agents_get_the_one_from_before(site: Site) -> None:
    queue_tasks(site, "010")
    program = write_program(site, "short.py", SHORT.format(soft=100, hard=500))
    worker = start_worker(site, program=program)
    limits = Path(f"/proc/{worker.pid}/limits").read_text()
    found = re.search(r"Max open files +(\d+) +(\d+)", limits)
    assert found is not None
    assert found.groups() == ("500", "500")
    (site.root / "go").touch()
    is_delivered(site, "010")
    assert (site.root / "open-files").read_text() == "100\n"


NO_FORK = """
    import errno
    import itertools
    import os
    import subprocess
    import sys

    import worker.main
    from sow.processes import fork_server

    start = subprocess.Popen
    faults = itertools.cycle([errno.EAGAIN, errno.ENOMEM, errno.EMFILE])

    def refused(*arguments, **more):
        if os.path.exists("refuse"):
            code = next(faults)
            raise OSError(code, os.strerror(code))
        return start(*arguments, **more)

    fork_server.subprocess.Popen = refused
    from sow.cli.root import run

    sys.exit(run(["worker"]))
"""


def test_a_machine_without_room_for_a_process_is_tried_again_later(site: Site) -> None:
    """The reason is told, and each wait is longer than the one before."""
    queue_tasks(site, "010")
    (site.root / "refuse").touch()
    worker = start_worker(site, program=write_program(site, "no_fork.py", NO_FORK))
    job = await_state(site, "010", JobState.BACKOFF)
    assert "cannot be started now: cannot start a supervisor" in job.reason
    worker.wait_for("again in 4")
    (site.root / "refuse").unlink()
    (site.root / "go").touch()
    is_delivered(site, "010")
    assert re.findall(r"again in (\d+)", worker.log_text)[:3] == ["1", "2", "4"]
    assert "Traceback" not in worker.log_text


def test_what_does_not_pass_still_fails_the_job(site: Site) -> None:
    queue_tasks(site, "010")
    (site.base / "brief.sh").unlink()
    launch_worker(site)
    assert await_end(site, "010").state is JobState.FAILED
