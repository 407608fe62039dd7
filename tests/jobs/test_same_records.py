"""The same story leaves the same records in a file and on a server, whose triggers are two texts.

A story is many changes, drawn by a seed: jobs of one task and of several, claims, attempts and what
they use, ends, waits, cancels, holds, workers that are short of room, a batch and its items.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import postgres
import pytest
from queue_cases import NOW, OTHER_WORKER, PROJECT, WORKER, make_job
from stores import name_server, opened

from sow.ids import AttemptId, BatchId, JobId, TaskId
from sow.jobs import batches, control, jobs, leases, pruning, records, spending, waiters, workers
from sow.jobs.database import Database, open_queue
from sow.jobs.jobs import TaskIsTaken
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.amounts import Amounts
from sow.schema.batch import Batch, BatchState, ItemState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.change import ChangeKind
from sow.schema.job import Attempt, Cause, Job, JobState, Verb, WorkerRecord
from sow.schema.job_terms import MergeTerms
from sow.schema.usage import RunUsage, Tokens

STEPS = 300
TASKS = tuple(TaskId(f"{number:02}0") for number in range(1, 9))
TABLES = (
    *("job", "attempt", "lease", "fence", "occupied", "change", "spending", "spent", "task"),
    *("job_history", "batch", "batch_item", "merge_turn", "worker", "waiter", "sqlite_sequence"),
)
OF_STORE = {
    "change": {"at"},
    "job": {"queue_row", "lane"},
    "lease": {"deadline"},
    "task": {"id"},
    "worker": {"beat_at"},
    "job_history": {"since", *(state.value for state in JobState if not state.is_final)},
}
"""The columns that are a store's own: its clock, its lanes, and how it numbers huey's rows."""


class Story:
    """What happens to a queue."""

    def __init__(self, database: Database, seed: int) -> None:
        self.database, self.dice, self.now = database, Random(seed), NOW

    def tell(self) -> None:
        self.hire()
        self.make_batch()
        for _ in range(STEPS):
            self.now += self.dice.random()
            self.dice.choice(self.happenings)()

    @property
    def happenings(self) -> list[Callable[[], None]]:
        often = [self.place, self.claim, self.use, self.end]
        seldom = [self.merge, self.wait, self.cancel, self.hold, self.take_over, self.run_short]
        rare = [self.change_batch, self.change_item, self.forget, self.note_status, self.await_job]
        return [*often * 3, *seldom, *rare]

    def hire(self) -> None:
        identity = process_facts.identify(os.getpid())
        assert identity is not None
        for name in (WORKER, OTHER_WORKER):
            record = WorkerRecord(
                id=name,
                process=identity,
                concurrency=4,
                version="0",
                background=False,
                started_at=NOW,
            )
            workers.register(self.database, record)

    def make_batch(self) -> None:
        batch = Batch(
            id=BatchId(0),
            project_id=PROJECT,
            name="all",
            selection=Selection(tasks=TASKS[:3]),
            policy=BatchPolicy(),
            path_variable="",
            made_at=NOW,
        )
        batches.add_items(self.database, batches.insert_batch(self.database, batch), TASKS[:3])

    def some(self, *states: JobState) -> Job | None:
        found = [job for job in jobs.recent_jobs(self.database, limit=500) if job.state in states]
        return self.dice.choice(sorted(found, key=lambda job: job.id)) if found else None

    def place(self) -> None:
        executor = self.dice.choice(["claude-code", "cursor"])
        job = make_job(self.dice.choice(TASKS), executor=executor, created_at=self.now)
        with suppress(TaskIsTaken):
            leases.enqueue(self.database, jobs.insert_job(self.database, job).id, now=self.now)

    def merge(self) -> None:
        terms = MergeTerms(tasks=tuple(self.dice.sample(TASKS, 3)))
        job = make_job(terms.tasks[0], verb=Verb.MERGE, executor=None, agent="", terms=terms)
        with suppress(TaskIsTaken):
            leases.enqueue(self.database, jobs.insert_job(self.database, job).id, now=self.now)

    def claim(self) -> None:
        worker = self.dice.choice([WORKER, OTHER_WORKER])
        leases.claim(self.database, worker, total=4, own=3, now=self.now)
        for lease in leases.leases_of(self.database, worker):
            job = jobs.get_job(self.database, lease.job_id)
            last = jobs.last_attempt(self.database, job.id)
            if last is None or last.cause is not None:
                self.begin(job, 1 if last is None else last.number + 1)

    def begin(self, job: Job, number: int) -> None:
        attempt = Attempt(
            job_id=job.id,
            number=number,
            id=AttemptId(f"{job.id}.{number}.x"),
            verb=job.verb,
            worker_id=WORKER,
            session_id=f"s{job.id}",
            created_at=self.now,
        )
        with self.database.transaction():
            jobs.insert_attempt(self.database, attempt)
            if job.executor is not None:
                share = Amounts(usd=self.dice.choice([None, 0.5]), tokens=1000.0)
                spending.begin(self.database, job, attempt, share)

    def running(self) -> tuple[Job, Attempt] | None:
        job = self.some(JobState.RUNNING)
        attempt = jobs.last_attempt(self.database, job.id) if job is not None else None
        return (job, attempt) if job is not None and attempt is not None else None

    def use(self, **more: Any) -> None:
        found = self.running()
        if found is not None and found[0].executor is not None:
            tokens = self.dice.choice([None, Tokens(input=10, output=self.dice.randint(0, 90))])
            usd = self.dice.choice([None, 0.25, 1.5])
            run = RunUsage(tokens=tokens, usd=usd, is_unpriced=usd is None)
            spending.note(self.database, *found, run, None, **more)

    def end(self) -> None:
        found = self.running()
        if found is None:
            return
        job, attempt = found
        lease = leases.lease_of(self.database, job.id)
        assert lease is not None
        cause = self.dice.choice([Cause.REPORTED, Cause.CRASHED, Cause.TIMED_OUT])
        ended = {"cause": cause, "reason": 'so "it" was\n', "ended_at": self.now}
        jobs.change_attempt(self.database, job.id, attempt.number, **ended)
        spending.close(self.database, job.id, now=self.now)
        with suppress(leases.EndIsAsked):
            if cause is Cause.CRASHED:
                at, state = self.now + 5, JobState.BACKOFF
                leases.requeue(self.database, lease, state=state, retry_at=at, now=self.now)
                return
            state = JobState.DONE if cause is Cause.REPORTED else JobState.FAILED
            changes = {"state": state, "cause": cause, "ended_at": self.now, "settled": 1}
            owes = self.dice.random() < 0.3
            leases.settle(self.database, lease, **changes, reason="r" * 1500, owes_task=owes)

    def wait(self) -> None:
        leases.mend_waits(self.database, now=self.now)
        leases.next_retry_at(self.database, now=self.now)

    def cancel(self) -> None:
        job = self.some(JobState.QUEUED, JobState.BACKOFF)
        if job is not None and leases.withdraw(self.database, job.id):
            asked = {"cancel_requested_at": self.now, "ended_at": self.now}
            jobs.change_job(self.database, job.id, state=JobState.CANCELLED, **asked)

    def hold(self) -> None:
        found = self.running()
        if found is not None:
            lease = leases.lease_of(self.database, found[0].id)
            assert lease is not None
            leases.hold(self.database, lease, reason="a person looks")
        held = [job.id for job in jobs.active_jobs(self.database) if job.state is JobState.HELD]
        leases.release_held(self.database, held[::2], now=self.now)

    def take_over(self) -> None:
        leases.take_over(self.database, WORKER, OTHER_WORKER, now=self.now)

    def run_short(self) -> None:
        worker = self.dice.choice([WORKER, OTHER_WORKER])
        workers.say_short(self.database, worker, self.dice.choice(["", "", "too little memory"]))

    def change_batch(self) -> None:
        state = self.dice.choice([BatchState.RUNNING, BatchState.PAUSED])
        batches.change_batch(self.database, BatchId(1), state=state, reason="by a person")
        control.pause(self.database, now=self.now)
        control.unpause(self.database)

    def change_item(self) -> None:
        task, state = self.dice.choice(TASKS[:3]), self.dice.choice(list(ItemState))
        changes = {"state": state, "reason": state.value, "refusal": self.dice.choice(["", "no"])}
        batches.change_item(self.database, BatchId(1), task, **changes)

    def forget(self) -> None:
        ended = [job.id for job in pruning.ended_jobs(self.database)]
        pruning.forget(self.database, ended[:1])

    def note_status(self) -> None:
        fields = {"project": PROJECT, "task": self.dice.choice(TASKS), "kind": ChangeKind.STATUS}
        records.insert(self.database, "change", {**fields, "data": {"status": "paused"}})

    def await_job(self) -> None:
        job = self.some(JobState.QUEUED, JobState.RUNNING)
        if job is not None:
            waiters.put_into(self.database, "m1-00000000", JobId(job.id), now=self.now)


def dump(database: Database, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as values that both stores have alike."""
    for row in database.rows(f"select * from {table}"):
        columns = zip(row.keys(), row, strict=True)
        hidden = OF_STORE.get(table, set())
        yield {name: plain(value) for name, value in columns if name not in hidden}


def plain(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError):
            return json.dumps(json.loads(value), sort_keys=True)
    return round(float(value), 6) if isinstance(value, int | float) else value


def records_of(database: Database) -> dict[str, list[str]]:
    return {
        table: sorted(
            json.dumps(row, sort_keys=True, default=repr) for row in dump(database, table)
        )
        for table in TABLES
    }


@pytest.mark.slow
@pytest.mark.one_of
@pytest.mark.parametrize("seed", range(3))
def test_the_same_story_leaves_the_same_records(
    tmp_path: Path, poisoned_home: Path, postgres_server: postgres.Server, seed: int
) -> None:
    mine, servers = Workspace(tmp_path / "mine"), Workspace(tmp_path / "servers")
    for workspace in (mine, servers):
        workspace.sow.mkdir(parents=True)
    with closing(open_queue(mine)) as database:
        Story(database, seed).tell()
        in_file = records_of(database)
    name_server(poisoned_home, postgres_server)
    with opened(servers, postgres_server.url) as database:
        Story(database, seed).tell()
        on_server = records_of(database)
    for table in TABLES:
        assert on_server[table] == in_file[table], table
    assert len(in_file["change"]) > STEPS / 2
    assert in_file["spent"]
