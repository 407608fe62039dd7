"""Exit codes and words of an outcome, against the contract's table."""

import itertools

import pytest
from reports.job_cases import NOW, ended_job, make_attempt, make_job

from sow.clock import clock_time
from sow.errors import ExitCode
from sow.reports.outcome import combined_exit_code, exit_code_of, line_of
from sow.reports.views import outcome_of
from sow.schema.job import Cause, JobState, Verb
from sow.schema.task import TaskStatus

LEFT_WELL = {TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.COMPLETED}
LIVE = [state for state in JobState if not state.is_final]


@pytest.mark.parametrize("status", TaskStatus)
def test_a_done_job_exits_by_the_status_it_left(status: TaskStatus) -> None:
    """0: the agent exited and left needs_review, paused or completed. 1: it left failed."""
    expected = ExitCode.OK if status in LEFT_WELL else ExitCode.FAILED
    assert exit_code_of(ended_job(JobState.DONE, status, Cause.REPORTED)) is expected


@pytest.mark.parametrize("cause", Cause)
def test_a_failed_job_exits_1_save_for_the_causes_with_a_code_of_their_own(cause: Cause) -> None:
    """3: configuration. 4: cannot be merged so. 5: not installed, session lost. 6: .sow/run."""
    own = {
        Cause.MERGE_CONFLICT: ExitCode.STATE,
        Cause.MERGE_REFUSED: ExitCode.STATE,
        Cause.FOLDER_UNUSABLE: ExitCode.QUEUE,
        Cause.SANDBOX_FAILED: ExitCode.EXECUTOR,
        Cause.CONFIGURATION: ExitCode.CONFIGURATION,
        Cause.MISSING_BINARY: ExitCode.EXECUTOR,
        Cause.SESSION_UNKNOWN: ExitCode.EXECUTOR,
        Cause.SESSION_LOST: ExitCode.EXECUTOR,
    }
    expected = own.get(cause, ExitCode.FAILED)
    assert exit_code_of(ended_job(JobState.FAILED, TaskStatus.FAILED, cause)) is expected


@pytest.mark.parametrize("status", TaskStatus)
def test_a_cancelled_job_exits_7(status: TaskStatus) -> None:
    job = ended_job(JobState.CANCELLED, status, Cause.CANCELLED)
    assert exit_code_of(job) is ExitCode.CANCELLED


@pytest.mark.parametrize("state", LIVE)
def test_a_live_job_exits_75(state: JobState) -> None:
    assert exit_code_of(make_job(state=state)) is ExitCode.STILL_RUNNING


def test_several_outcomes_exit_by_the_worst() -> None:
    """75 if any runs, else 1 if any failed, else 7 if any cancelled, else 0."""
    for codes in itertools.product((0, 1, 5, 7, 75), repeat=3):
        expected = 0
        if 75 in codes:
            expected = 75
        elif 1 in codes or 5 in codes:
            expected = 1
        elif 7 in codes:
            expected = 7
        assert combined_exit_code(codes) == expected, codes


@pytest.mark.parametrize(
    ("codes", "refusals", "expected"),
    [
        ((0,), (4,), 4),
        ((), (4, 4), 4),
        ((), (4, 5), 1),
        ((0, 7), (5,), 5),
        ((1,), (4,), 1),
        ((5,), (4,), 5),
        ((75,), (4,), 75),
    ],
)
def test_a_refused_task_gives_its_code_where_nothing_runs_or_has_failed(
    codes: tuple[int, ...], refusals: tuple[int, ...], expected: int
) -> None:
    assert combined_exit_code(codes, refusals) == expected


@pytest.mark.parametrize("code", [0, 1, 5, 7, 75])
def test_one_outcome_exits_by_its_own_code(code: int) -> None:
    assert combined_exit_code([code]) == code


@pytest.mark.parametrize("state", LIVE)
def test_a_live_job_names_the_command_that_goes_on_waiting(state: JobState) -> None:
    outcome = outcome_of(make_job(state=state), ())
    assert outcome.continue_with == "sow agent wait 010"
    assert (outcome.status, outcome.seconds, outcome.ended_at) == ("in_progress", None, None)
    assert f"still {state}" in line_of(outcome, now=NOW)


