"""Where the milliseconds of one job go: from the caller's start to its end, step by step."""

import itertools
import json
import time
from collections.abc import Sequence
from contextlib import closing

from bench.place import Place
from bench.timing import Figure, time_process
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace

STEPS = (
    "the caller starts, resolves, admits: the job is on record",
    "session allocated, task marked, job queued",
    "claimed by the worker",
    "planned",
    "prompt and attempt written; the supervisor gets its orders and execs the agent",
    "the agent works",
    "the supervisor writes exit.json; judged, task and job settled",
    "the caller prints the outcome and ends",
)


def measure(place: Place, rounds: int) -> list[Figure]:
    """Return how long each step of a spawn takes, with a worker that is warm."""
    rows = [_one_spawn(place, f"{50_000 + number * 10}") for number in range(rounds + 1)][1:]
    columns = zip(*rows, strict=True)
    return [Figure(name, seconds) for name, seconds in zip(STEPS, columns, strict=True)]


def _one_spawn(place: Place, task_id: str) -> Sequence[float]:
    place.add_task(task_id)
    begun = time.time()
    words = place.sow("agent", "spawn", "implementer", task_id)
    ended = begun + time_process(words, place.root, place.env)
    moments = [begun, *_moments(place.workspace), ended]
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


def _moments(workspace: Workspace) -> list[float]:
    """Return when each step of the newest job was reached, in seconds since the epoch."""
    with closing(open_queue(workspace)) as database:
        (job,) = jobs.recent_jobs(database, limit=1)
        attempt = jobs.last_attempt(database, job.id)
    assert attempt is not None
    paths = workspace.attempt(job.id, attempt.number)
    started = json.loads(paths.started.read_bytes())["started_at"]
    exited = json.loads(paths.exit.read_bytes())["ended_at"]
    reached = (job.created_at, job.queued_at, job.started_at, attempt.created_at, started, exited)
    return [moment or 0.0 for moment in (*reached, job.ended_at)]
