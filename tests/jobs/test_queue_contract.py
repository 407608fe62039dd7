"""The store's promises, kept by the records and by huey's storage over them alike."""

import threading
import time

import pytest
from huey_queue import HueyQueue
from queue_cases import (
    MANY,
    NOW,
    OTHER_WORKER,
    WORKER,
    Queue,
    claim_all,
    insert,
    leased_job,
    queue_rows,
    state_of,
)

from sow.ids import JobId
from sow.jobs import jobs, leases, messages, waiters
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell
from sow.paths import Workspace, attempt_id
from sow.schema.job import Attempt, Cause, JobState, Verb
from worker.broker import make_huey


def test_a_claimed_job_runs_under_a_lease_and_leaves_the_queue(
    queue: Queue, database: Database
) -> None:
    job = insert(database)
    queue.enqueue(job.id)
    assert state_of(database, job.id) is JobState.QUEUED
    assert queue.claim(WORKER) == job.id
    lease = leases.lease_of(database, job.id)
    assert lease is not None
    assert (lease.worker_id, lease.executor) == (WORKER, "claude-code")
    assert state_of(database, job.id) is JobState.RUNNING
    assert queue_rows(database) == []


def test_an_empty_queue_gives_nothing(queue: Queue) -> None:
    assert queue.claim(WORKER) is None


def test_first_by_priority_then_by_age(queue: Queue, database: Database) -> None:
    """§8: "first job by priority, then id"."""
    urgency = {"010": 0, "020": 5, "030": 0, "040": 5}
    ids = {task: insert(database, task, priority=p).id for task, p in urgency.items()}
    for task in ("040", "030", "020", "010"):
        queue.enqueue(ids[task])
    assert claim_all(queue) == [ids[task] for task in ("020", "040", "010", "030")]


def test_a_job_that_is_queued_again_keeps_its_place(queue: Queue, database: Database) -> None:
    """§8: "first job by priority, then id": its age is the job's, not the queue row's."""
    lease = leased_job(database, "010")
    later = insert(database, "020")
    queue.enqueue(later.id)
    leases.requeue(database, lease, state=JobState.QUEUED, retry_at=0.0, now=NOW)
    assert claim_all(queue) == [lease.job_id, later.id]


@pytest.mark.parametrize("limits", [{"total": 3}, {"own": 3}])
def test_total_and_own_limits_hold(
    queue: Queue, database: Database, limits: dict[str, int]
) -> None:
    for number in range(5):
        queue.enqueue(insert(database, f"{number:03}").id)
    assert len(claim_all(queue, **limits)) == 3


def test_the_own_limit_leaves_the_rest_to_another_worker(queue: Queue, database: Database) -> None:
    for number in range(5):
        queue.enqueue(insert(database, f"{number:03}").id)
    assert len(claim_all(queue, WORKER, own=2)) == 2
    assert len(claim_all(queue, OTHER_WORKER, own=2)) == 2
    assert len(claim_all(queue, WORKER, own=2)) == 0


def test_the_total_limit_holds_across_workers(queue: Queue, database: Database) -> None:
    """§8: "They hold across all workers of a project"."""
    for number in range(5):
        queue.enqueue(insert(database, f"{number:03}").id)
    assert len(claim_all(queue, WORKER, total=2)) == 2
    assert claim_all(queue, OTHER_WORKER, total=2) == []


def test_a_full_executor_blocks_nobody_elses_jobs(queue: Queue, database: Database) -> None:
    """§8: "a full executor never blocks another's jobs"."""
    narrow = [insert(database, f"{n:03}", executor="narrow", max_parallel=1) for n in range(3)]
    wide = [insert(database, f"{n:03}", executor="wide") for n in range(10, 13)]
    for job in (*narrow, *wide):
        queue.enqueue(job.id)
    assert claim_all(queue) == [narrow[0].id, *(job.id for job in wide)]


