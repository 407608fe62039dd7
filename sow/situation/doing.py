"""What live jobs do, or wait for: their words, and on what they wait, as `sow status` names it."""

from collections.abc import Sequence

from sow.ids import JobId
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.live_job_words import words_of
from sow.reports.prospects import Obstacle, Surroundings, look_around, look_at_staff, obstacle_of
from sow.schema.job import HeldFor, Job, JobState
from sow.situation.situation import Doing

WAITS_ON = {
    Obstacle.PAUSED: "queue",
    Obstacle.NO_WORKER: "worker",
    Obstacle.SHORT: "machine",
    Obstacle.NO_HOST: "host",
    Obstacle.EXECUTOR_FULL: "slot",
    Obstacle.CHECKS_FULL: "slot",
    Obstacle.ALL_FULL: "slot",
}
"""What keeps a job that is due from its start, as a word of `Wait.on`."""


def doing_of(
    workspace: Workspace, database: Database, live: Sequence[Job], now: float
) -> dict[JobId, Doing]:
    """Return what some live jobs do. Raises QueueError."""
    staff = look_at_staff(workspace, database)
    return {
        job.id: _doing(job, look_around(workspace, database, job, now=now, staff=staff), now)
        for job in live
    }


def _doing(job: Job, around: Surroundings, now: float) -> Doing:
    activity = around.activity
    words = words_of(job, around, now)
    if activity is not None and job.state is JobState.RUNNING:
        words = str(activity) if activity.stalled else activity.words
    quiet = activity.quiet_seconds if activity is not None else None
    return Doing(words, quiet, _waits_on(job, around, now), around.ran_on)


def _waits_on(job: Job, around: Surroundings, now: float) -> str:
    match job.state:
        case JobState.HELD:
            return "dependency" if job.held_for is HeldFor.DEPENDENCIES else "trust"
        case JobState.PARKED if job.retry_at > now:
            return "limit"
        case JobState.BACKOFF if job.held_for is HeldFor.SHARE or job.retry_at > now:
            return "time"
        case JobState.QUEUED | JobState.PARKED | JobState.BACKOFF:
            obstacle = obstacle_of(job, around)
            return WAITS_ON[obstacle] if obstacle is not None else ""
        case _:
            return ""
