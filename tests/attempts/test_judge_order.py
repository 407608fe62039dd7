"""Why an attempt ended: what is asked first, and what only then (§8)."""

import itertools
from typing import Any

import pytest
from attempts.job_values import NOW, make_job, make_task

from sow.attempts.judge import Evidence, judge, report_of
from sow.errors import StateError
from sow.executors.base import Ending, Observation, Verdict
from sow.ids import JobId
from sow.schema.executor import ExecutorConfig, Limits
from sow.schema.executor_type import ExecutorType, SandboxUse
from sow.schema.job import Cause, Job, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import TaskStatus
from sow.state.transitions import NO_REPORTS
from sow.state.verdicts import given_by


class Classifier:
    """An executor that calls every ending a crash."""

    def classify(self, ending: Ending, seen: Observation) -> Verdict:
        return Verdict(Cause.CRASHED, "crashed")


CRASH = Ending(code=1, signal=None, stderr_tail="", output_tail="")
CLEAN = Ending(code=0, signal=None, stderr_tail="", output_tail="")

FACTS: dict[str, dict[str, Any]] = {
    "cancelled": {"job": make_job(cancel_requested_at=NOW)},
    "reported": {"task": make_task(status=TaskStatus.NEEDS_REVIEW)},
    "state_unreadable": {"task": StateError("line 3: no")},
    "worker_stopped": {"ended_for": Verdict(Cause.WORKER_STOPPED, "stopped")},
    "worker_died": {"ending": None},
}
"""What each fact alone changes in the evidence of a plain crash."""

ORDER = ["cancelled", "reported", "state_unreadable", "worker_stopped", "worker_died", "crashed"]


def verdict(*facts: str) -> Verdict:
    evidence: dict[str, Any] = {
        "job": make_job(),
        "task": make_task(),
        "ending": CRASH,
        "seen": Observation(),
    }
    for fact in facts:
        evidence |= FACTS[fact]
    return judge(Evidence(**evidence), Classifier())  # type: ignore[arg-type] # the one method used


@pytest.mark.parametrize("fact", list(FACTS))
def test_each_fact_alone_is_the_cause(fact: str) -> None:
    assert verdict(fact).cause == fact


def test_without_any_of_them_the_executor_is_asked() -> None:
    assert verdict().cause is Cause.CRASHED


