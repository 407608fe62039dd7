"""What the live view costs with a thousand jobs: a redraw after a change, and looking at nothing.

In process and without a terminal, on Textual's own driver for tests; a job's change is a commit
by another connection, as a worker's is.
"""

import asyncio
import gc
import os
import time
from dataclasses import dataclass

from textual.pilot import Pilot

from bench.place import make_place
from bench.timing import Figure
from sow import quick_start
from sow.calls.caller import Caller
from sow.cli.output import COLOURS
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.state.projects import read_project
from sow.watching.app import TICK_SECONDS, WatchApp
from sow.watching.drawing import styles_of
from sow.watching.listing import Listing
from tests.jobs.queue_cases import make_job

JOBS = 1_000
SIZE = (160, 50)
IDLE_SECONDS = 20.0
SETTLE_SECONDS = 5.0


@dataclass(frozen=True)
class ViewCost:
    """What the view costs."""

    redraw: Figure
    """From a look that finds a change to the lines on the screen, in seconds of a processor."""
    idle_share: float
    """Of one core, while nothing changes."""


def measure(rounds: int) -> ViewCost:
    """Return what the view costs with so many tasks, each with a job that waits.

    As in `sow watch`, Python looks for garbage as rarely as `quick_start.begin` has it.
    """
    gc.set_threshold(quick_start.ALLOCATIONS)
    with make_place() as place:
        for number in range(JOBS):
            place.add_task(_task(number))
        database = open_queue(place.workspace)
        try:
            _place_jobs(place.workspace, database)
            return asyncio.run(_watched(place.workspace, database, rounds))
        finally:
            database.close()


def _task(number: int) -> TaskId:
    return TaskId(f"{1000 + number * 10:05}")


def _place_jobs(workspace: Workspace, database: Database) -> None:
    project = ProjectId(read_project(workspace).id)
    with database.transaction():
        for number in range(JOBS):
            job = make_job(_task(number), project_id=project, state=JobState.QUEUED)
            jobs.insert_job(database, job)


async def _watched(workspace: Workspace, database: Database, rounds: int) -> ViewCost:
    app = WatchApp(Caller(workspace, dict(os.environ), workspace.root), styles_of(COLOURS))
    async with app.run_test(size=SIZE) as pilot:
        while app.query_one(Listing).chosen is None:
            await pilot.pause(TICK_SECONDS)
        await asyncio.sleep(SETTLE_SECONDS)
        idle = await _idle_share()
        seconds = [await _redraw(pilot, database, number) for number in range(rounds + 1)]
    return ViewCost(Figure("redraw", seconds[1:]), idle)


async def _idle_share() -> float:
    before, begun = time.process_time(), time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    return (time.process_time() - before) / (time.perf_counter() - begun)


async def _redraw(pilot: Pilot[None], database: Database, number: int) -> float:
    """Return how much of a processor it takes until a change is on the screen."""
    listing = pilot.app.query_one(Listing)
    state = (JobState.HELD, JobState.QUEUED)[number % 2]
    jobs.change_job(database, JobId(1), state=state)
    before = time.process_time()
    while (1, state) not in {(row.job, row.job_state) for row in listing.visible_rows}:
        await asyncio.sleep(TICK_SECONDS / 10)
    await pilot.pause()
    return time.process_time() - before
