"""What a live job does or waits for now, in a few words: for a line beside others.

Owns those words. `explain` tells the same at length, by the same rules
(`prospects`, `activity`), and with what can be done about it.
"""

from sow.clock import Times, format_duration, format_time
from sow.jobs.hosts import Host
from sow.reports.prospects import Obstacle, Surroundings, obstacle_of
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.output.hosts import SilentHost


def words_of(job: Job, around: Surroundings, now: float) -> str:
    """Return what a job does or waits for, as its surroundings tell it; empty once it ended."""
    match job.state:
        case JobState.RUNNING if kind_of(job).is_interactive:
            return "open on a terminal"
        case JobState.RUNNING if job.cancel_requested_at is not None:
            return "it is being ended"
        case JobState.RUNNING if around.host is not None and around.activity is None:
            return where_it_runs(around.host)
        case JobState.RUNNING:
            agents = "its agent is being started"
            return str(around.activity or (agents if kind_of(job).is_agents else "it is started"))
        case JobState.HELD:
            return _held(job)
        case JobState.QUEUED:
            return _in_the_way(job, around)
        case JobState.BACKOFF if job.held_for is HeldFor.SHARE:
            return job.reason.strip().partition("\n")[0]
        case JobState.BACKOFF | JobState.PARKED:
            if job.retry_at > now:
                return f"again in {format_duration(job.retry_at - now)}{_because(job)}"
            return _in_the_way(job, around)
        case _:
            return ""


def _in_the_way(job: Job, around: Surroundings) -> str:
    match obstacle_of(job, around):
        case Obstacle.PAUSED:
            return "the queue is paused (`sow queue resume` continues it)"
        case Obstacle.NO_WORKER:
            return "no worker runs (`sow worker` starts one)"
        case Obstacle.SHORT:
            return f"waits for room: {around.short_of}"
        case Obstacle.NO_HOST:
            return f"waits for a host: {around.lacks}"
        case Obstacle.CHECKS_FULL:
            return f"waits for its turn: {around.running_alike} of {around.checks} checks run"
        case Obstacle.EXECUTOR_FULL:
            most = job.agents_executor.max_parallel or around.most_alike
            return f"waits for a slot: {around.running_alike} of {most} {job.executor_name} run"
        case Obstacle.ALL_FULL:
            return f"waits for a slot: {around.running} of {around.capacity} agents run"
        case _:
            return ""


def where_it_runs(host: Host) -> str:
    """Return on which host a job runs whose output cannot be looked at here."""
    if host.is_heard:
        return f"runs on {host.node}"
    return f"on {host.node}, which has been silent for {format_duration(host.silent_seconds)}"


def silent_view(host: Host, now: float) -> SilentHost:
    """Return a host that is not heard any more, as every command shows it."""
    since = format_time(now - host.silent_seconds)
    return SilentHost(host=host.name, silent_since=since, job_count=host.jobs)


def silence_of(host: SilentHost, now: float) -> str:
    """Return since when a host is not heard any more, and how many jobs it has."""
    jobs = host.job_count
    has = f", and has {jobs} job{'s' * (jobs != 1)}" if jobs else ""
    return f"{host.host} is not heard since {Times(now).of_record(host.silent_since)}{has}"


def _held(job: Job) -> str:
    return job.reason.strip().partition("\n")[0] or "held: `sow trust` lets it go on"


def _because(job: Job) -> str:
    lines = job.reason.strip().splitlines()
    return f": {lines[0]}" if lines else ""
