"""Workers that come and go while agents run: another version's, and one that an agent started."""

import pytest
from journeys.callers import Step, await_end, await_runs, exists, gate, good, job_of, open_gate
from journeys.site import Site
from journeys.staff import (
    QUICK,
    attempt_of,
    await_supervisor,
    nothing_is_taken,
    start_worker,
    write_program,
)
from standins import read_runs

from sow.processes import procfs
from sow.schema.job import Cause, JobState

ANOTHER_VERSION = """
    import sys

    import sow

    sow.__version__ = "9.9.9"

    from sow.cli.root import run

    sys.exit(run(["worker", *sys.argv[1:]]))
"""
YOLO = {"agents": {"executors": {"claude-code": {"settings": {"yolo_mode": True}}}}}


@pytest.mark.one_of
@pytest.mark.parametrize("successor_first", [False, True])
def test_agents_go_on_while_their_worker_is_upgraded(site: Site, successor_first: bool) -> None:
    """§6: "the worker can die, be upgraded and come back: it adopts what still runs"."""
    program = write_program(site, "another.py", ANOTHER_VERSION)
    site.configure({"worker": QUICK})
    site.project("010", "020")
    site.script([good(gate("go"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    old = start_worker(site)
    (run,) = await_runs(site)
    await_supervisor(site, 1)
    new = start_worker(site, program=program) if successor_first else None
    assert site.sow("worker", "stop", old.name).out == f"stopped {old.name}\n"
    assert old.wait() == 0
    new = new or start_worker(site, program=program)
    new.wait_for("adopted: attempt 1")
    assert [worker["version"] for worker in site.workers()] == ["9.9.9"]
    assert exists(run.pid)
    site.sow("agent", "spawn", "implementer", "020", "--detach")
    await_runs(site, 2)
    open_gate(site, "go")
    for task in ("010", "020"):
        job = await_end(site, task)
        assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED)
        assert attempt_of(site, job.id).number == 1
    assert len(read_runs(site.root)) == 2
    nothing_is_taken(site)


def test_a_worker_that_an_agent_has_started_outlives_it_with_all_it_runs(site: Site) -> None:
    """§6: "Ending a tree skips registered workers, other attempts' supervisors and everything
    below them: a worker that an agent's own `sow` call started must not die with that agent"."""
    site.configure(YOLO)
    site.project("010", agent="orchestrator")
    site.add_tasks("020", agent="implementer")
    nested: Step = {"sow": ["agent", "spawn", "implementer", "020"]}
    site.script([good(gate("alone"), nested)], "010")
    site.script([good(gate("go"))], "020")
    first = start_worker(site)
    site.sow("agent", "spawn", "010", "--detach")
    await_runs(site)
    supervisor = await_supervisor(site, 1)
    first.kill()
    open_gate(site, "alone")
    parent, child = await_runs(site, 2)
    (worker,) = (each for each in site.workers() if each["alive"])
    spared = {worker["pid"], child.pid, await_supervisor(site, 2)}
    assert spared <= set(procfs.descendants(supervisor))

    site.sow("agent", "cancel", "010", "--keep-children")
    assert site.task("010")["status"] == "paused"
    assert not exists(parent.pid)
    assert all(exists(pid) for pid in spared)
    open_gate(site, "go")
    assert await_end(site, "020").state is JobState.DONE
    record = site.sow("agent", "spawn", "implementer", "020", "--json").json
    assert (record["status"], record["owed"], record["attempt_count"]) == ("needs_review", True, 1)
    assert len(read_runs(site.root)) == 2
    cancelled = job_of(site, "010")
    assert cancelled is not None
    assert cancelled.state is JobState.CANCELLED
    nothing_is_taken(site)
