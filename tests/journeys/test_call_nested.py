"""An agent's own calls: slots are lent, nobody waits for an ancestor (DESIGN, "The call")."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    Step,
    all_jobs,
    await_end,
    await_runs,
    await_state,
    besides_news,
    gate,
    good,
    open_gate,
    queue,
    statuses,
)
from journeys.site import Site, wait_until
from standins import Run, overlapping, read_runs

from sow.schema.job import JobState

YOLO = {"agents": {"executors": {"claude-code": {"settings": {"yolo_mode": True}}}}}
"""Agents that may run anything, `sow agent spawn` among it."""
ONE_AT_A_TIME = {**YOLO, "worker": {"concurrency": 1}}


def spawn(task: str, *words: str) -> Step:
    return {"sow": ["agent", "spawn", "orchestrator", task, *words]}


def run_of(site: Site, task: str) -> Run:
    (run,) = (run for run in read_runs(site.root) if run.task == task)
    return run


def test_nested_spawns_do_not_deadlock_on_one_slot(site: Site) -> None:
    """While a caller that is itself a running job's agent waits, that job lends its slot."""
    tasks = ("010", "020", "030")
    site.project(*tasks, agent="orchestrator")
    site.configure(ONE_AT_A_TIME)
    site.script([good(spawn("020"))], "010")
    site.script([good(spawn("030"))], "020")
    site.script([good()], "030")
    site.sow("agent", "spawn", "orchestrator", "010")
    assert statuses(site, tasks) == ["needs_review"] * 3
    assert [job.parent for job in all_jobs(site)] == [None, 1, 2]
    assert len(overlapping(read_runs(site.root))) == 3
    nested = run_of(site, "010").tools[0]
    printed = besides_news(nested.output)
    assert (nested.exit, printed[:17]) == (0, "020 needs_review ")


def test_an_executors_own_limit_is_lent_too(site: Site) -> None:
    site.project("010", "020", agent="orchestrator")
    settings = {"settings": {"yolo_mode": True}, "max_parallel": 1}
    site.configure({"agents": {"executors": {"claude-code": settings}}})
    site.script([good(spawn("020"))], "010")
    site.script([good()], "020")
    site.sow("agent", "spawn", "orchestrator", "010")
    assert statuses(site, ("010", "020")) == ["needs_review"] * 2


def test_an_agent_that_waits_for_a_job_it_has_detached_lends_its_slot(site: Site) -> None:
    site.project("010", "020", agent="orchestrator")
    site.configure(ONE_AT_A_TIME)
    wait: Step = {"sow": ["agent", "wait", "020"]}
    site.script([good(spawn("020", "--detach"), wait)], "010")
    site.script([good()], "020")
    site.sow("agent", "spawn", "orchestrator", "010")
    assert run_of(site, "010").tools[1].exit == 0
    assert statuses(site, ("010", "020")) == ["needs_review"] * 2


def test_a_slot_that_is_not_lent_stays_taken(site: Site) -> None:
    """Only waiting lends: the limit holds for an agent that has detached a job and works on."""
    site.project("010", "020", agent="orchestrator")
    site.configure(ONE_AT_A_TIME)
    site.script([good(spawn("020", "--detach"), gate("go"))], "010")
    site.script([good()], "020")
    site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    await_state(site, "020", JobState.QUEUED)
    open_gate(site, "go")
    await_end(site, "020")
    assert overlapping(read_runs(site.root)) == []


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "words",
    [
        ["agent", "spawn", "orchestrator", "010"],
        ["agent", "spawn", "orchestrator", "010", "--prompt", "another"],
        ["agent", "resume", "010", "Go on."],
        ["agent", "wait", "010"],
    ],
)
def test_a_task_cannot_wait_on_itself(site: Site, words: list[str]) -> None:
    """A task cannot wait on itself or on an ancestor (exit 4)."""
    site.project("010", agent="orchestrator")
    site.configure(YOLO)
    site.script([good({"sow": words})])
    site.sow("agent", "spawn", "orchestrator", "010")
    refused = run_of(site, "010").tools[0]
    assert refused.exit == 4
    assert (
        "task 010 cannot wait for itself, nor for a task that waits for it: 010 (job 1)"
        in refused.output
    )
    assert len(all_jobs(site)) == 1


