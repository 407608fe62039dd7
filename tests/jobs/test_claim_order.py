"""A claim looks at the first job of each lane, and takes the one that a look at all would find."""

from typing import Any

import pytest
from claim_cases import DRAWN, LIMITS, Drawn, claim, empty, end, put, queue
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from queue_cases import NOW, OTHER_WORKER, WORKER, insert

from sow.ids import JobId
from sow.jobs import jobs, leases, waiters
from sow.jobs.database import Database

TAKES = ["take", "take", "take", "end", "wait", "lend", "move"]


@settings(
    max_examples=settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    drawn=st.lists(DRAWN, min_size=1, max_size=14),
    limits=LIMITS,
    steps=st.lists(st.sampled_from(TAKES), max_size=14),
)
@example(
    drawn=[Drawn("gpu", 1, 5), Drawn("gpu", 1, 5), Drawn("gpu", 2), Drawn("claude-code")],
    limits={"total": 4, "own": 4, "checks": 1, "most": None},
    steps=["take", "take", "take", "end", "take"],
)
def test_a_claim_takes_what_a_look_at_every_message_finds(
    database: Database, drawn: list[Drawn], limits: Any, steps: list[str]
) -> None:
    empty(database)
    for job, its in zip(put(database, drawn), drawn, strict=True):
        queue(database, job, its)
    now, running = NOW, list[JobId]()
    for number, step in enumerate([*steps, "take", "take"]):
        worker = WORKER if number % 3 else OTHER_WORKER
        if step == "end" and running:
            end(database, running.pop(0))
        elif step == "wait":
            now = NOW + 61
        elif step == "lend" and running:
            waiters.begin(database, f"c{number}", running[-1], on_behalf_of=running[-1], now=now)
        elif step == "move":  # what decides changes while they wait
            database.run("update job set executor_name = 'gpu' where id % 3 = 0")
        elif taken := claim(database, worker, now, limits):
            running.append(taken)


def test_a_job_whose_message_is_gone_stands_in_nobodys_way(database: Database) -> None:
    first, second = insert(database, "010"), insert(database, "020")
    for job in (first, second):
        leases.enqueue(database, job.id, now=NOW)
    database.run("delete from task where id = (select queue_row from job where id = 1)")
    limits = {"total": 9, "own": 9}
    assert claim(database, WORKER, NOW, limits) == second.id
    assert claim(database, WORKER, NOW, limits) is None


def test_a_message_with_a_priority_of_its_own_gives_it_to_its_job(database: Database) -> None:
    first, second = insert(database, "010"), insert(database, "020")
    leases.enqueue(database, first.id, now=NOW)
    data = leases.job_message(second.id)
    leases.enqueue_message(database, data, priority=7, now=NOW)
    assert jobs.get_job(database, second.id).priority == 7
    assert claim(database, WORKER, NOW, {"total": 9, "own": 9}) == second.id


@pytest.mark.queue_file
def test_a_queue_s_file_keeps_the_lanes_of_what_waits_alone(database: Database) -> None:
    job = insert(database)
    steps = [
        row["detail"] for row in database.rows(f"explain query plan {database.heads}", {"now": 1})
    ]
    assert not [step for step in steps if "B-TREE" in step], "nothing is sorted"
    (index,) = database.rows("select sql from sqlite_master where name = 'job_lane'")
    assert index["sql"].endswith("where queue_row is not null")
    assert database.value("select lane from job where id = ?", (job.id,))
