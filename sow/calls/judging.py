"""Who judges a task's work, and which commit is judged.

Owns the law that an author never judges its own work: the agent of a job whose
product is the task's work may not say whether that is good, whatever its role.
What a verdict changes is `sow.state.verdicts`.
"""

from collections.abc import Sequence
from contextlib import closing, suppress

from msgspec import UNSET

from sow import env_vars
from sow.calls.caller import Caller
from sow.calls.live_jobs import TaskIsRunning, find_live_job
from sow.errors import SowError, StateError
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.jobs.jobs import UnknownJob
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state.authors import caller_of
from sow.state.tasks import read_task
from sow.state.verdicts import JUDGED, Judgement
from sow.terminal_text import readable


def judgement_of(caller: Caller, task_id: TaskId, summary: str, *, at_terminal: bool) -> Judgement:
    """Return what the caller says of a task's work as it stands now.

    What was committed in its clone since is brought here first, so that what is judged is what
    is shown and merged. Raises StateError, TaskIsRunning, GitRefused.
    """
    refuse_author(caller, task_id)
    _refuse_before_end(caller, task_id)
    task = read_task(caller.workspace, task_id)
    commit = _commit(caller, task, _calling_job(caller))
    author = caller_of(caller.environ, at_terminal=at_terminal)
    return Judgement(
        by=author.agent,
        summary=summary,
        commit=commit,
        steers=_steers(caller, task, commit),
        job=caller.job_id,
        attempt=author.attempt,
        entry_id=author.entry_id,
    )


def _refuse_before_end(caller: Caller, task_id: TaskId) -> None:
    """Raise TaskIsRunning while the author's attempt is not over, whatever status it has left.

    Its work is brought back at its end, and that end takes what is open for addressed.
    """
    job = find_live_job(caller.workspace, task_id)
    if job is None or not kind_of(job).makes_work or kind_of(job).is_interactive:
        return
    raise TaskIsRunning(job, read_task(caller.workspace, task_id).status, has_option=False)


def _calling_job(caller: Caller) -> Job | None:
    """Return the job whose agent calls; None for a person, and where it is on no record."""
    if caller.job_id is None:
        return None
    database = open_existing_queue(caller.workspace)
    if database is None:
        return None
    with closing(database), suppress(UnknownJob):
        return jobs.get_job(database, caller.job_id)
    return None


def refuse_author(caller: Caller, task_id: TaskId, verb: str = "judge") -> None:
    """Raise StateError where the caller's own job makes the task's work.

    Its record tells, whatever task its variables name now; without one they
    tell alone, and whoever names the task is taken for its author.
    """
    if caller.job_id is None:
        return
    job = _calling_job(caller)
    if job is None:
        is_author = caller.environ.get(env_vars.TASK_ID) == task_id
    else:
        is_author = job.task_id == task_id and kind_of(job).makes_work
    if not is_author:
        return
    hint = (
        "Ask for a review: `sow task set status needs_review`. Your caller then has the work"
        " reviewed."
    )
    if read_task(caller.workspace, task_id).judges_whole:
        hint = (
            "Your verdict is on the whole, and ends this task:"
            ' `sow review accept --project --summary "…"`, or `sow review correct --project`.'
        )
    raise StateError(
        f"the agent of task {task_id} wrote this work, so it cannot {verb} it", hint=hint
    )


def _commit(caller: Caller, task: Task, job: Job | None) -> str | None:
    """Return the commit that is judged; None where there is no git to tell.

    That of a review is the one that the reviewer was given. Raises
    StateError, GitRefused where the task has a clone.
    """
    if job is not None and job.task_id == task.id and kind_of(job).judges:
        return job.judged_commit
    from sow.clones.judged import judged_commit  # a merge asks for the author alone

    if task.clone is not UNSET and task.status in JUDGED:
        from sow.clones.newer_commits import bring_newer  # as above

        bring_newer(caller.workspace, task)
    try:
        return judged_commit(caller.workspace, task)
    except SowError:
        if task.clone is not UNSET:
            raise
        return None


def _steers(caller: Caller, task: Task, commit: str | None) -> Sequence[str]:
    """Return the files of a task's change that steer agents or machines.

    Without a clone nobody can tell whose a change is, and none is named.
    """
    if task.clone is UNSET or commit is None:
        return ()
    from sow.clones.judged import judged_change  # as above

    steers = judged_change(caller.workspace, task, commit).steers
    return [readable(path) for path in steers]
