"""What a live job does or waits for, in a few words, and the same rule behind `explain`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from reports.job_cases import EXECUTORS, NOW, make_job

from sow.jobs import control, jobs, leases
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.reports.activity import Activity
from sow.reports.live_job_words import words_of
from sow.reports.prospects import Obstacle, Surroundings, look_around, obstacle_of
from sow.schema.job import Job, JobState, Verb

STAFFED = Surroundings(workers=1, capacity=4, running=1, running_alike=1)


def queued(max_parallel: int | None = None, **fields: object) -> Job:
    config = replace(EXECUTORS["claude-code"].config, max_parallel=max_parallel)
    return make_job(**{"state": JobState.QUEUED, "executor": config, **fields})


@pytest.mark.parametrize(
    ("around", "max_parallel", "expected"),
    [
        (STAFFED, 2, None),
        (STAFFED, None, None),
        (STAFFED, 1, Obstacle.EXECUTOR_FULL),
        (Surroundings(workers=1, capacity=1, running=1), None, Obstacle.ALL_FULL),
        (
            Surroundings(workers=1, capacity=1, running=1, running_alike=1),
            1,
            Obstacle.EXECUTOR_FULL,
        ),
        (Surroundings(), None, Obstacle.NO_WORKER),
        (Surroundings(paused_since="x"), None, Obstacle.PAUSED),
        (Surroundings(workers=1, capacity=4, short_of="x"), None, Obstacle.SHORT),
    ],
)
def test_what_stands_in_the_way_of_a_start(
    around: Surroundings, max_parallel: int | None, expected: Obstacle | None
) -> None:
    assert obstacle_of(queued(max_parallel), around) is expected


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        (Surroundings(workers=1, capacity=1, running=1, checks=2, running_alike=1), None),
        (Surroundings(workers=1, capacity=4, checks=2, running_alike=2), Obstacle.CHECKS_FULL),
    ],
)
def test_a_check_waits_for_checks_alone(around: Surroundings, expected: Obstacle | None) -> None:
    check = make_job(verb=Verb.CHECK, executor=None, state=JobState.QUEUED)
    assert obstacle_of(check, around) is expected


def test_what_is_waited_for_is_told() -> None:
    short = Surroundings(workers=1, capacity=4, short_of="too little memory is free")
    assert words_of(queued(), short, NOW) == "waits for room: too little memory is free"
    check = make_job(verb=Verb.CHECK, executor=None, state=JobState.QUEUED)
    full = Surroundings(workers=1, capacity=4, checks=2, running_alike=2)
    assert words_of(check, full, NOW) == "waits for its turn: 2 of 2 checks run"


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    opened = open_queue(workspace)
    yield opened
    opened.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".sow").mkdir()
    return Workspace(tmp_path)


def test_of_a_real_queue_the_same_is_told(workspace: Workspace, database: Database) -> None:
    job = jobs.insert_job(database, queued())
    leases.enqueue(database, job.id, now=NOW)

    def standing() -> str:
        stands = jobs.get_job(database, job.id)
        return words_of(stands, look_around(workspace, database, stands, now=NOW), NOW)

    assert standing() == "no worker runs (`sow worker` starts one)"
    control.pause(database, now=NOW)
    assert standing() == "the queue is paused (`sow queue resume` continues it)"
    jobs.change_job(database, job.id, state=JobState.BACKOFF, retry_at=NOW + 90, reason="a\nb")
    assert standing() == "again in 1m30s: a"
    jobs.change_job(database, job.id, state=JobState.DONE)
    assert standing() == ""


def test_a_full_executor_and_full_workers_are_told_with_their_counts() -> None:
    full = Surroundings(workers=1, capacity=4, running=4, running_alike=2)
    assert words_of(queued(2), full, NOW) == "waits for a slot: 2 of 2 claude-code run"
    assert words_of(queued(), full, NOW) == "waits for a slot: 4 of 4 agents run"
    assert words_of(queued(), STAFFED, NOW) == ""
    due = queued(2, state=JobState.PARKED, retry_at=NOW - 1)
    assert words_of(due, full, NOW) == "waits for a slot: 2 of 2 claude-code run"


def test_a_job_that_runs_tells_what_its_agent_does() -> None:
    run = make_job(state=JobState.RUNNING)
    assert words_of(run, STAFFED, NOW) == "its agent is being started"
    busy = replace(STAFFED, activity=Activity("Bash: npm test", 20.0))
    assert words_of(run, busy, NOW) == "Bash: npm test; quiet 20s"
    ending = make_job(state=JobState.RUNNING, cancel_requested_at=NOW)
    assert words_of(ending, busy, NOW) == "it is being ended"
    opened = make_job(state=JobState.RUNNING, verb=Verb.OPEN)
    assert words_of(opened, STAFFED, NOW) == "open on a terminal"
