"""What is told of a job in words: no state and no cause is left out."""

import msgspec
import pytest
from reports.job_cases import EXECUTORS, NOW, ended_job, make_attempt, make_job

from sow.clock import Times, format_time
from sow.ids import BatchId
from sow.reports.activity import Activity
from sow.reports.advice import advice
from sow.reports.explain import explain
from sow.reports.prospects import Surroundings
from sow.reports.task_now import TaskNow
from sow.schema.cause_table import CAUSES
from sow.schema.causes import WITHOUT_CALL, Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import TaskStatus

BUSY = Surroundings(workers=1, capacity=4, running=1, running_alike=1)
LATER = NOW + 60
UTC = Times(LATER, in_utc=True)
PAUSED = 1_769_860_800.0
FAILING = [cause for cause in Cause if cause not in (Cause.REPORTED, Cause.CANCELLED)]
SESSION = "3f0c0b5e-1111-4222-8333-444455556667"


def story(job: Job, *attempts: object, around: Surroundings = BUSY) -> str:
    return "\n".join(explain(job, attempts, around, UTC))  # type: ignore[arg-type]


def failed(cause: Cause, **fields: object) -> Job:
    return ended_job(JobState.FAILED, TaskStatus.FAILED, cause, **fields)


def queued(**fields: object) -> Job:
    executor = msgspec.structs.replace(EXECUTORS["claude-code"].config, max_parallel=2)
    return make_job(state=JobState.QUEUED, executor=executor, **fields)


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_its_words(cause: Cause) -> None:
    printed = story(make_job(), make_attempt(cause=cause, reason="its own words", ended_at=NOW + 2))
    assert CAUSES[cause].words in printed
    assert ("    its own words" in printed) is (cause is not Cause.REPORTED)


@pytest.mark.parametrize("cause", FAILING)
def test_a_failure_says_who_is_to_blame(cause: Cause) -> None:
    assert f"Responsible: {CAUSES[cause].blame}." in story(failed(cause))


@pytest.mark.parametrize("cause", FAILING)
def test_every_failure_names_a_command_that_goes_on(cause: Cause) -> None:
    attempts = [make_attempt(cause=cause, session_id=SESSION)]
    printed = advice(failed(cause), attempts)
    assert "{" not in printed
    if cause in (Cause.SESSION_UNKNOWN, Cause.SESSION_LOST):
        assert "`sow agent spawn implementer 010 --fresh`" in printed
    elif cause is Cause.NO_VERDICT:  # of an author, whose task is the review of the whole
        assert "`sow agent review --project`" in printed
    else:
        assert '`sow agent resume 010 "Go on."`' in printed


def test_every_cure_fits_its_cause() -> None:
    assert "settings.model" in advice(failed(Cause.BAD_MODEL), ())
    assert "agents.executors.claude-code.timeout" in advice(failed(Cause.TIMED_OUT), ())


@pytest.mark.parametrize("executor", ["windsurf", "script"])
def test_what_cannot_be_resumed_is_spawned_again(executor: str) -> None:
    job = failed(Cause.CRASHED, executor=EXECUTORS[executor].config)
    assert "`sow agent spawn implementer 010`" in advice(job, [make_attempt()])


def test_without_any_session_there_is_nothing_to_resume() -> None:
    assert "`sow agent spawn implementer 010`" in advice(failed(Cause.MISSING_BINARY), ())
    resumed = failed(Cause.MISSING_BINARY, verb=Verb.RESUME)
    assert "`sow agent resume 010" in advice(resumed, ())


@pytest.mark.parametrize("state", JobState)
def test_every_state_is_told(state: JobState) -> None:
    job = make_job(state=state, cause=Cause.CRASHED, outcome_status=TaskStatus.PAUSED)
    printed = story(msgspec.structs.replace(job, retry_at=LATER + 60), make_attempt())
    assert any(word in printed for word in ("Next: ", "It is done", "It was cancelled", "for good"))


def test_a_job_whose_program_is_gone_has_no_attempt_to_tell_it() -> None:
    printed = story(failed(Cause.MISSING_BINARY, reason="executor binary not found: claude"))
    assert "No attempt was made: the program could not be started." in printed
    assert "    executor binary not found: claude" in printed
    crashed = make_attempt(cause=Cause.CRASHED)
    assert "Its next attempt was not made" in story(failed(Cause.MISSING_BINARY), crashed)


def test_an_exit_code_that_sow_has_brought_about_is_not_told() -> None:
    stalled = make_attempt(cause=Cause.STALLED, exit_code=1, ended_at=NOW + 2)
    crashed = make_attempt(cause=Cause.CRASHED, exit_code=1, ended_at=NOW + 2)
    assert "was ended after 2.0s: it showed no activity" in story(make_job(), stalled)
    assert "ended after 2.0s with exit code 1: the program" in story(make_job(), crashed)


def test_an_agent_without_a_sign_of_life_is_told_with_what_ends_it() -> None:
    job = make_job(state=JobState.RUNNING, batch=BatchId(1))
    activity = Activity("Bash: npm test", 1500, stalled_seconds=1500.0)
    printed = story(job, make_attempt(), around=Surroundings(workers=1, activity=activity))
    assert "There is no sign of life for 25m00s: no output, no CPU time, no growth" in printed
    assert "`sow agent cancel 010` ends it; then `sow next` says how the task goes on." in printed
    assert "It is ended after 20m00s without a sign of life (stall_timeout)." in printed
    never = msgspec.structs.replace(job.agents_executor, stall_timeout_seconds=0.0)
    patient = msgspec.structs.replace(job, executor=never)
    assert "(stall_timeout)" not in story(patient, make_attempt())


