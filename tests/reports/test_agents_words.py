"""What is printed below the outcome of an agent that asks, or that gave up."""

from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import EXECUTORS, NOW, ended_job, make_attempt

from sow.clock import format_time
from sow.ids import ProjectId, TaskId
from sow.paths import Workspace
from sow.reports.agents_words import agents_words, words_below, words_without_job
from sow.reports.views import outcome_of
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState
from sow.schema.task import TaskStatus
from sow.state.log_writing import LogEntry
from sow.state.places import find_task
from sow.state.projects import new_project
from sow.state.task_log import RESUMED, STARTED_OVER, append_entry
from sow.state.tasks import add_task, change_task, read_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    init_workspace(tmp_path)
    new_project(workspace, name="x", project_id=PROJECT, now=NOW)
    add_task(workspace, name="A", agent="implementer", now=NOW, task_id="010")
    return workspace


def log(workspace: Workspace, action: str, *, at: float, **fields: str) -> None:
    entry = LogEntry(timestamp=format_time(at), agent="implementer", action=action)
    append_entry(find_task(workspace, "010").folder, entry._replace(**fields))  # type: ignore[arg-type]


def job(
    status: TaskStatus = TaskStatus.PAUSED, state: JobState = JobState.DONE, **fields: Any
) -> Job:
    return ended_job(state, status, Cause.REPORTED, started_at=NOW, task_id=TaskId("010"), **fields)


def below(workspace: Workspace, job: Job, **options: bool) -> list[str]:
    """Return what a call prints below the outcome of a job."""
    outcome = outcome_of(job, (), agent_says=agents_words(workspace, job))
    return words_below(outcome, **options)


def test_its_question_with_all_that_belongs_to_it(workspace: Workspace) -> None:
    log(workspace, "Read the code", at=NOW + 1)
    log(workspace, "Which one?", at=NOW + 2, text="RS256 or\nHS256")
    log(workspace, "The task was handed on", at=NOW + 3, agent="sow")
    assert below(workspace, job()) == [
        "  It asks: Which one?",
        "    RS256 or",
        "    HS256",
        '  Answer: `sow agent answer 010 "…"`',
    ]


def test_the_reason_of_one_that_gave_up(workspace: Workspace) -> None:
    log(workspace, "No such table", at=NOW + 1)
    assert below(workspace, job(TaskStatus.FAILED)) == [
        "  It says: No such table",
        '  Go on: `sow agent resume 010 "…"`',
    ]


def test_a_question_of_an_earlier_job_is_none_of_this_one(workspace: Workspace) -> None:
    log(workspace, "Which one?", at=NOW - 60)
    assert below(workspace, job()) == [
        "  It has logged no question. Its last words: `sow task output 010`",
        '  Answer: `sow agent answer 010 "…"`',
    ]


def test_the_answer_to_its_last_question_is_no_question(workspace: Workspace) -> None:
    """An agent may ask twice, and within a second of the answer."""
    log(workspace, "Which one?", at=NOW - 60)
    log(workspace, RESUMED, at=NOW, agent="orchestrator", text="RS256")
    assert agents_words(workspace, job()) is None
    log(workspace, "And which key?", at=NOW)
    assert agents_words(workspace, job()) == "And which key?"


def test_the_words_of_a_new_beginning_are_no_question(workspace: Workspace) -> None:
    log(workspace, f"{STARTED_OVER} 123", at=NOW, agent="implementer", text="RS256")
    assert agents_words(workspace, job()) is None


def test_what_others_log_meanwhile_is_not_the_agents(workspace: Workspace) -> None:
    log(workspace, "Which one?", at=NOW + 1)
    log(workspace, "I look at it tomorrow", at=NOW + 2, agent="orchestrator")
    assert agents_words(workspace, job()) == "Which one?"


def test_an_agent_that_logs_under_another_name_is_heard(workspace: Workspace) -> None:
    log(workspace, "Which one?", at=NOW + 1, agent="anna")
    assert agents_words(workspace, job()) == "Which one?"


