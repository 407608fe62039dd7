"""What a person can do about a job: the command or the setting, in a sentence.

Pure. Owns the way from a cause, or from what an agent has left, to an action.
What happened, and what sow does by itself, is `explain`'s.
"""

from collections.abc import Sequence

from sow.executors.registry import make_executor
from sow.schema.job import Attempt, Cause, Job, JobState, Verb
from sow.schema.task import TaskStatus

FILE = "`sow config path` names the file"
LOOK = "See its last words: `sow job logs {job}`, and with --stderr. Then go on"
CURES = {
    Cause.AUTH: "Log in to the CLI of {executor} as the user who runs the worker (run it once by"
    " hand). Then go on",
    Cause.BAD_MODEL: f"Correct {{settings}}.settings.model ({FILE}). Then go on",
    Cause.BAD_FLAGS: f"Correct {{settings}}.custom_args ({FILE}). Then go on",
    Cause.CONFIGURATION: f"Correct {{settings}} ({FILE}). Then go on",
    Cause.MISSING_BINARY: "Install the program, or add its folder to PATH. Then go on",
    Cause.DENIED: "Allow what was denied, as told above. Then go on",
    Cause.TIMED_OUT: "Give it more time ({settings}.timeout), or a smaller task. Then go on",
    Cause.STALLED: "See what it did last: `sow job logs {job}`. Then go on, with a hint",
    Cause.RATE_LIMITED: "Wait until the limit resets; with retry.on_quota: true, sow does so"
    " itself. Then go on",
    Cause.NO_STATUS: "See whether the work is done: `sow job logs {job}`. If it is:"
    " `sow task set {task} status needs_review`. If not, go on",
    Cause.STATE_UNREADABLE: "The last valid state.yaml is back; what the agent made of it is kept"
    " beside it, as state.yaml.invalid-…. Go on",
    Cause.WORKER_DIED: "See why the workers died: `sow worker logs`, and the machine's memory."
    " Then go on",
    Cause.SESSION_UNKNOWN: "To start over",
    Cause.INTERNAL: "This is a bug in sow: `sow worker logs` holds the traceback. To go on",
}
"""What cures a failure; each ends where the command that goes on follows."""


def advice(job: Job, attempts: Sequence[Attempt]) -> str:
    """Return how to act on a job; empty where there is nothing to do."""
    match job.state:
        case JobState.DONE:
            return _about_status(job)
        case JobState.CANCELLED:
            return f"To go on: {go_on(job, attempts)}."
        case JobState.FAILED:
            return _about_failure(job, go_on(job, attempts))
        case JobState.RUNNING if job.verb is Verb.OPEN:
            return ""  # it is in a person's hands
        case JobState.RUNNING:
            return f"To watch it: `sow job logs {job.id} --follow`. {_to_end(job)}"
        case JobState.PARKED:
            return (
                f"Rather not wait? `sow agent cancel {job.task_id}`, then bind {job.agent} to"
                f" another executor and `sow agent spawn {job.agent} {job.task_id} --fresh`."
            )
        case _:
            return _to_end(job)


def go_on(job: Job, attempts: Sequence[Attempt]) -> str:
    """Return the command that goes on with a job's task after its end."""
    has_session = job.verb is Verb.RESUME or any(one.session_id is not None for one in attempts)
    if has_session and make_executor(job.executor).supports_resumption:
        return f'`sow agent resume {job.task_id} "Go on."`'
    return f"`sow agent spawn {job.agent} {job.task_id}`"


def _to_end(job: Job) -> str:
    return f"To end it: `sow agent cancel {job.task_id}`."


def _about_status(job: Job) -> str:
    """Return what an agent that has reported waits for."""
    task = job.task_id
    match job.outcome_status:
        case TaskStatus.PAUSED:
            return f'Its question is at the end of log.md. Answer: `sow agent resume {task} "…"`.'
        case TaskStatus.NEEDS_REVIEW:
            return (
                f"Review its work. Accept it: `sow task set {task} status completed`. "
                f'Send it back: `sow agent resume {task} "…"`.'
            )
        case TaskStatus.FAILED:
            return f'Its reason is at the end of log.md. Go on: `sow agent resume {task} "…"`.'
        case _:
            return ""


def _about_failure(job: Job, again: str) -> str:
    """Return what cures a failure, and the command to go on with."""
    cure = CURES.get(job.cause or Cause.INTERNAL, LOOK)
    facts = {"executor": job.executor.name, "job": job.id, "task": job.task_id}
    told = cure.format(settings=f"agents.executors.{job.executor.name}", **facts)
    if job.cause is Cause.SESSION_UNKNOWN:
        return f"{told}: `sow agent spawn {job.agent} {job.task_id} --fresh`."
    return f"{told}: {again}."
