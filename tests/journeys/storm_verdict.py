"""The promises that a storm must not break (DESIGN, "Quality bars"), and which of them it did.

Each sentence begins with the promise: nothing has `failed` that could go on,
nothing is `lost`, nothing `doubled`, nothing `left` behind.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from journeys.storm_lives import Life, Lives
from journeys.storm_plan import Plan

from sow.jobs import jobs, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Attempt, Cause, Job, JobState, Verb

PROMISES = ("failed", "lost", "doubled", "left")
RUNS = {"plain": 1, "leaving": 1, "crashing": 2, "cancelled": 1}
"""How often the agent of a kind of task is run: not more, whoever dies, if not the agent."""


def broken_promises(
    site: Site,
    database: Database,
    plan: Plan,
    kinds: dict[str, str],
    outcomes: dict[str, dict[str, Any]],
) -> list[str]:
    """Return what a storm has broken, a sentence each. `outcomes` is what callers got, by task."""
    found = [job for job in jobs.recent_jobs(database, limit=10_000) if not was_given_up(job)]
    lives = list(Lives(site.root).read().values())
    broken: list[str] = []
    for task, kind in kinds.items():
        mine = [job for job in found if job.task_id == task]
        broken += of_records(site, task, kind, mine)
        broken += of_outcome(task, mine[0] if mine else None, outcomes.get(task))
        for job in mine:
            attempts = jobs.attempts(database, job.id)
            broken += of_sessions(task, attempts)
            broken += of_accounts(job, attempts)
        ran = [life for life in lives if life.task == task]
        broken += of_lives(task, ran)
        broken += of_repeated_lives(task, ran) if plan.sessions else of_counts(task, kind, ran)
    return [*broken, *of_the_rest(site, database)]


def was_given_up(job: Job) -> bool:
    """Whether a job was undone because its caller was killed before it was queued.

    It has run nothing, and whoever asks again gets another.
    """
    return job.state is JobState.CANCELLED and job.queued_at is None


def of_records(site: Site, task: str, kind: str, mine: list[Job]) -> Iterator[str]:
    """One job, which ended as its agent did, and a task that says so."""
    if len(mine) != 1:
        yield f"{'doubled' if mine else 'lost'}: {task} has {len(mine)} jobs"
    cancelled = kind == "cancelled"
    expected = (
        (JobState.CANCELLED, Cause.CANCELLED, "paused")
        if cancelled
        else (JobState.DONE, Cause.REPORTED, "needs_review")
    )
    for job in mine:
        recorded = (job.state, job.cause, job.outcome_status)
        if recorded != expected:
            yield f"failed: {task} ({kind}) is on record as {recorded}, {job.reason!r}"
    status = site.task(task)["status"]
    if status != expected[2]:
        yield f"failed: {task} ({kind}) is {status}"


def of_accounts(job: Job, attempts: Sequence[Attempt]) -> Iterator[str]:
    """The job's accounts are those of its last attempt: no worker that was replaced wrote them."""
    last = attempts[-1].number if attempts else 0
    if job.state.is_final and job.settled != last:
        yield f"doubled: job {job.id} was settled by attempt {job.settled} after attempt {last}"


def of_outcome(task: str, job: Job | None, outcome: dict[str, Any] | None) -> Iterator[str]:
    """Every caller that asks again is told what is on record."""
    if outcome is None:
        yield f"lost: nobody was told of {task}"
    elif job is not None:
        recorded = (job.id, job.state, job.outcome_status, job.cause)
        if (outcome["job"], outcome["state"], outcome["status"], outcome["cause"]) != recorded:
            yield f"lost: of {task} was told {outcome}; on record is {recorded}"


def of_sessions(task: str, attempts: Sequence[Attempt]) -> Iterator[str]:
    """No session is begun again that its CLI has told to be in use."""
    in_use: set[str | None] = set()
    for each in attempts:
        if each.verb is Verb.SPAWN and each.session_id in in_use:
            yield f"doubled: {task} was spawned again in a session in use: attempt {each.number}"
        if each.cause is Cause.SESSION_IN_USE:
            in_use.add(each.session_id)


def of_lives(task: str, mine: list[Life]) -> Iterator[str]:
    """No agent is run twice at the same time, and none is refused its report."""
    if not mine:
        yield f"lost: {task} was never run"
    for life in mine:
        if "met" in life.signs:
            yield f"doubled: {task} was run while its earlier agent lived: {life.attempt}"
        if "refused" in life.signs:
            yield f"lost: the report of {task} was refused: {life.attempt}"
    for first, second in pairwise(mine):
        if second.signs["begin"] < first.last_sign:
            yield f"doubled: {task} was run twice at the same time: {second.attempt}"


def of_counts(task: str, kind: str, mine: list[Life]) -> Iterator[str]:
    """Where no agent is killed, none is run again but those that crash."""
    if len(mine) != RUNS[kind]:
        yield f"doubled: {task} ({kind}) was run {len(mine)} times"


def of_repeated_lives(task: str, mine: list[Life]) -> Iterator[str]:
    """No agent is run again after a report that was taken."""
    for life in mine:
        if "finished" in life.signs:
            yield f"doubled: {task} was run again after its report: {life.attempt}"
    for life in mine[:-1]:
        if "reported" in life.signs:
            yield f"doubled: {task} was run again after {life.attempt} had reported"


def of_the_rest(site: Site, database: Database) -> Iterator[str]:
    """No slot, no queue row, no waiter of a live job, no worker's name, no process is left."""
    for table in ("lease", "task", "aside"):
        if rows := [tuple(row) for row in database.rows(f"select * from {table}")]:
            yield f"left: in {table}: {rows}"
    if waiting := database.rows(
        "select job_id from waiter join job on job.id = job_id"
        " where job.state not in ('done', 'failed', 'cancelled')"
    ):
        yield f"left: waiters of live jobs: {[row['job_id'] for row in waiting]}"
    workspace = Workspace(site.root)
    names = {record.id for record in workers.registered(database)}
    names |= {path.stem for path in workspace.workers.glob("*.lock")}  # type: ignore[arg-type]
    if names:
        yield f"left: on record: {sorted(names)}"
    with suppress(AssertionError):
        wait_until(lambda: not carriers(site.root), "no process is left", seconds=15)
    if left := carriers(site.root):
        yield f"left: running: {left}"


def carriers(root: Path) -> list[int]:
    """Return the processes that belong to any attempt of a workspace."""
    return processes_with(f"SOW_ROOT={root}", "SOW_ATTEMPT_ID=")


def processes_with(*beginnings: str) -> list[int]:
    """Return the processes that carry, for each of these, a variable that begins so."""
    wanted, found = [f"\0{each}".encode() for each in beginnings], []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                variables = b"\0" + (entry / "environ").read_bytes()
                if all(each in variables for each in wanted):
                    found.append(int(entry.name))
    return found