def test_among_others_each_line_names_its_task(workspace: Workspace) -> None:
    assert below(workspace, job(), among_others=True) == [
        "  010 has logged no question. Its last words: `sow task output 010`",
        '  Answer: `sow agent answer 010 "…"`',
    ]
    log(workspace, "Which one?", at=NOW + 1)
    assert below(workspace, job(), among_others=True)[0] == "  010 asks: Which one?"
    assert (
        below(workspace, job(TaskStatus.FAILED), among_others=True)[0] == "  010 says: Which one?"
    )
    made = ended_job(JobState.FAILED, TaskStatus.FAILED, Cause.AUTH, task_id=TaskId("010"))
    (line,) = below(workspace, made, among_others=True)
    assert line.startswith("  Next for 010: Log in")


@pytest.mark.parametrize("status", [TaskStatus.PAUSED, TaskStatus.FAILED])
def test_an_agent_without_a_session_is_answered_by_another_spawn(
    workspace: Workspace, status: TaskStatus
) -> None:
    kept = EXECUTORS["windsurf"].config
    last = below(workspace, job(status, executor=kept))[-1]
    assert last.endswith('`sow agent spawn implementer 010 --prompt "…"`')


@pytest.mark.parametrize("status", [TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED])
def test_other_outcomes_have_nothing_to_ask(workspace: Workspace, status: TaskStatus) -> None:
    log(workspace, "Done", at=NOW + 1)
    assert below(workspace, job(status)) == []
    assert below(workspace, job(state=JobState.CANCELLED)) == []


def test_a_task_that_is_gone_hides_no_outcome(tmp_path: Path) -> None:
    line, _ = below(Workspace(tmp_path), job(TaskStatus.FAILED))
    assert "has logged no reason" in line


def test_what_it_logs_steers_no_terminal(workspace: Workspace) -> None:
    log(workspace, "Which \x1b[2J one?", at=NOW + 1, text="\x1b]0;x\x07\nb")
    assert "\x1b" not in "".join(below(workspace, job()))


def test_a_failed_job_is_followed_by_the_next_step(workspace: Workspace) -> None:
    made = ended_job(JobState.FAILED, TaskStatus.FAILED, Cause.AUTH, reason="Not logged in")
    (line,) = words_below(outcome_of(made, [make_attempt(session_id="s")]))
    assert line.startswith("  Next: Log in to the CLI of claude-code")
    assert "`sow worker stop`" in line
    assert line.endswith('`sow agent resume 010 "Go on."`.')


def test_a_reason_that_names_the_next_step_is_not_followed_by_it(workspace: Workspace) -> None:
    reason = "it is lost. Choose:\n  - `sow agent spawn implementer 010 --fresh` to start over"
    made = ended_job(JobState.FAILED, TaskStatus.FAILED, Cause.SESSION_UNKNOWN, reason=reason)
    assert words_below(outcome_of(made, ())) == []


def test_a_question_outlives_the_queues_file(workspace: Workspace) -> None:
    """Of the last run alone: what its agent has logged before it was begun anew is no question."""
    assert words_without_job(workspace, read_task(workspace, "010")) is None
    begun(workspace, at=NOW)
    log(workspace, "An old question", at=NOW + 1)
    begun(workspace, at=NOW + 2)
    change_task(workspace, "010", lambda _: {"status": TaskStatus.PAUSED}, now=NOW + 3)
    paused = read_task(workspace, "010")
    assert words_without_job(workspace, paused) is None
    log(workspace, "Which one?", at=NOW + 4, text="RS256 or\nHS256")
    log(workspace, "It may be either", at=NOW + 5, agent="reviewer")
    log(workspace, "Status: in_progress to paused", at=NOW + 6, event="status")
    assert words_without_job(workspace, paused) == "Which one?\nRS256 or\nHS256"


def begun(workspace: Workspace, at: float) -> None:
    log(workspace, "Status: pending to in_progress, iteration 2", at=at, event="status")
