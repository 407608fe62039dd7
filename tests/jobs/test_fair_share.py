"""Of several batches none gets fewer slots than its share; single calls are one of them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_cases import MANY, NOW, PROJECT, WORKER, insert

from sow.errors import StateError
from sow.ids import BatchId, JobId, TaskId
from sow.jobs import batches, jobs, leases, messages
from sow.jobs.database import Database
from sow.schema.batch import Batch, BatchState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import CheckTerms


def make_batch(database: Database, *tasks: str) -> Batch:
    """Put a batch of these tasks on record."""
    made = batches.insert_batch(
        database,
        Batch(
            id=BatchId(0),
            project_id=PROJECT,
            name="",
            selection=Selection(tasks=tuple(map(TaskId, tasks))),
            policy=BatchPolicy(),
            path_variable="/usr/bin",
            made_at=NOW,
        ),
    )
    batches.add_items(database, made, [TaskId(task) for task in tasks])
    return made


def queue(database: Database, *tasks: str, **more: Any) -> list[JobId]:
    """Queue a job of each task."""
    found = [insert(database, task, **more).id for task in tasks]
    for job_id in found:
        leases.enqueue(database, job_id, now=NOW)
    return found


def claim(database: Database, total: int) -> JobId | None:
    data = leases.claim(database, WORKER, total=total, own=MANY, now=NOW)
    return None if data is None else messages.job_of(data)


def end(database: Database, job_id: JobId) -> None:
    lease = leases.lease_of(database, job_id)
    assert lease is not None
    leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)


def batch_of(database: Database, job_id: JobId) -> BatchId | None:
    return jobs.get_job(database, job_id).batch


def names(first: int, count: int) -> list[str]:
    return [f"{number:03d}" for number in range(first, first + count)]


def test_two_batches_and_single_calls_share_the_slots(database: Database) -> None:
    first, second = names(100, 30), names(200, 30)
    make_batch(database, *first)
    make_batch(database, *second)
    queue(database, *first)
    queue(database, *second)
    queue(database, *names(300, 3))
    taken = [claim(database, 6) for _ in range(6)]
    share = Counter(batch_of(database, job_id) for job_id in taken if job_id)
    assert share == {None: 2, 1: 2, 2: 2}


def test_checks_that_run_count_for_nothing_among_agents(database: Database) -> None:
    first, second = names(100, 30), names(200, 30)
    make_batch(database, *first)
    make_batch(database, *second)
    queue(database, *first[:2], verb=Verb.CHECK, executor=None, terms=CheckTerms(names=()))
    for _ in range(2):
        assert batch_of(database, claim(database, 4) or JobId(0)) == 1
    queue(database, *first[2:])
    queue(database, *second)
    taken = [claim(database, 4) for _ in range(4)]
    assert Counter(batch_of(database, job_id) for job_id in taken if job_id) == {1: 2, 2: 2}


def test_what_comes_later_gets_its_share_as_soon_as_slots_are_free(database: Database) -> None:
    first, second = names(100, 30), names(200, 30)
    make_batch(database, *first)
    queue(database, *first)
    running = [claim(database, 4) for _ in range(4)]
    make_batch(database, *second)
    queue(database, *second)
    for job_id in running[:2]:
        assert job_id is not None
        end(database, job_id)
        assert batch_of(database, claim(database, 4) or JobId(0)) == 2


def test_priority_orders_within_a_batch(database: Database) -> None:
    make_batch(database, "100", "101")
    make_batch(database, "200", "201")
    queue(database, "100", "200")
    queue(database, "101", priority=5)
    queue(database, "201", priority=-1)
    order = [jobs.get_job(database, claim(database, MANY) or JobId(0)).task_id for _ in range(4)]
    assert order == ["101", "200", "100", "201"]


def test_what_a_paused_batch_has_queued_waits_and_a_person_s_call_does_not(
    database: Database,
) -> None:
    batch = make_batch(database, "100", "101")
    queue(database, "100", batch=batch.id, batch_step=1)
    (by_hand,) = queue(database, "101")
    batches.change_batch(database, batch.id, state=BatchState.PAUSED)
    assert claim(database, MANY) == by_hand
    assert claim(database, MANY) is None
    end(database, by_hand)
    assert not jobs.has_active_jobs(database), "it keeps no worker alive"
    batches.change_batch(database, batch.id, state=BatchState.RUNNING)
    assert claim(database, MANY) is not None


def test_a_batch_s_own_job_is_refused_where_it_was_placed_before(database: Database) -> None:
    batch = make_batch(database, "100")
    asked = {"batch": batch.id, "batch_step": 1}
    first = insert(database, "100", **asked)
    jobs.change_job(database, first.id, state=JobState.DONE)
    with pytest.raises(jobs.StepIsTaken):
        insert(database, "100", **asked)
    insert(database, "100", batch=batch.id, batch_step=2)


@pytest.mark.parametrize("state", [BatchState.PAUSED, BatchState.CANCELLED, BatchState.OVER])
def test_a_batch_that_does_not_run_places_nothing(database: Database, state: BatchState) -> None:
    batch = make_batch(database, "100")
    batches.change_batch(database, batch.id, state=state)
    with pytest.raises(jobs.StepIsTaken):
        insert(database, "100", batch=batch.id, batch_step=1)
    assert insert(database, "100").batch == batch.id


def test_a_task_belongs_to_one_batch_that_goes_on(database: Database) -> None:
    first = make_batch(database, "100")
    with pytest.raises(StateError, match="is in batch"):
        make_batch(database, "100", "101")
    batches.change_batch(database, first.id, state=BatchState.OVER, ended_at=NOW)
    make_batch(database, "100", "102")


@pytest.mark.slow
@settings(
    max_examples=min(30, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    slots=st.integers(1, 8),
    choices=st.lists(st.integers(0, 7), max_size=30),
)
def test_none_is_under_its_share_once_what_ran_has_ended(
    database: Database, sizes: list[int], slots: int, choices: list[int]
) -> None:
    with database.transaction():
        for table in ("task", "lease", "job", "batch_item", "batch"):
            database.run(f"delete from {table} where true")  # counted, also where it is empty
    left: dict[int | None, int] = {}
    for number, size in enumerate(sizes):
        tasks = names(100 * (number + 1), size)
        left[make_batch(database, *tasks).id] = size
        queue(database, *tasks)
    running: list[JobId] = []
    for choice in [*choices, 0]:
        while (job_id := claim(database, slots)) is not None:
            running.append(job_id)
            left[batch_of(database, job_id)] -= 1
        share = Counter(batch_of(database, job_id) for job_id in running)
        for batch in [batch for batch, count in left.items() if count]:
            assert share[batch] >= slots // len(left)
        if running:
            end(database, running.pop(choice % len(running)))
