"""Queues to claim from, drawn; and the claim as it was before: it looks at every message."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from hypothesis import strategies as st
from queue_cases import NOW, insert
from test_fair_share import make_batch

from sow.ids import JobId, WorkerId
from sow.jobs import batches, jobs, leases
from sow.jobs.database import Database
from sow.schema.batch import BatchState
from sow.schema.job import HeldFor, Job, JobState, Verb
from sow.schema.job_terms import AuthorTerms, CheckTerms

EVERY = "select id from task"
"""What a claim had to choose from before there were lanes."""


class Drawn(NamedTuple):
    """A job, or a message without one."""

    executor: str | None
    most: int | None = None
    priority: int = 0
    batch: int = 0
    """The place of its batch; 0 for a single call."""
    is_step: bool = False
    waits: bool = False
    """For its time to be tried again."""
    is_held: bool = False
    """For what is left of a budget."""
    is_joined: bool = True
    """Whether its message asks for it."""
    requires: tuple[str, ...] = ()


DRAWN = st.builds(
    Drawn,
    st.sampled_from(["claude-code", "gpu", None]),
    st.sampled_from([None, None, 1, 2]),
    st.sampled_from([-1, 0, 0, 5]),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([False, False, True]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([True, True, True, True, False]),
    st.sampled_from([(), (), ("gpu",), ("gpu", "linux")]),
)
LIMITS = st.fixed_dictionaries(
    {
        "total": st.integers(0, 4),
        "own": st.integers(0, 4),
        "checks": st.integers(0, 2),
        "most": st.sampled_from([None, None, 1, 3]),
    }
)


def empty(database: Database) -> None:
    """Remove what an earlier example has left."""
    with database.transaction():
        for table in ("task", "aside", "lease", "waiter", "attempt", "job", "batch_item", "batch"):
            database.run(f"delete from {table} where true")  # counted, also where it is empty


def put(database: Database, drawn: list[Drawn]) -> list[Job]:
    """Put batches on record, and jobs that are not queued yet."""
    names = [f"{100 + number}" for number in range(len(drawn))]
    for place in (1, 2):
        of_it = [name for name, its in zip(names, drawn, strict=True) if its.batch == place]
        made = make_batch(database, *of_it) if of_it else None
        if made is not None and place == 2:
            batches.change_batch(database, made.id, state=BatchState.PAUSED)
    return [_put(database, name, its) for name, its in zip(names, drawn, strict=True)]


def _put(database: Database, name: str, its: Drawn) -> Job:
    asked: dict[str, Any] = {"terms": AuthorTerms(requires=its.requires) if its.requires else None}
    if its.executor is None:
        asked = {"verb": Verb.CHECK, "terms": CheckTerms(names=(), requires=its.requires)}
    job = insert(
        database, name, executor=its.executor, max_parallel=its.most, priority=its.priority, **asked
    )
    if its.is_step and its.batch:
        jobs.change_job(database, job.id, batch_step=1)
    return job


def queue(database: Database, job: Job, its: Drawn) -> None:
    """Put a job into the queue, or a message without one."""
    if its.is_joined:
        leases.enqueue(database, job.id, now=NOW, retry_at=NOW + 60 if its.waits else 0.0)
        if its.is_held:
            jobs.change_job(database, job.id, held_for=HeldFor.SHARE)
    else:
        data = b"a stray of job %d" % job.id
        leases.enqueue_message(database, data, priority=its.priority, now=NOW)


@contextmanager
def looking_at_every_message(database: Database) -> Iterator[None]:
    """Have claims look at every message, as they did before."""
    heads, database.heads = database.heads, EVERY
    try:
        yield
    finally:
        database.heads = heads


def claim(database: Database, worker: WorkerId, now: float, limits: Any) -> JobId | None:
    """Claim once; fail unless it takes the very job that a look at every message finds."""
    parameters = leases._parameters(worker, now, limits)

    def found(statement: str) -> Mapping[str, Any] | None:
        row = leases._look(database, statement, parameters)
        return None if row is None else {name: row[name] for name in row.keys()}  # noqa: SIM118

    with looking_at_every_message(database):
        expected, is_any = found(leases.CLAIMABLE), found(leases.ANY_CLAIMABLE) is not None
    assert found(leases.CLAIMABLE) == expected
    assert leases.is_any_claimable(database, worker, now=now, **limits) is is_any
    before = leases.leased_jobs(database)
    taken = leases.claim(database, worker, now=now, **limits)
    assert (taken is None) or (expected is not None)
    return next(iter(leases.leased_jobs(database) - before), None)


def end(database: Database, job_id: JobId) -> None:
    """Settle a job that runs."""
    lease = leases.lease_of(database, job_id)
    assert lease is not None
    leases.settle(database, lease, state=JobState.DONE, ended_at=NOW)