PAIRS = [
    pair
    for pair in itertools.combinations(FACTS, 2)
    if set(pair) != {"reported", "state_unreadable"}  # a state tells either the one or the other
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_earlier_of_two_facts_decides(first: str, second: str) -> None:
    """§8: "Tested in this order: cancelled; reported (…); state unreadable; …"."""
    expected = min((first, second), key=ORDER.index)
    assert verdict(second, first).cause == expected
    assert verdict(first, second).cause == expected


@pytest.mark.parametrize("status", [status for status in TaskStatus if status not in NO_REPORTS])
@pytest.mark.parametrize("ending", [CRASH, CLEAN, None])
def test_any_status_that_an_agent_sets_is_a_report_whatever_the_exit(
    status: TaskStatus, ending: Ending | None
) -> None:
    """§8: "reported (status no longer in_progress, whatever the exit code)"."""
    evidence = Evidence(make_job(), make_task(status=status), ending, Observation())
    verdict = judge(evidence, Classifier())  # type: ignore[arg-type]
    assert verdict.cause is Cause.REPORTED
    assert status.value in verdict.reason


@pytest.mark.parametrize("status", [TaskStatus.PENDING, TaskStatus.IN_PROGRESS])
def test_what_no_agent_sets_is_no_report(status: TaskStatus) -> None:
    """No transition leads to `pending` while an agent runs: somebody's git has put it back."""
    evidence = Evidence(make_job(), make_task(status=status), CRASH, Observation())
    assert judge(evidence, Classifier()).cause is Cause.CRASHED  # type: ignore[arg-type]


def test_the_reason_of_an_unreadable_state_is_the_reader_s_own() -> None:
    assert verdict("state_unreadable").reason == "line 3: no"


def test_a_verdict_of_another_queues_job_of_that_number_is_no_report() -> None:
    """State files travel, and each checkout's queue counts from one."""
    at = "2026-01-31T12:00:00Z"
    verdict = {"verdict": "accepted", "by": "reviewer", "at": at, "job": 7, "commit": "a" * 40}
    task = make_task(status=TaskStatus.NEEDS_REVIEW, review=verdict)
    own = make_job(id=JobId(7), verb=Verb.REVIEW, terms=ReviewTerms(commit="a" * 40))
    other = make_job(id=JobId(7), verb=Verb.REVIEW, terms=ReviewTerms(commit="b" * 40))
    assert report_of(own, task) == "its verdict is accepted"
    assert report_of(other, task) is None
    assert given_by(task, make_job(id=JobId(7))) is None, "an author gives none"


FENCED = make_job(
    executor=ExecutorConfig(name="x", type=ExecutorType.COMMAND, sandbox=SandboxUse.BWRAP)
)
BWRAPS = "bwrap: Can't find source path /clone: No such file or directory"
DOORS = "the proxy of network: allow cannot be reached: [Errno 32] Broken pipe"


def sandboxed(ending: Ending, seen: Observation | None = None, job: Job = FENCED) -> Verdict:
    evidence = Evidence(job=job, task=make_task(), ending=ending, seen=seen or Observation())
    return judge(evidence, Classifier())  # type: ignore[arg-type] # as above


@pytest.mark.parametrize("words", [BWRAPS, DOORS])
def test_a_sandbox_that_could_not_be_made_is_no_fault_of_the_agents(words: str) -> None:
    """What made the clone before it may have left words of its own."""
    ending = Ending(code=1, signal=None, stderr_tail=f"Note: x\n{words}\n", output_tail="")
    assert sandboxed(ending) == Verdict(Cause.SANDBOX_FAILED, words)


@pytest.mark.parametrize(
    ("ending", "seen", "job"),
    [
        (Ending(2, None, BWRAPS, ""), Observation(), FENCED),
        (Ending(None, 9, BWRAPS, ""), Observation(), FENCED),
        (Ending(1, None, f"{BWRAPS}\nTraceback", ""), Observation(), FENCED),
        (Ending(1, None, BWRAPS, "It spoke.\n"), Observation(), FENCED),
        (Ending(1, None, BWRAPS, ""), Observation(tool_uses=1), FENCED),
        (Ending(1, None, BWRAPS, ""), Observation(), make_job()),
    ],
    ids=["code", "signal", "more words", "output", "tools", "no sandbox"],
)
def test_an_agent_that_has_run_is_judged_by_its_own_ending(
    ending: Ending, seen: Observation, job: Job
) -> None:
    assert sandboxed(ending, seen, job).cause is Cause.CRASHED


LIMITED = make_job(
    executor=ExecutorConfig(
        name="x",
        type=ExecutorType.COMMAND,
        sandbox=SandboxUse.BWRAP,
        limits=Limits(memory_bytes=4 << 30, cpu_seconds=7200.0, processes=500, disk_bytes=10**10),
    )
)
REACHED = {
    "memory": (Cause.MEMORY_LIMIT, 4_500_000_000, "used more than 4GiB of memory: 4.5 GB"),
    "cpu": (Cause.CPU_LIMIT, 7200.4, "used more than 2h of CPU time: 7200.4 s"),
    "processes": (Cause.PROCESS_LIMIT, 0, "started more than 500 processes and threads"),
    "disk": (Cause.DISK_LIMIT, 10**10 + 1, "put more than 10GB on the disk: 10.0 GB"),
}


@pytest.mark.parametrize("limit", list(REACHED))
def test_an_attempt_that_a_limit_has_ended_says_which_setting_it_was(limit: str) -> None:
    """Whatever its program has left: it was killed."""
    cause, seen, words = REACHED[limit]
    ending = Ending(1, None, BWRAPS, "", limit=limit, limit_seen=seen)
    found = sandboxed(ending, job=LIMITED)
    assert found == Verdict(cause, f"{words} (agents.executors.x.limits.{limit})")


def test_a_limit_that_nobody_has_set_ended_nothing() -> None:
    """An agent may write the record of its end itself."""
    ending = Ending(1, None, "", "", limit="memory", limit_seen=1.0)
    assert sandboxed(ending, job=FENCED).cause is Cause.CRASHED
    assert sandboxed(Ending(1, None, "", "", limit="x"), job=LIMITED).cause is Cause.CRASHED


def test_a_report_counts_more_than_a_limit() -> None:
    ending = Ending(None, 9, "", "", limit="memory")
    task = make_task(status=TaskStatus.NEEDS_REVIEW)
    evidence = Evidence(LIMITED, task, ending, Observation())
    assert judge(evidence, Classifier()).cause is Cause.REPORTED  # type: ignore[arg-type]
