"""Supervisors that somebody stops: the job goes on, can be cancelled, and is adopted (§6)."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from journeys.callers import await_end, await_runs, await_state, exists, gate, good, open_gate
from journeys.callers import process_state as state_of
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    WorkerRun,
    attempt_of,
    await_supervisor,
    nothing_is_taken,
    start_worker,
)

from sow.schema.job import Cause, JobState

pytestmark = pytest.mark.parametrize("backend", ["linux", "portable"])


def begin(site: Site, backend: str) -> tuple[WorkerRun, int]:
    """Start a worker and an agent that waits at a gate; return also its supervisor's pid."""
    site.env["SOW_PROCESSES"] = backend
    site.configure({"worker": QUICK})
    site.project("010")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    worker = start_worker(site)
    await_runs(site)
    return worker, await_supervisor(site, 1)


@pytest.mark.one_of
def test_one_that_was_stopped_is_continued(site: Site, backend: str) -> None:
    worker, supervisor = begin(site, backend)
    os.kill(supervisor, signal.SIGSTOP)
    worker.wait_for("its supervisor was stopped; continuing it")
    wait_until(lambda: state_of(supervisor) != "T", "it goes on")
    open_gate(site, "go")
    assert await_end(site, "010").state is JobState.DONE
    assert attempt_of(site, 1).exit_code == 0
    nothing_is_taken(site)


@pytest.mark.one_of
def test_a_job_whose_supervisor_was_stopped_can_be_cancelled(site: Site, backend: str) -> None:
    _, supervisor = begin(site, backend)
    os.kill(supervisor, signal.SIGSTOP)
    site.sow("agent", "cancel", "010")
    job = await_end(site, "010")
    assert (job.state, job.cause) == (JobState.CANCELLED, Cause.CANCELLED)
    assert site.task("010")["status"] == "paused"
    nothing_is_taken(site)


@pytest.mark.one_of
def test_a_new_worker_adopts_an_agent_whose_supervisor_was_stopped(
    site: Site, backend: str
) -> None:
    worker, supervisor = begin(site, backend)
    worker.kill()
    os.kill(supervisor, signal.SIGSTOP)
    start_worker(site).wait_for("its supervisor was stopped; continuing it")
    open_gate(site, "go")
    assert await_end(site, "010").state is JobState.DONE
    nothing_is_taken(site)


@pytest.mark.one_of
@pytest.mark.parametrize("cancelled", [False, True])
def test_one_that_is_stopped_again_and_again_is_replaced(
    site: Site, backend: str, cancelled: bool
) -> None:
    """The agent is left running, and the worker sees to its end."""
    worker, supervisor = begin(site, backend)
    with held_still(supervisor):
        worker.wait_for("the worker replaces it")
        wait_until(lambda: not exists(supervisor), "it is gone")
    await_state(site, "010", JobState.RUNNING)
    if cancelled:
        site.sow("agent", "cancel", "010")
    else:
        open_gate(site, "go")
    job = await_end(site, "010")
    assert job.state is (JobState.CANCELLED if cancelled else JobState.DONE)
    assert len(await_runs(site)) == 1
    nothing_is_taken(site)


@contextmanager
def held_still(pid: int) -> Iterator[None]:
    """Stop a process whenever it goes on."""
    over = threading.Event()

    def stop() -> None:
        with suppress(OSError):
            while not over.wait(0.005) and exists(pid):
                os.kill(pid, signal.SIGSTOP)

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