def test_a_final_job_has_nothing_to_wait_for() -> None:
    job = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED, started_at=NOW + 0.5)
    outcome = outcome_of(job, [make_attempt(session_id="s1"), make_attempt(2, session_id="s2")])
    assert outcome.continue_with is None
    assert (outcome.attempt_count, outcome.session_id) == (2, "s2")
    assert (outcome.seconds, outcome.run_seconds) == (2.0, 1.5)
    assert line_of(outcome, now=NOW) == (
        "010 needs_review (spawn implementer by claude-code, job 1, 2 attempts, 1.5s)"
    )


def test_a_job_that_never_started_took_no_time() -> None:
    job = ended_job(JobState.CANCELLED, TaskStatus.PENDING, Cause.CANCELLED)
    outcome = outcome_of(job, ())
    assert (outcome.seconds, outcome.run_seconds) == (2.0, None)
    assert line_of(outcome, now=NOW).endswith("job 1)")


def test_an_owed_outcome_names_its_job_and_its_end() -> None:
    job = ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED, started_at=NOW)
    outcome = outcome_of(job, [make_attempt()], owed=True)
    assert line_of(outcome, now=NOW).startswith(
        f"outcome of job 1, which ended at {clock_time(NOW + 2, NOW)} (just now): 010 paused"
    )


def test_a_failure_says_its_reasons_first_line() -> None:
    job = ended_job(
        JobState.FAILED, TaskStatus.FAILED, Cause.CRASHED, reason="exit code 3\nTraceback: …"
    )
    assert line_of(outcome_of(job, [make_attempt()]), now=NOW).endswith("): exit code 3")


def test_a_review_that_failed_says_nothing_of_its_task() -> None:
    job = ended_job(JobState.FAILED, None, Cause.NO_VERDICT, reason="no verdict", verb=Verb.REVIEW)
    line = line_of(outcome_of(job, [make_attempt()]), now=NOW)
    assert line.startswith("010 not reviewed (review ")
    assert line.endswith(": no verdict")


def test_a_cancelled_job_says_what_it_left() -> None:
    job = ended_job(JobState.CANCELLED, TaskStatus.PENDING, Cause.CANCELLED)
    assert line_of(outcome_of(job, ()), now=NOW).startswith("010 cancelled, left pending (")


def test_denied_tools_of_a_done_job_are_a_warning() -> None:
    """Denied tools with a status reported: done, with a warning and `denied_tools` in the JSON."""
    denied = ("Bash", "WebFetch")
    done = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED, denied_tools=denied)
    outcome = outcome_of(done, [make_attempt()])
    assert outcome.denied_tools == denied
    (warning,) = outcome.warnings
    assert "Bash, WebFetch" in warning
    assert "agents.executors.claude-code.settings.allowed_tools" in warning


@pytest.mark.parametrize(
    ("cause", "tool_uses", "count"),
    [
        (Cause.NO_STATUS, 0, 1),
        (Cause.NO_STATUS, 1, 0),
        (Cause.NO_STATUS, None, 0),
        (Cause.REPORTED, 0, 0),
        (Cause.CRASHED, 0, 0),
    ],
)
def test_an_empty_run_is_a_warning_however_the_job_ended(
    cause: Cause, tool_uses: int | None, count: int
) -> None:
    """Issue 3: "ends "successfully" with no tool call and no status, is reported as such"."""
    done = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED)
    attempts = [make_attempt(1, cause, tool_uses=tool_uses), make_attempt(2, Cause.REPORTED)]
    warnings = outcome_of(done, attempts).warnings
    assert len(warnings) == count
    assert all("attempt 1" in each and "without a single tool call" in each for each in warnings)


def test_a_session_that_was_closed_has_reported_nothing() -> None:
    """Its task stands as it stood before: that is no outcome of this session."""
    closed = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.CLOSED)
    assert line_of(outcome_of(closed, ()), now=NOW).startswith("010 closed, left needs_review (")
