"""With too little disk space or memory free, nothing is taken, all are told, and it goes on."""

import pytest
from journeys.callers import all_jobs, await_end, await_state, gate, good, open_gate
from journeys.site import Site, wait_until
from journeys.staff import QUICK, nothing_is_taken, start_worker, write_program

from sow.schema.job import JobState

FIGURE = """
    import sys
    from pathlib import Path

    from worker import capacity

    def figure(*_):
        return int(Path("free").read_text())

    capacity.{function} = figure
    from sow.cli.root import run

    sys.exit(run(["worker"]))
"""
"""A worker to which a file says how much is free."""

SETTINGS = {"free_disk": "min_free_disk", "free_memory": "min_free_memory"}


def set_free(site: Site, megabytes: int) -> None:
    draft = site.root / "free.new"
    draft.write_text(str(megabytes * 10**6))
    draft.rename(site.root / "free")


def of_room(site: Site) -> list[str]:
    kinds = [change["kind"] for change in site.sow("changes", "--json").json_lines]
    return [kind for kind in kinds if kind in ("short", "roomy")]


@pytest.mark.one_of
@pytest.mark.parametrize("function", sorted(SETTINGS))
def test_nothing_is_taken_and_what_runs_goes_on(site: Site, function: str) -> None:
    site.configure({"worker": {**QUICK, SETTINGS[function]: "700MB"}})
    site.project("010", "020")
    site.script([good(gate("first"))], task="010")
    set_free(site, 701)
    program = write_program(site, "figure.py", FIGURE.format(function=function))
    workers = [start_worker(site, program=program) for _ in range(2)]
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_state(site, "010", JobState.RUNNING)

    set_free(site, 699)
    caller = site.start("agent", "spawn", "implementer", "020")
    wait_until(lambda: of_room(site) == ["short"], "it is on the record of changes")
    for worker in workers:
        worker.wait_for(f"worker.{SETTINGS[function]}: 700MB); 699.0 MB is free")
    status = site.sow("queue", "status", "--json").json
    assert [SETTINGS[function] in words for words in status["short_of"]] == [True]
    assert "starts no jobs" in site.sow("queue", "status").out
    assert "It goes on by itself" in site.sow("job", "explain", "2").out
    open_gate(site, "first")
    assert await_end(site, "010").state is JobState.DONE

    set_free(site, 701)
    site.sow("queue", "resume")  # rings; they look again, and a little more is not enough
    assert await_state(site, "020", JobState.QUEUED)
    assert of_room(site) == ["short"]
    set_free(site, 780)
    _, err = caller.communicate(timeout=240)
    assert caller.returncode == 0
    assert err.count("Note: sow starts no jobs now: too little") == 1
    assert of_room(site) == ["short", "roomy"]
    assert sum("memory is free again" in worker.log_text for worker in workers) == 2
    nothing_is_taken(site)


def test_nothing_switches_it_off(site: Site) -> None:
    site.configure({"worker": {**QUICK, "min_free_disk": 0, "min_free_memory": "0B"}})
    site.project("010")
    set_free(site, 0)
    text = FIGURE.format(function="free_disk").replace(
        "capacity.free_disk = figure", "capacity.free_disk = capacity.free_memory = figure"
    )
    start_worker(site, program=write_program(site, "figure.py", text))
    site.sow("agent", "spawn", "implementer", "010")
    assert [job.state for job in all_jobs(site)] == [JobState.DONE]
    assert of_room(site) == []


def test_a_disk_that_never_has_enough_holds_a_real_worker(site: Site) -> None:
    """No figure is made up here: the true look at the true disk."""
    site.configure({"worker": {**QUICK, "min_free_disk": "99999TB"}})
    site.project("010")
    worker = start_worker(site)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    worker.wait_for("sow starts no jobs now: too little disk space is free in")
    assert await_state(site, "010", JobState.QUEUED)