def test_an_ending_frees_its_slot(queue: Queue, database: Database) -> None:
    first, second = (insert(database, t, executor="one", max_parallel=1) for t in ("010", "020"))
    queue.enqueue(first.id)
    queue.enqueue(second.id)
    assert claim_all(queue) == [first.id]
    lease = leases.lease_of(database, first.id)
    assert lease is not None
    leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
    assert claim_all(queue) == [second.id]


def test_a_retry_time_is_waited_for(queue: Queue, database: Database) -> None:
    """§8: the first job "whose retry time has come"; one that waits blocks nobody."""
    waiting, ready = insert(database, "010"), insert(database, "020")
    queue.enqueue(waiting.id)
    jobs.change_job(database, waiting.id, retry_at=time.time() + 3600)
    queue.enqueue(ready.id)
    assert claim_all(queue) == [ready.id]
    jobs.change_job(database, waiting.id, retry_at=time.time() - 1)
    assert claim_all(queue) == [waiting.id]


def test_a_lent_slot_counts_against_no_limit(
    queue: Queue, database: Database, workspace: Workspace
) -> None:
    """§5: "that job lends its slot, so nested spawns cannot deadlock"."""
    parent = leased_job(database, "010", executor="one", max_parallel=1)
    child = insert(database, "020", executor="one", max_parallel=1)
    queue.enqueue(child.id)
    assert claim_all(queue, total=1) == []
    bell = Bell(waiters.bell_path(workspace, "c1"))
    waiters.begin(database, "c1", child.id, on_behalf_of=parent.job_id, now=NOW)
    assert claim_all(queue, total=1, own=1) == [child.id]
    bell.close()


@pytest.mark.parametrize("state", ["queued", "leased", "done"])
def test_a_job_never_gets_a_second_row(queue: Queue, database: Database, state: str) -> None:
    """A job that waits, runs or has ended is not queued once more."""
    job = insert(database)
    queue.enqueue(job.id)
    if state != "queued":
        assert queue.claim(WORKER) == job.id
    if state == "done":
        lease = leases.lease_of(database, job.id)
        assert lease is not None
        leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
    before = state_of(database, job.id)
    queue.enqueue(job.id)
    assert len(queue_rows(database)) == (1 if state == "queued" else 0)
    assert state_of(database, job.id) is before
    other = insert(database, "020")
    queue.enqueue(other.id)
    assert claim_all(queue)[-1] == other.id


@pytest.mark.slow
def test_concurrent_threads_never_exceed_a_limit(database: Database, queue: Queue) -> None:
    """Eight threads of one worker over one connection."""
    for number in range(40):
        executor = ("narrow", 2) if number % 2 else ("wide", None)
        job = insert(database, f"{number:03}", executor=executor[0], max_parallel=executor[1])
        queue.enqueue(job.id)
    violations: list[str] = []
    done: list[JobId] = []
    everything = threading.Event()

    def work() -> None:
        while not everything.is_set():
            job_id = queue.claim(WORKER, total=4)
            with database.transaction():
                held = [lease.executor for lease in leases.leases_of(database, WORKER)]
            if len(held) > 4 or held.count("narrow") > 2:
                violations.append(f"held at once: {held}")
            if job_id is None:
                continue
            lease = leases.lease_of(database, job_id)
            assert lease is not None
            leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
            done.append(job_id)
            if len(done) == 40:
                everything.set()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert violations == []
    assert len(set(done)) == len(done) == 40


def test_the_next_retry_time_is_that_of_the_first_that_waits(database: Database) -> None:
    for task, wait in (("010", 50.0), ("020", 20.0), ("030", 0.0)):
        leases.enqueue(database, insert(database, task).id, now=NOW, retry_at=NOW + wait)
    assert leases.next_retry_at(database, now=NOW) == NOW + 20.0
    assert state_of(database, JobId(1)) is JobState.BACKOFF
    assert state_of(database, JobId(3)) is JobState.QUEUED


