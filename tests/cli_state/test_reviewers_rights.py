"""What an agent that reviews a task may do with `sow`, whatever its role."""

import pytest

from sow.agents.rights import calling_agent

pytestmark = pytest.mark.slow  # process after process

ALLOWED = [
    ("agent", "log", "Looked at it"),
    ("task", "show", "020"),
    ("review", "show", "010"),
]
REFUSED = [
    (("task", "set", "010", "status", "completed"), "the task stays as it is"),
    (("task", "set", "status", "paused"), "the task stays as it is"),
    (("task", "set", "010", "name", "Mine"), "the task stays as it is"),
    (("task", "abandon"), "the task stays as it is"),
    (("agent", "task", "state", "set-status", "failed"), "the task stays as it is"),
    (("review", "accept", "--summary", "Good.", "--complete"), "the task stays as it is"),
    (("review", "accept", "020", "--summary", "Good."), "names task 020"),
    (("agent", "log", "Did it", "--task", "020"), "names task 020"),
    (("agent", "spawn", "020"), "is not for the agent of task 010"),
    (("agent", "review", "010"), "is not for the agent of task 010"),
    (("merge", "010"), "is not for the agent of task 010"),
]


@pytest.fixture(params=["reviewer", "implementer", "orchestrator"])
def reviewing(request, begun, as_agent, monkeypatch):
    """The commands, as the agent of a review calls them."""
    begun("task", "set", "010", "status", "in_progress")
    begun("task", "set", "010", "status", "needs_review")
    as_agent("010", role=request.param)
    monkeypatch.setenv("SOW_REVIEW", "1")
    return begun


@pytest.mark.parametrize("words", ALLOWED, ids=" ".join)
def test_it_looks_and_logs(reviewing, words):
    assert reviewing(*words).code == 0


@pytest.mark.parametrize(("words", "part"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_it_changes_nothing_and_gives_nothing_out(reviewing, words, part):
    done = reviewing(*words)
    assert (done.code, part in done.err) == (4, True), done.err
    assert reviewing("task", "show", "010", "--json").json["status"] == "needs_review"


def test_it_may_judge_whatever_its_role(reviewing):
    """Without a record of its job it is taken for the author: the right itself is not refused."""
    done = reviewing("review", "accept", "--summary", "Good.")
    assert "cannot judge it" in done.err


def test_a_reviewer_is_told_by_its_environment():
    environ = {"SOW_JOB_ID": "1", "SOW_ROOT": "/r", "SOW_TASK_ID": "010", "SOW_AGENT": "tester"}
    assert calling_agent(environ | {"SOW_REVIEW": "1"}).reviews
    assert not calling_agent(environ).reviews
