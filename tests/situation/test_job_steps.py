"""What the queue asks of whoever leads: an agent that hangs is ended before it is waited for."""

import pytest
from msgspec.structs import replace
from reports.job_cases import NOW, make_job

from sow.ids import JobId, TaskId
from sow.schema.job import JobState
from sow.situation.job_steps import unblocked, waits
from sow.situation.situation import Queue, Reader, Situation
from sow.situation.view import status_of


def test_an_agent_without_a_sign_of_life_is_ended_before_it_is_waited_for() -> None:
    hanging = make_job(id=JobId(1), task_id=TaskId("010"), state=JobState.RUNNING)
    other = make_job(id=JobId(2), task_id=TaskId("020"), state=JobState.RUNNING)
    queue = Queue(live=[hanging, other], stalled={hanging.id: "no sign of life for 25m00s"})
    found = list(waits(Situation(Reader(), queue=queue)))
    assert [remedy.command for remedy in found] == [
        "sow agent cancel 010",
        "sow agent wait 010 020 --any",
    ]
    assert "no sign of life for 25m00s" in found[0].why
    patient = make_job(
        id=JobId(1),
        task_id=TaskId("010"),
        state=JobState.RUNNING,
        executor=replace(hanging.agents_executor, stall_timeout_seconds=0.0),
    )
    bounded = Situation(Reader(), queue=Queue(live=[patient], stalled=queue.stalled))
    assert [remedy.command for remedy in waits(bounded)] == ["sow agent wait 010"]
    calm = Situation(Reader(), queue=Queue(live=[hanging, other]))
    assert [remedy.command for remedy in waits(calm)] == ["sow agent wait 010 020 --any"]


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "its command lines: job 1"),
        (2, "their command lines: jobs 1, 2"),
        (10, "their command lines: jobs 1, 2, 3, 4, 5, 6, 7, 8 and 2 more"),
    ],
)
def test_the_jobs_that_wait_for_accepted_command_lines_are_named(count: int, named: str) -> None:
    held = [make_job(id=JobId(number), state=JobState.HELD) for number in range(1, count + 1)]
    (found,) = unblocked(Situation(Reader(), queue=Queue(live=held)))
    assert (found.command, found.why) == ("sow trust", f"held until you accept {named}")


def test_a_job_counts_from_its_first_start() -> None:
    started = make_job(id=JobId(1), state=JobState.RUNNING, created_at=NOW, started_at=NOW + 5)
    queued = make_job(id=JobId(2), state=JobState.QUEUED, created_at=NOW)
    now = Situation(Reader(), queue=Queue(live=[started, queued]))
    assert [run.seconds for run in status_of(now, [], at=NOW + 60).runs] == [55.0, 0.0]
