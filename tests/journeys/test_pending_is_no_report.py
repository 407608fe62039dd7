"""A task that is found `pending` at its agent's end was put back, and has reported nothing."""

import pytest
from journeys.callers import Step, await_runs, await_state, gate, good, ledger, open_gate, report
from journeys.site import Site, wait_until
from standins import read_runs

from sow.schema.job import JobState

SPAWN = ("agent", "spawn", "implementer", "010")
PUTS_BACK: Step = {
    "shell": "cp {task}.before {task}.back;"
    " mv {task}.back .sow/project/phases/implementation/tasks/{task}/state.yaml"
}
"""What `git checkout -- .` does to the state of a task that was committed before it began, but in
one step: the test reads the file meanwhile."""


@pytest.fixture
def committed(site: Site) -> Site:
    """A project whose task was committed as it was added."""
    site.project("010")
    executor = {"settings": {"allowed_tools": ["Bash"]}, "retries": 1}
    site.configure({"agents": {"executors": {"claude-code": executor}}})
    before = (site.task_folder("010") / "state.yaml").read_bytes()
    (site.root / "010.before").write_bytes(before)
    return site


def test_an_agent_that_put_its_task_back_is_asked_for_its_status(committed: Site) -> None:
    committed.script([[PUTS_BACK], good()])
    committed.sow(*SPAWN)
    first, second = read_runs(committed.root)
    assert ledger(committed) == [("spawn", "no_status"), ("resume", "reported")]
    assert second.session_id == first.session_id == committed.task("010")["session_id"]
    assert committed.task("010")["status"] == "needs_review"
    assert committed.task("010")["session"]["started"] is True


def test_one_that_crashed_is_resumed_in_its_session(committed: Site) -> None:
    committed.script([[PUTS_BACK, {"crash": 3}], good()])
    committed.sow(*SPAWN)
    first, second = read_runs(committed.root)
    assert ledger(committed) == [("spawn", "crashed"), ("resume", "reported")]
    assert second.session_id == first.session_id


def test_one_that_never_reports_leaves_its_task_failed(committed: Site) -> None:
    committed.script([[PUTS_BACK]])
    record = committed.sow(*SPAWN, "--json", expect=1).json
    assert (record["state"], record["status"], record["cause"]) == ("failed", "failed", "no_status")
    assert committed.task("010")["status"] == "failed"
    assert committed.task("010")["session_id"] == record["session_id"]


def test_one_that_is_cancelled_leaves_its_task_paused(committed: Site) -> None:
    """The worker may have undone what the agent did before anybody sees the task so."""
    committed.script([[PUTS_BACK, {"shell": "touch put-back"}, gate("never")]])
    committed.sow(*SPAWN, "--detach")
    wait_until((committed.root / "put-back").exists, "the task is put back")
    committed.sow("agent", "cancel", "010")
    job = await_state(committed, "010", JobState.CANCELLED)
    assert (job.outcome_status, committed.task("010")["status"]) == ("paused", "paused")
    assert committed.task("010")["session_id"]


def test_one_that_goes_on_after_it_may_report_again(committed: Site) -> None:
    """Its status is refused while the task is pending; the next run's is not."""
    committed.script([[gate("go"), PUTS_BACK, *good()], good()])
    committed.sow(*SPAWN, "--detach")
    await_runs(committed)
    open_gate(committed, "go")
    job = await_state(committed, "010", JobState.DONE)
    assert job.outcome_status == committed.task("010")["status"] == "needs_review"


@pytest.mark.parametrize("type_", ["claude", "cursor"])
def test_a_task_that_was_put_back_while_its_job_was_queued(committed: Site, type_: str) -> None:
    """It has no session any more: the worker makes one, and the agent's report is taken."""
    agents = {"executors": {"mine": {"type": type_, "settings": {"yolo_mode": True}}}}
    bound = {**agents, "bindings": {"implementer": "mine"}}
    committed.configure({"agents": bound, "worker": {"autostart": False}})
    committed.sow(*SPAWN, "--detach")
    state = committed.task_folder("010") / "state.yaml"
    state.write_bytes((committed.root / "010.before").read_bytes())
    committed.sow("worker", "--drain")
    assert ledger(committed) == [("spawn", "reported")]
    (run,) = read_runs(committed.root)
    assert committed.task("010")["status"] == "needs_review"
    assert committed.task("010")["session_id"] == run.session_id


def test_a_task_is_not_reopened_before_its_job_has_ended(site: Site) -> None:
    """Pending by a person's word, it would be taken for one that was put back."""
    site.project("010")
    site.script([[report("completed"), gate("go")]])
    site.sow(*SPAWN, "--detach")
    wait_until(lambda: site.task("010")["status"] == "completed", "the agent has ended the task")
    refused = site.sow("task", "reopen", "010", expect=4)
    assert "has a job that has not ended: job 1" in refused.err
    assert "--cancel-job" not in refused.err
    open_gate(site, "go")
    job = await_state(site, "010", JobState.DONE)
    assert job.outcome_status == "completed"
    site.sow("task", "reopen", "010")
    assert site.task("010")["status"] == "pending"