def test_an_attempt_that_is_kept_for_its_project_does_not_run() -> None:
    job = make_job(
        state=JobState.BACKOFF, retry_at=LATER + 30, reason="its project is not checked out"
    )
    printed = story(job, make_attempt(ended_at=NOW + 2))
    assert "has ended; it is not judged yet" in printed
    assert "Now: it waits: its project is not checked out." in printed
    assert "Next: it is looked at again in 30s" in printed
    git = msgspec.structs.replace(job, reason="fatal: no such repository.")
    assert "Now: it waits: fatal: no such repository.\n" in story(git, make_attempt())


def test_what_is_forgiven_once_is_told_while_it_matters() -> None:
    live = make_job(state=JobState.QUEUED, corrections=("no_status", "parked"))
    assert "A second ending without a status fails the job." in story(live)
    done = ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED, corrections=("no_status",))
    assert "A second" not in story(done)


# when a job that is due starts


def test_nothing_in_the_way() -> None:
    assert "nothing stands in its way" in story(queued())


def test_the_queue_is_paused() -> None:
    paused = Surroundings(paused_since=format_time(PAUSED), workers=1, capacity=4)
    assert f"paused since {UTC.when(PAUSED)}. `sow queue resume`" in story(queued(), around=paused)


def test_no_worker_runs() -> None:
    assert "`sow worker` starts one" in story(queued(), around=Surroundings())


def test_its_executor_is_full() -> None:
    full = Surroundings(workers=1, capacity=4, running=3, running_alike=2)
    printed = story(queued(), around=full)
    assert "when another agent of claude-code ends" in printed
    assert "agents.executors.claude-code.max_parallel: 2" in printed


def test_all_slots_are_taken() -> None:
    full = Surroundings(workers=1, capacity=4, running=4)
    printed = story(queued(), around=full)
    assert "when another agent ends: 4 run, and no more may (worker.concurrency)" in printed


@pytest.mark.parametrize("state", [JobState.BACKOFF, JobState.PARKED])
def test_a_time_that_has_come_says_what_else_it_waits_for(state: JobState) -> None:
    due = msgspec.structs.replace(queued(cause=Cause.CRASHED), state=state, retry_at=LATER - 1)
    assert "Its time to go on has come. Next: it waits for a worker" in story(
        due, around=Surroundings()
    )


def test_a_running_job_that_is_being_cancelled() -> None:
    job = make_job(state=JobState.RUNNING, cancel_requested_at=NOW)
    printed = story(job, make_attempt())
    assert f"Now: it is being ended, as was asked at {UTC.when(NOW)}." in printed


def test_a_running_job_between_two_attempts() -> None:
    printed = story(make_job(state=JobState.RUNNING), make_attempt(cause=Cause.CRASHED))
    assert "Now: a worker has taken it and starts its agent." in printed


def test_what_the_words_say_already_is_not_said_again() -> None:
    empty = make_attempt(cause=Cause.NO_STATUS, reason=WITHOUT_CALL, exit_code=0, ended_at=NOW + 2)
    assert story(make_job(), empty).count("ended without") == 1
    silent = "exit code 3, without a word"
    crashed = make_attempt(cause=Cause.CRASHED, reason=silent, exit_code=3, ended_at=NOW + 2)
    assert story(make_job(), crashed).count("exit code 3") == 1
    denied = make_attempt(cause=Cause.DENIED, reason="not allowed: Bash(x). Add it", exit_code=0)
    job = failed(Cause.DENIED, denied_tools=("Bash(x)",))
    assert story(job, denied).count("Bash(x)") == 1


def test_a_key_that_comes_later_needs_a_new_worker() -> None:
    printed = advice(failed(Cause.AUTH), [make_attempt(session_id=SESSION)])
    assert "`sow worker stop`" in printed
    assert printed.endswith('`sow agent resume 010 "Go on."`.')


# how the task stands by now


@pytest.mark.parametrize("status", [TaskStatus.COMPLETED, TaskStatus.IN_PROGRESS])
def test_what_others_went_on_with_is_not_advised_on(status: TaskStatus) -> None:
    done = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED)
    assert "Review its work" in advice(done, (), TaskNow(TaskStatus.NEEDS_REVIEW))
    for job in (done, failed(Cause.CRASHED)):
        assert advice(job, (), TaskNow(status)) == f"Its task is {status} now: `sow task show 010`."


def test_work_in_a_clone_is_accepted_by_a_verdict_and_merged() -> None:
    done = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED)
    printed = advice(done, (), TaskNow(TaskStatus.NEEDS_REVIEW, has_clone=True))
    assert "Accept it: `sow review accept 010 --summary" in printed
    assert "and then `sow merge 010`" in printed
    assert "status completed" not in printed


def test_a_task_that_is_gone_has_no_state_that_is_back() -> None:
    gone = TaskNow(missing="The folder of task 010 is gone.")
    assert advice(failed(Cause.STATE_UNREADABLE), (), gone) == gone.missing
    assert "To end it" in advice(make_job(state=JobState.QUEUED), (), gone)
