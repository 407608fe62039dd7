"""Which failures in a row pause a batch, and which are each task's own."""

from typing import Any

import pytest
from msgspec.structs import replace

from sow.batches.brakes import GENERAL, Brake, brake_of, brake_of_refusals
from sow.ids import JobId, TaskId
from sow.jobs.batches import JobInBatch
from sow.schema.batch import Action
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb

NUMBERS = iter(range(1, 1_000_000))


def job(cause: Cause | None = None, verb: Verb = Verb.SPAWN, **more: Any) -> JobInBatch:
    number = next(NUMBERS)
    state = JobState.DONE if cause is None else JobState.FAILED
    known = JobInBatch(
        id=JobId(number),
        task_id=TaskId(f"{number:03d}"),
        verb=verb,
        agent="implementer",
        state=state,
        cause=cause,
        reason="",
        held_for=None,
        step=1,
        action=None,
        cancel_asked=False,
        warnings=(),
        owes_task=False,
        started_at=1.0,
        ended_at=float(number),
    )
    return replace(known, **more)


def red(**more: Any) -> JobInBatch:
    return job(Cause.CHECK_FAILED, Verb.CHECK, **more)


@pytest.mark.parametrize("cause", sorted(GENERAL))
def test_three_equal_failures_in_a_row(cause: Cause) -> None:
    words = "Invalid API key\nmore"
    jobs = [job(), job(cause, reason=words), job(cause, reason=words)]
    assert brake_of(jobs, 0) == Brake()
    jobs.append(job(cause, reason=words))
    found = brake_of(jobs, 0)
    assert found.reason.startswith(
        f"jobs {jobs[1].id}, {jobs[2].id}, {jobs[3].id} failed for the same reason: "
    )
    assert found.reason.endswith(": Invalid API key")
    assert brake_of(jobs, jobs[1].id) == Brake(), "the first is forgiven"


def test_what_goes_well_in_between_begins_a_new_row() -> None:
    auth = Cause.AUTH
    assert brake_of([job(auth), job(auth), job(), job(auth)], 0) == Brake()
    assert brake_of([job(auth), job(auth), job(Cause.SETUP_FAILED)], 0) == Brake()


def test_a_failure_of_the_work_or_of_one_agent_is_no_brake() -> None:
    for cause in (Cause.CRASHED, Cause.NO_STATUS, Cause.TIMED_OUT, Cause.STALLED):
        assert brake_of([job(cause), job(cause), job(cause)], 0) == Brake()


def test_errors_of_the_service_have_to_be_the_same() -> None:
    def failed(words: str) -> JobInBatch:
        return job(Cause.API_ERROR, reason=words)

    assert brake_of([failed("529"), failed("529"), failed("500")], 0) == Brake()
    assert brake_of([failed("529"), failed("529"), failed("529")], 0).reason


def test_jobs_of_other_kinds_in_between_and_cancelled_ones_count_nothing() -> None:
    auth = Cause.AUTH
    between = [job(verb=Verb.CHECK), job(verb=Verb.MERGE), job(state=JobState.CANCELLED)]
    assert brake_of([job(auth), *between, job(auth), job(auth)], 0).reason


def test_three_calls_that_are_refused_alike() -> None:
    missing = "executor binary not found: claude\nInstall it."
    assert brake_of_refusals([missing, "task 010 has no session", missing]) == ""
    found = brake_of_refusals([missing, "task 010 has no session", missing, missing])
    assert found == "3 tasks were refused for the same reason: executor binary not found: claude"


def test_red_checks_of_three_tasks_are_looked_into_once() -> None:
    row = [red(), job(), red(), red()]
    assert brake_of(row, 0) == Brake(suspect=row[-1].task_id)
    green = job(verb=Verb.CHECK, action=Action.CHECK_BASE)
    assert brake_of([*row, green], 0) == Brake()
    assert brake_of([*row, green, red()], 0) == Brake()
    on_base = red(action=Action.CHECK_BASE, reason="unit: exit code 1\nmore")
    found = brake_of([*row, on_base], 0)
    assert found.reason.endswith("started: unit: exit code 1")
    assert brake_of([*row, on_base], on_base.id) == Brake()


def test_one_task_whose_check_stays_red_is_its_author_s_matter() -> None:
    task = TaskId("010")
    assert brake_of([red(task_id=task), red(task_id=task), red(task_id=task)], 0) == Brake()


def test_a_row_is_in_the_order_of_the_ends() -> None:
    """A job that was placed first may end last."""
    jobs = [
        job(Cause.AUTH, ended_at=30.0),
        job(ended_at=5.0),
        job(Cause.AUTH, ended_at=10.0),
        job(Cause.AUTH, ended_at=20.0),
    ]
    assert brake_of(jobs, 0).reason
    assert not brake_of([replace(jobs[0], ended_at=1.0), *jobs[1:]], 0).reason


def test_what_a_base_has_shown_counts_though_other_checks_have_ended_since() -> None:
    """Two checks run at once: both may have ended when a worker looks."""
    rows = [red(), red(), red(), red(action=Action.CHECK_BASE)]
    assert brake_of([*rows, red()], 0).reason
    well = job(verb=Verb.CHECK)
    assert brake_of([*rows, well], 0) == Brake()
    green = job(verb=Verb.CHECK, action=Action.CHECK_BASE)
    assert brake_of([*rows[:3], green, red()], 0) == Brake()
