"""Workers whose process facts come from the portable back end (§6: "a test switch")."""

import json

import pytest
from journeys.calls import HANG, await_end, await_runs, await_waiters, exists, gate, good, open_gate
from journeys.site import Site, wait_until
from journeys.staff import (
    QUICK,
    attempt_of,
    await_supervisor,
    drain,
    kill,
    nothing_is_taken,
    start_worker,
)
from standins import read_runs

from sow.schema.job import JobState


@pytest.fixture
def portable(site: Site) -> Site:
    site.env["SOW_PROCESSES"] = "portable"
    site.configure({"worker": QUICK})
    site.project("010")
    return site


def spawn(site: Site) -> None:
    site.sow("agent", "spawn", "implementer", "010", "--detach")


def test_an_agent_is_adopted(portable: Site) -> None:
    portable.script([good(gate("go"))])
    spawn(portable)
    worker = start_worker(portable)
    (run,) = await_runs(portable)
    await_supervisor(portable, 1)
    identity = attempt_of(portable, 1).supervisor
    assert identity is not None
    assert identity.boot_id == ""
    worker.kill()
    heir = start_worker(portable, "--drain")
    heir.wait_for("adopted: attempt 1")
    assert exists(run.pid)
    open_gate(portable, "go")
    assert heir.wait() == 0
    assert await_end(portable, "010").state is JobState.DONE
    assert len(read_runs(portable.root)) == 1
    nothing_is_taken(portable)


def test_an_agent_that_died_with_its_worker_is_resumed(portable: Site) -> None:
    portable.script([good({"say": "working"}, gate("never")), good()])
    spawn(portable)
    worker = start_worker(portable)
    (run,) = await_runs(portable)
    supervisor = await_supervisor(portable, 1)
    wait_until(lambda: portable.task("010").get("session", {}).get("started"), "a session")
    worker.kill()
    kill(supervisor, run.pid)
    drain(portable)
    first, second = read_runs(portable.root)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    nothing_is_taken(portable)


def test_an_agent_is_cancelled_with_what_it_started_and_without_its_supervisor(
    portable: Site,
) -> None:
    portable.script([[{"background": "exec sleep 300"}, *HANG]])
    start_worker(portable)
    caller = portable.start("agent", "spawn", "implementer", "010", "--json")
    await_waiters(portable, "010")
    (run,) = await_runs(portable)
    kill(await_supervisor(portable, 1))
    portable.sow("agent", "cancel", "010")
    assert not exists(run.pid)
    out, _ = caller.communicate(timeout=60)
    assert (caller.returncode, json.loads(out)["status"]) == (7, "paused")
    nothing_is_taken(portable)
