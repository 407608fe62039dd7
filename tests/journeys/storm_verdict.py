"""The promises that a storm must not break (DESIGN, "Quality bars"), and which of them it did."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from journeys.site import Site, wait_until
from journeys.storm_lives import Life, read_lives

from sow.jobs import jobs, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Cause, Job, JobState

RUNS = {"plain": 1, "leaving": 1, "crashing": 2, "cancelled": 1}
"""How often the agent of a kind of task is run: not more, whoever dies."""


def broken_promises(
    site: Site, database: Database, kinds: dict[str, str], told: dict[str, dict[str, Any]]
) -> list[str]:
    """Return what a storm has broken, a sentence each. `told` is what callers got, by task."""
    found = jobs.recent_jobs(database, limit=10_000)
    lives = list(read_lives(site.root).values())
    broken: list[str] = []
    for task, kind in kinds.items():
        mine = [job for job in found if job.task_id == task]
        broken += of_records(site, task, kind, mine)
        broken += of_outcome(task, mine[0] if mine else None, told.get(task))
        broken += of_lives(task, kind, [life for life in lives if life.task == task])
    return [*broken, *of_the_rest(site, database)]


def of_records(site: Site, task: str, kind: str, mine: list[Job]) -> Iterator[str]:
    """One job, which ended as its agent did, and a task that says so."""
    if len(mine) != 1:
        yield f"{task} has {len(mine)} jobs"
    cancelled = kind == "cancelled"
    expected = (
        (JobState.CANCELLED, Cause.CANCELLED, "paused")
        if cancelled
        else (JobState.DONE, Cause.REPORTED, "needs_review")
    )
    for job in mine:
        recorded = (job.state, job.cause, job.outcome_status)
        if recorded != expected:
            yield f"{task} ({kind}) is on record as {recorded}, {job.reason!r}"
    status = site.task(task)["status"]
    if status != expected[2]:
        yield f"{task} ({kind}) is {status}"


def of_outcome(task: str, job: Job | None, told: dict[str, Any] | None) -> Iterator[str]:
    """Every caller that asks again is told what is on record."""
    if told is None:
        yield f"nobody was told of {task}"
    elif job is not None:
        recorded = (job.id, job.state, job.outcome_status, job.cause)
        if (told["job"], told["state"], told["status"], told["cause"]) != recorded:
            yield f"of {task} was told {told}; on record is {recorded}"


def of_lives(task: str, kind: str, mine: list[Life]) -> Iterator[str]:
    """No agent is run twice at the same time, none again after its report."""
    if len(mine) != RUNS[kind]:
        yield f"{task} ({kind}) was run {len(mine)} times"
    for life in mine:
        if "met" in life.said:
            yield f"{task} was run while its earlier agent lived"
        if "refused" in life.said:
            yield f"the report of {task} was refused"
    for first, second in pairwise(mine):
        if second.said["begin"] < first.said.get("end", 0.0):
            yield f"{task} was run twice at the same time"


def of_the_rest(site: Site, database: Database) -> Iterator[str]:
    """No slot, no queue row, no waiter of a live job, no worker's name, no process is left."""
    for table in ("lease", "task", "aside"):
        if rows := [tuple(row) for row in database.rows(f"select * from {table}")]:
            yield f"left in {table}: {rows}"
    if waiting := database.rows(
        "select job_id from waiter join job on job.id = job_id"
        " where job.state not in ('done', 'failed', 'cancelled')"
    ):
        yield f"waiters of live jobs: {[row['job_id'] for row in waiting]}"
    workspace = Workspace(site.root)
    names = {record.id for record in workers.registered(database)}
    names |= {path.stem for path in workspace.workers.glob("*.lock")}  # type: ignore[arg-type]
    if names:
        yield f"left on record: {sorted(names)}"
    with suppress(AssertionError):
        wait_until(lambda: not carriers(site.root), "no process is left", seconds=15)
    if left := carriers(site.root):
        yield f"left running: {left}"


def carriers(root: Path) -> list[int]:
    """Return the processes that belong to any attempt of a workspace."""
    marker, found = f"SOW_ROOT={root}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                variables = (entry / "environ").read_bytes().split(b"\0")
                if marker in variables and any(v.startswith(b"SOW_ATTEMPT_ID=") for v in variables):
                    found.append(int(entry.name))
    return found