def test_a_job_that_is_withdrawn_is_claimed_by_nobody(queue: Queue, database: Database) -> None:
    job = insert(database)
    queue.enqueue(job.id)
    assert leases.withdraw(database, job.id)
    assert not leases.withdraw(database, job.id)
    assert queue.claim(WORKER) is None


# fencing


def test_a_stale_token_changes_nothing(database: Database) -> None:
    """§8: "a write of a fenced owner changes nothing"."""
    stale = leased_job(database)
    (fresh,) = leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)
    before = jobs.get_job(database, stale.job_id)
    with pytest.raises(leases.Fenced):
        leases.settle(database, stale, state=JobState.FAILED, cause=Cause.CRASHED, ended_at=NOW)
    with pytest.raises(leases.Fenced):
        leases.requeue(database, stale, state=JobState.QUEUED, retry_at=0.0, now=NOW, retries=9)
    with pytest.raises(leases.Fenced), leases.under(database, stale):
        pytest.fail("a fenced owner was let in")
    assert jobs.get_job(database, stale.job_id) == before
    assert leases.lease_of(database, stale.job_id) == fresh
    assert queue_rows(database) == []


def test_what_a_fenced_owner_wrote_before_the_fence_is_rolled_back(database: Database) -> None:
    stale = leased_job(database)
    leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)

    @database.transaction()
    def write_too_early() -> None:
        jobs.change_job(database, stale.job_id, reason="written too early")
        leases.settle(database, stale, state=JobState.DONE)

    with pytest.raises(leases.Fenced):
        write_too_early()
    assert jobs.get_job(database, stale.job_id).reason == ""


def test_the_lease_of_an_ended_job_is_stale(database: Database) -> None:
    lease = leased_job(database)
    leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
    with pytest.raises(leases.Fenced):
        leases.settle(database, lease, state=JobState.FAILED, ended_at=NOW)
    assert state_of(database, lease.job_id) is JobState.DONE


def test_a_lease_from_before_a_requeue_is_stale_under_the_same_owner(database: Database) -> None:
    first = leased_job(database)
    leases.requeue(database, first, state=JobState.QUEUED, retry_at=0.0, now=NOW)
    leases.claim(database, WORKER, total=MANY, own=MANY, now=NOW)
    with pytest.raises(leases.Fenced):
        leases.settle(database, first, state=JobState.DONE)
    assert state_of(database, first.job_id) is JobState.RUNNING


def test_tokens_only_grow(database: Database) -> None:
    tokens = []
    for number in range(4):
        lease = leased_job(database, f"{number:03}")
        tokens.append(lease.token)
        (taken,) = leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)
        tokens.append(taken.token)
        leases.settle(database, taken, state=JobState.DONE)
    assert tokens == sorted(set(tokens))


def test_taking_over_gives_every_lease_of_the_dead_and_none_of_the_others(
    database: Database,
) -> None:
    mine = leased_job(database, "010", OTHER_WORKER)
    dead = {leased_job(database, task).job_id for task in ("020", "030")}
    taken = leases.take_over(database, WORKER, OTHER_WORKER, now=NOW)
    assert {lease.job_id for lease in taken} == dead
    assert leases.leases_of(database, WORKER) == []
    assert leases.lease_of(database, mine.job_id) == mine
    assert leases.lease_owners(database) == {OTHER_WORKER}


def test_requeue_writes_state_time_and_changes_in_one_step(database: Database) -> None:
    lease = leased_job(database)
    leases.requeue(
        database,
        lease,
        state=JobState.PARKED,
        retry_at=NOW + 60,
        now=NOW,
        reason="quota",
        retries=1,
    )
    job = jobs.get_job(database, lease.job_id)
    assert (job.state, job.retry_at, job.reason, job.retries) == (
        JobState.PARKED,
        NOW + 60,
        "quota",
        1,
    )
    assert leases.lease_of(database, lease.job_id) is None
    assert queue_rows(database) == [messages.job_message(lease.job_id)]


# transactions


