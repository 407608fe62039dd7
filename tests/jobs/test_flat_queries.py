"""What is asked often takes no longer with many records: counted in SQLite's own steps."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from queue_cases import NOW, PROJECT, WORKER, make_job

from sow.budgets import accounts
from sow.ids import AttemptId, BatchId, TaskId
from sow.jobs import (
    batch_news,
    batch_summaries,
    batches,
    jobs,
    known_jobs,
    leases,
    notifications,
    spending,
)
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.amounts import Amounts
from sow.schema.batch import Batch, BatchState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import Attempt, Budgets, Job, JobState
from sow.schema.notification import NotifyEvent
from sow.schema.usage import RunUsage, Tokens

pytestmark = pytest.mark.queue_file

FEW, MANY = 30, 600
"""So many ended jobs are on record, each with an attempt and what that has used."""
STEPS = 10
"""How many steps of SQLite are counted at once."""
LARGE = Amounts(usd=1e6, tokens=1e9, time=1e9)
MINE = TaskId("010")


def ended_job(database: Database, number: int) -> None:
    """Put a job of another task on record that has ended; each tenth in a batch of its own."""
    task = TaskId(f"{number + 1000:04d}")
    if number % 10 == 0:
        made = make_batch(database, task)
        job = jobs.insert_job(database, make_job(task, batch=made.id))
        batches.change_batch(database, made.id, state=BatchState.OVER, ended_at=NOW)
    else:
        job = jobs.insert_job(database, make_job(task))
    use(database, job)
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)


def use(database: Database, job: Job) -> None:
    attempt = Attempt(
        job_id=job.id,
        number=1,
        id=AttemptId(f"{job.id}.1.x"),
        verb=job.verb,
        worker_id=WORKER,
        created_at=NOW,
    )
    jobs.insert_attempt(database, attempt)
    run = RunUsage(tokens=Tokens(input=10), usd=0.1)
    spending.note(database, job, attempt, run, None, ended_at=NOW)


def make_batch(database: Database, task: TaskId) -> Batch:
    made = batches.insert_batch(
        database,
        Batch(
            id=BatchId(0),
            project_id=PROJECT,
            name="",
            selection=Selection(tasks=(task,)),
            policy=BatchPolicy(),
            path_variable="",
            made_at=NOW,
        ),
    )
    batches.add_items(database, made, [task])
    return made


class Queue:
    """A queue with some records, a batch and a job of its own, and a count of SQLite's steps."""

    def __init__(self, database: Database, workspace: Workspace, records: int) -> None:
        self.database, self.workspace = database, workspace
        self.batch = make_batch(database, MINE)
        every = Budgets(executor=LARGE, batch=LARGE, project=LARGE)
        self.job = jobs.insert_job(database, make_job(MINE, batch=self.batch.id, budgets=every))
        use(database, self.job)
        with database.transaction():
            for number in range(records):
                ended_job(database, number)
        leases.enqueue(database, self.job.id, now=NOW)
        notifications.begin(database)
        batch_news.acknowledge(database, self.batch.id, 10**9)

    def steps_of(self, asks: Callable[["Queue"], object]) -> int:
        count = 0

        def step() -> int:
            nonlocal count
            count += STEPS
            return 0

        self.database.connection.set_progress_handler(step, STEPS)
        asks(self)
        self.database.connection.set_progress_handler(None, 0)
        return count


@contextmanager
def queue(folder: pytest.TempPathFactory, records: int) -> Iterator[Queue]:
    workspace = Workspace(folder.mktemp("queue"))
    workspace.sow.mkdir()
    with closing(open_queue(workspace)) as database:
        yield Queue(database, workspace, records)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    with queue(tmp_path_factory, FEW) as made:
        yield made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queue]:
    with queue(tmp_path_factory, MANY) as made:
        yield made


ASKED: dict[str, Callable[[Queue], object]] = {
    "job list": lambda q: jobs.recent_jobs(q.database, limit=20),
    "job list --task": lambda q: jobs.recent_jobs(
        q.database, limit=20, project_id=PROJECT, task_id=MINE
    ),
    "job list --active": lambda q: jobs.recent_jobs(q.database, limit=20, active_only=True),
    "last job of a task": lambda q: jobs.last_job(q.database, PROJECT, MINE),
    "batch list": lambda q: batch_summaries.counts_of(
        q.database, [found.id for found in batches.all_batches(q.database, PROJECT, limit=3)]
    ),
    "batch show": lambda q: [
        batches.items_of(q.database, q.batch.id),
        batches.jobs_of(q.database, q.batch.id),
        batches.totals_of(q.database, q.batch.id, now=1.0),
        batches.used_in(q.database, q.batch.id),
        batches.carried_by(q.database, PROJECT),
        batches.open_tasks(q.database, PROJECT),
        batches.turn_of(q.database, PROJECT),
    ],
    "the batches that have something to heed": lambda q: batch_news.pending(q.database, PROJECT),
    "a failure that is to be heeded": lambda q: batch_news.has_new_failure(q.database),
    "budgets": lambda q: accounts.accounts_of(q.database, q.job, now=NOW),
    "warnings of a job": lambda q: known_jobs.warnings_of(q.database, q.job.id),
    "what a task has used": lambda q: spending.used_for_task(q.database, PROJECT, MINE, now=NOW),
    "news": lambda q: notifications.has_news(q.database),
    "the next news": lambda q: notifications.claim_next(
        q.database, WORKER, [NotifyEvent.FAILED], now=NOW
    ),
    "notify list": lambda q: notifications.recent(q.database, 20),
    "dead notifiers": lambda q: notifications.has_orphans(q.database, q.workspace),
    "a claim": lambda q: leases.claim(q.database, WORKER, total=0, own=0, now=NOW),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_often_does_not_grow_with_the_records(
    name: str, small: Queue, large: Queue
) -> None:
    few, many = small.steps_of(ASKED[name]), large.steps_of(ASKED[name])
    assert many <= 1.3 * few + 200, f"{few} steps with {FEW} records, {many} with {MANY}"


def test_the_count_finds_what_reads_all_of_a_table(small: Queue, large: Queue) -> None:
    def asks(queue: Queue) -> object:
        return queue.database.row("select sum(usd) from spending")

    assert large.steps_of(asks) > 5 * small.steps_of(asks)


def test_who_lives_is_known_at_once_however_many_wait(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def steps(waiting: int) -> int:
        with queue(tmp_path_factory, 0) as made:
            leases.claim(made.database, WORKER, total=1, own=1, now=NOW)
            with made.database.transaction():
                for number in range(waiting):
                    jobs.insert_job(made.database, make_job(f"{number + 1000:04d}"))
            return made.steps_of(lambda q: jobs.any_live_job(q.database, PROJECT))

    assert steps(MANY) <= steps(FEW) + 2 * STEPS
