"""Who may judge a task's work: never its author, by whatever name, and nobody while it works."""

from pathlib import Path

import pytest
from calls.desk import Desk
from clones.clone_site import name_author, plain
from reports.job_cases import NOW

from sow.calls.approving import approver
from sow.calls.caller import Caller
from sow.calls.judging import judgement_of
from sow.calls.live_jobs import TaskIsRunning
from sow.errors import StateError
from sow.ids import TaskId
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import REVIEW_OF, TaskStatus
from sow.state.tasks import add_task
from sow.state.verdicts import Judgement

TASK = TaskId("010")


def judged(caller: Caller, task: TaskId = TASK, *, at_terminal: bool = True) -> Judgement:
    return judgement_of(caller, task, "Good.", at_terminal=at_terminal)


@pytest.fixture
def work(desk: Desk) -> Desk:
    """A task that waits for a review, in a repository."""
    root = desk.workspace.root
    plain(root, "init", "-q", "-b", "main")
    name_author(root)
    plain(root, "commit", "-q", "--allow-empty", "-m", "First")
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    desk.task("020")
    return desk


def test_an_author_is_known_by_its_job_whatever_task_its_variables_name(work: Desk) -> None:
    job = work.insert(task_id=TASK, state=JobState.DONE, ended_at=NOW)
    for named in ("010", "020", "", "999"):
        caller = work.as_agent_of(job, SOW_TASK_ID=named, SOW_AGENT="orchestrator")
        with pytest.raises(StateError, match="wrote this work, so it cannot"):
            judged(caller)


def test_who_reviews_the_whole_is_shown_the_verdict_on_the_whole(work: Desk) -> None:
    task = add_task(
        work.workspace,
        name="Review of the whole",
        agent="reviewer",
        now=NOW,
        phase=WHOLE_PHASE,
        new_phase=True,
        metadata={REVIEW_OF: "1 reviewer 1234567"},
    )
    review = TaskId(task.id)
    job = work.insert(task_id=review, state=JobState.RUNNING)
    caller = work.as_agent_of(job, SOW_TASK_ID=review, SOW_AGENT="reviewer")
    with pytest.raises(StateError) as refused:
        judged(caller, review)
    assert "sow review accept --project" in refused.value.hint
    assert "needs_review" not in refused.value.hint


def test_nobody_judges_while_the_author_works(work: Desk) -> None:
    work.insert(task_id=TASK, state=JobState.RUNNING)
    with pytest.raises(TaskIsRunning, match="has a job that has not ended"):
        judged(work.caller)


def test_the_agent_of_another_task_judges_when_the_author_has_ended(work: Desk) -> None:
    work.insert(task_id=TASK, state=JobState.DONE, ended_at=NOW)
    other = work.insert(task_id=TaskId("020"), state=JobState.RUNNING)
    caller = work.as_agent_of(other, SOW_TASK_ID="020", SOW_AGENT="orchestrator")
    assert judged(caller).by == "orchestrator"


def test_a_review_that_lives_keeps_nobody_from_judging(work: Desk) -> None:
    head = plain(work.workspace.root, "rev-parse", "HEAD")
    terms = ReviewTerms(commit=head)
    job = work.insert(task_id=TASK, verb=Verb.REVIEW, state=JobState.RUNNING, terms=terms)
    reviewer = work.as_agent_of(job, SOW_TASK_ID="010", SOW_AGENT="reviewer")
    for caller in (reviewer, work.caller):
        assert judged(caller).commit == head


def test_a_call_without_a_terminal_counts_as_an_orchestrators_as_an_approval_does(
    work: Desk,
) -> None:
    work.configure({"approve": "agents"})
    session = Caller(work.workspace, {**work.caller.environ, "SOW_AGENT": "orchestrator"}, Path())
    for caller, at_terminal, by in (
        (work.caller, True, "person"),
        (work.caller, False, "orchestrator"),
        (session, True, "orchestrator"),
        (session, False, "orchestrator"),
    ):
        assert judged(caller, at_terminal=at_terminal).by == by
        assert approver(caller, work.config, at_terminal=at_terminal).agent == by