def test_a_nested_transaction_joins_the_outer_one(database: Database) -> None:
    @database.transaction()
    def insert_and_fail() -> None:
        with database.transaction():
            insert(database)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    assert not jobs.has_active_jobs(database)
    with database.transaction(), database.transaction():
        insert(database)
    assert jobs.has_active_jobs(database)


def test_huey_enqueues_inside_a_transaction(database: Database, workspace: Workspace) -> None:
    """facts/huey: "`storage.enqueue()` inside `storage.db()` deadlocks": not with ours."""
    huey = HueyQueue(database, workspace).huey
    finished = threading.Event()

    def enqueue() -> None:
        with database.transaction(), huey.storage.db(commit=True):
            huey.storage.enqueue(messages.job_message(insert(database).id))
        finished.set()

    threading.Thread(target=enqueue, daemon=True).start()
    assert finished.wait(30)
    assert len(queue_rows(database)) == 1


def test_huey_enqueueing_is_undone_with_the_transaction_around_it(
    database: Database, workspace: Workspace
) -> None:
    queue = HueyQueue(database, workspace)
    job = insert(database)

    @database.transaction()
    def enqueue_and_fail() -> None:
        queue.enqueue(job.id)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        enqueue_and_fail()
    assert queue_rows(database) == []
    assert state_of(database, job.id) is JobState.PREPARING


# huey's immediate mode


@pytest.mark.parametrize("in_memory", [True, False])
def test_in_immediate_mode_huey_runs_the_job_at_once(
    database: Database, workspace: Workspace, in_memory: bool
) -> None:
    ran: list[JobId] = []
    huey = make_huey(ran.append, database=database, workspace=workspace)
    huey.immediate_use_memory = in_memory
    huey.immediate = True
    job = insert(database)
    huey.enqueue(huey.run_job.s(job.id))
    huey.run_job(job.id)
    assert ran == [job.id, job.id]
    assert queue_rows(database) == []
    assert (huey.storage.__class__.__name__ == "MemoryStorage") is in_memory


def test_a_process_that_only_enqueues_takes_nothing(
    database: Database, workspace: Workspace
) -> None:
    huey = make_huey(lambda job_id: None, database=database, workspace=workspace)
    huey.run_job(insert(database).id)
    assert huey.dequeue() is None
    assert len(queue_rows(database)) == 1


DAY = 86_400.0


def test_a_clock_that_is_set_back_makes_no_wait_longer_than_twice_its_length(
    database: Database,
) -> None:
    job = insert(database, "010")
    leases.enqueue(database, job.id, now=NOW, retry_at=NOW + 1.2)
    assert leases.mend_waits(database, now=NOW + 0.5) == 0
    assert jobs.get_job(database, job.id).retry_at == NOW + 1.2
    yesterday = NOW - DAY
    assert leases.mend_waits(database, now=yesterday) == 1
    mended = jobs.get_job(database, job.id)
    assert mended.retry_at == pytest.approx(yesterday + 1.2)
    assert leases.mend_waits(database, now=yesterday) == 0
    assert leases.claim(database, WORKER, total=1, own=1, now=yesterday + 1.3) is not None


def test_a_job_that_waits_for_trust_has_not_begun_before_its_first_attempt(
    database: Database,
) -> None:
    lease = leased_job(database, "010")
    assert jobs.get_job(database, lease.job_id).started_at == NOW
    leases.hold(database, lease, reason="not accepted")
    held = jobs.get_job(database, lease.job_id)
    assert (held.state, held.started_at) == (JobState.HELD, None)

    lease = leased_job(database, "020")
    attempt = Attempt(
        job_id=lease.job_id,
        number=1,
        id=attempt_id(lease.job_id, 1, "abc"),
        verb=Verb.SPAWN,
        worker_id=WORKER,
        created_at=NOW,
    )
    jobs.insert_attempt(database, attempt)
    leases.hold(database, lease, reason="not accepted")
    assert jobs.get_job(database, lease.job_id).started_at == NOW
