"""What a person can do about a job: the command or the setting, in a sentence.

Pure. Owns the way from a job, or from what an agent has left, to an action; what cures
each cause stands in the table of causes (`sow.schema.cause_table`).
What happened, and what sow does by itself, is `explain`'s.
"""

from collections.abc import Sequence

from sow.ids import TaskId
from sow.lifecycle.task_ways import accepting
from sow.reports.limits import option_of
from sow.reports.task_now import NOT_LOOKED_AT, TaskNow
from sow.reports.wording import again
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, JobState
from sow.schema.kinds import SessionUse, kind_of
from sow.schema.task import ReviewVerdict, TaskStatus

JUDGED = (TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.FAILED)
"""The statuses in which a verdict waits for somebody to act on it."""


def advice(
    job: Job,
    attempts: Sequence[Attempt],
    task: TaskNow = NOT_LOOKED_AT,
    *,
    with_words: bool = False,
) -> str:
    """Return how to act on a job; empty where there is nothing to do.

    `task` is how its task stands now: what others have gone on with is not advised on.
    `with_words` is for readers who are told what its agent asks, or why it gave up, as well.
    """
    if not kind_of(job).is_agents:
        return _about_step(job)
    if job.state.is_final and task.missing:
        return task.missing
    if job.state.is_final and not kind_of(job).reports_status:
        return _about_review(job, task)
    if job.state.is_final and task.status not in (None, job.outcome_status):
        return f"Its task is {task.status} now: `sow task show {job.task_id}`."
    match job.state:
        case JobState.DONE:
            return _about_status(job, task, with_words=with_words)
        case JobState.CANCELLED:
            return f"To go on: {go_on(job, attempts)}."
        case JobState.FAILED:
            return _about_failure(job, go_on(job, attempts))
        case JobState.RUNNING if kind_of(job).is_interactive:
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


def _about_step(job: Job) -> str:
    """Return what to do about a job without an agent."""
    match job.state:
        case JobState.DONE:
            return ""
        case JobState.CANCELLED:
            return f"To run it again: {again(job)}."
        case JobState.FAILED:
            return _about_failure(job, again(job))
        case JobState.RUNNING:
            return f"To watch it: `sow job logs {job.id} --follow`. {_to_end(job)}"
        case _:
            return _to_end(job)


def _about_review(job: Job, task: TaskNow) -> str:
    """Return what to do about a review that has ended."""
    if job.state is JobState.FAILED:
        return _about_failure(job, again(job))
    if job.state is JobState.CANCELLED:
        return f"To have it reviewed again: {again(job)}."
    if task.review is None:
        return f"Its verdict: `sow review show {job.task_id}`."
    if task.status not in JUDGED:
        return f"Its task is {task.status} now: `sow task show {job.task_id}`."
    if task.review.verdict is ReviewVerdict.ACCEPTED:
        if task.has_clone:
            return f"To merge it, which completes it: `sow merge {job.task_id}`."
        return f"To complete it: `sow task set {job.task_id} status completed`."
    return f"Hand them to its author: `{handing_back(job.task_id, task.author_resumes)}`."


def handing_back(task_id: str, author_resumes: bool) -> str:
    """Return the command that gives a task's author what a review asks for."""
    if author_resumes:
        return f"sow agent resume {task_id} --feedback"
    return f"sow agent spawn {task_id}"


def go_on(job: Job, attempts: Sequence[Attempt]) -> str:
    """Return the command that goes on with a job's task after its end."""
    continues = kind_of(job).session is SessionUse.CONTINUES
    has_session = continues or any(attempt.session_id is not None for attempt in attempts)
    if has_session and _can_resume(job):
        return f'`sow agent resume {job.task_id} "Go on."`'
    return f"`sow agent spawn {job.agent} {job.task_id}`"


def _can_resume(job: Job) -> bool:
    from sow.executors.registry import make_executor  # lists of jobs come by here, and ask not

    return make_executor(job.agents_executor).supports_resumption


def _to_end(job: Job) -> str:
    command = f"sow agent cancel {job.task_id}" if job.task_id else f"sow job cancel {job.id}"
    return f"To end it: `{command}`."


def _about_status(job: Job, now: TaskNow, *, with_words: bool) -> str:
    """Return what an agent that has reported waits for; `now` is how its task stands."""
    task = job.task_id
    verb = "answer" if job.outcome_status is TaskStatus.PAUSED else "resume"
    reply = _reply_to(job, verb)
    match job.outcome_status:
        case TaskStatus.PAUSED:
            where = "" if with_words else f"`sow task log {task}` has its question. "
            return f"{where}Answer: {reply}."
        case TaskStatus.NEEDS_REVIEW:
            apart = f"`{accepting(task)}`, and then `sow merge {task}`"
            accept = apart if now.has_clone else f"`sow task set {task} status completed`"
            return f"Review its work. Accept it: {accept}. Send it back: {reply}."
        case TaskStatus.FAILED:
            where = "" if with_words else f"`sow task log {task}` has its reason. "
            return f"{where}Go on: {reply}."
        case _:
            return ""


def _reply_to(job: Job, verb: str) -> str:
    """Return the command that gives its agent a person's words, as its CLI can be given them."""
    if _can_resume(job):
        return f'`sow agent {verb} {job.task_id} "…"`'
    return f'`sow agent spawn {job.agent} {job.task_id} --prompt "…"`'


def _about_failure(job: Job, anew: str) -> str:
    """Return what cures a failure, and the command to go on with."""
    from sow.schema.cause_table import CAUSES, SESSION_UNKNOWN  # of failures alone

    cause = CAUSES[job.cause or Cause.INTERNAL]
    task = job.task_id
    if job.cause is Cause.NO_VERDICT and kind_of(job).makes_work:  # it has judged the whole
        task, anew = TaskId("--project"), "`sow agent review --project`"
    facts = {"executor": job.executor_name, "job": job.id, "task": task}
    remedy = cause.remedy.format(settings=f"agents.executors.{job.executor_name}", **facts)
    if job.executor is None and "{settings}" in cause.remedy:
        return f"Correct what is wrong there. Then: {anew}."
    if job.cause in SESSION_UNKNOWN and kind_of(job).makes_work:
        return f"{remedy}: `sow agent spawn {job.agent} {job.task_id} --fresh`."
    return f"{remedy}: {_raising(job, anew)}."


def _raising(job: Job, command: str) -> str:
    """Return the command with a new total, where the task's own limit was reached."""
    option = option_of(job.reached)
    return f"{command[:-1]} {option}`" if option else command