def test_a_task_cannot_wait_on_an_ancestor(site: Site) -> None:
    site.project("010", "020", "030", agent="orchestrator")
    site.configure(YOLO)
    site.script([good(spawn("020"))], "010")
    site.script([good(spawn("030"))], "020")
    site.script([good({"sow": ["agent", "wait", "010"]}, spawn("010"))], "030")
    site.sow("agent", "spawn", "orchestrator", "010")
    for refused in run_of(site, "030").tools[:2]:
        assert refused.exit == 4
        assert "030 (job 3) → 020 (job 2) → 010 (job 1)" in refused.output
    assert len(all_jobs(site)) == 3


def test_a_nested_caller_that_is_killed_lends_nothing_for_ever(site: Site) -> None:
    """Its outcome stays owed, but the slot of its job counts again."""
    site.project("010", "020", "030", agent="orchestrator")
    site.configure(ONE_AT_A_TIME)
    nested = "sow agent spawn orchestrator 020 & echo $! > .standin/nested.pid; wait"
    site.script([good({"shell": nested}, gate("parent"))], "010")
    site.script([good(gate("child"))], "020")
    site.script([good()], "030")
    site.sow("agent", "spawn", "orchestrator", "010", "--detach")
    await_runs(site, 2)
    os.kill(int(Path(site.root, ".standin/nested.pid").read_text()), signal.SIGKILL)
    site.sow("agent", "spawn", "orchestrator", "030", "--detach")
    open_gate(site, "child")
    await_end(site, "020")
    wait_until(lambda: not lenders(site), "the end of the lending")
    open_gate(site, "parent")
    await_end(site, "030")
    assert overlapping([run_of(site, "010"), run_of(site, "030")]) == []
    assert statuses(site, ("010", "020", "030")) == ["needs_review"] * 3


def lenders(site: Site) -> list[int]:
    with closing(queue(site)) as database:
        rows = database.rows("select on_behalf_of from waiter where on_behalf_of is not null")
        return [row["on_behalf_of"] for row in rows]


def test_a_nested_call_that_runs_out_of_time_takes_its_slot_back(site: Site) -> None:
    """The agent's shell gets 75 and the command to go on with; its next call lends again."""
    site.project("010", "020", agent="orchestrator")
    site.configure(ONE_AT_A_TIME)
    bounded = spawn("020", "--wait", "1s")
    site.script([good(bounded, {"touch": ".standin/go.gate"}, spawn("020"))], "010")
    site.script([good(gate("go"))], "020")
    site.sow("agent", "spawn", "orchestrator", "010")
    first, second, _ = run_of(site, "010").tools
    assert (first.exit, first.output.splitlines()[-1]) == (75, "sow agent wait 020 --wait 1s")
    assert second.exit == 0
    assert "020 needs_review" in second.output


def test_the_agent_of_another_repositorys_job_is_nobodys_child_here(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow("agent", "spawn", "implementer", "010", env={"SOW_JOB_ID": "1", "SOW_TASK_ID": "010"})
    assert all_jobs(site)[0].parent is None


@pytest.mark.one_of
@pytest.mark.parametrize(
    "words", [("agent", "cancel"), ("agent", "cancel", "010"), ("job", "cancel", "1")]
)
def test_an_agent_does_not_cancel_itself_or_what_is_above_it(
    site: Site, words: tuple[str, ...]
) -> None:
    """Without an id `sow agent cancel` means the agent's own task, and would end all it queued."""
    site.project("010", "020", agent="orchestrator")
    site.configure(YOLO)
    attempt: Step = {"sow": list(words)}
    site.script([good(attempt, spawn("020"))], "010")
    site.script([good({"sow": [*words, *(["010"] if words[-1] == "cancel" else [])]})], "020")
    site.sow("agent", "spawn", "orchestrator", "010")
    refused = [run_of(site, task).tools[0] for task in ("010", "020")]
    assert [tool.exit for tool in refused] == [4, 4]
    assert all(
        "job 1 of task 010 is your own job, or one that started it" in t.output for t in refused
    )
    assert statuses(site, ("010", "020")) == ["needs_review"] * 2
    assert not any(job.cancel_requested_at for job in all_jobs(site))
