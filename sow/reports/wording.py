"""How a job is named in a sentence, and the commands that wait for it or place it once more.

Pure. Owns these few words, so that a job without an agent, or one that is about
no task, reads well wherever jobs are told of.
"""

from collections.abc import Sequence

from sow.schema.job import Job
from sow.schema.job_terms import MergeWay
from sow.schema.kinds import kind_of


def subject_of(job: Job) -> str:
    """Return what a job is about: its task, or tasks, or the project."""
    if not job.tasks:
        return "the project"
    return f"task {' and task '.join(job.tasks)}"


def has_a_job(job: Job) -> str:
    """Return who has a job, as the beginning of a sentence: `task 010 has a job`."""
    return f"{subject_of(job)} {'have' if job.tasks[1:] else 'has'} a job"


WAY_OPTIONS = {MergeWay.MERGE: (), MergeWay.SQUASH: ("--squash",), MergeWay.REBASE: ("--rebase",)}


def asked_of(job: Job) -> str:
    """Return what was asked for: `spawn implementer for task 010 by claude-code`."""
    who = f" {job.agent}" if job.agent else ""
    by = f" by {job.executor_name}" if job.executor_name else ""
    return f"{job.verb}{who}{_details(job)} for {subject_of(job)}{by}"


def _details(job: Job) -> str:
    return f" {', '.join(job.check_names)}" if job.check_names else ""


def call_of(job: Job) -> Sequence[str]:
    """Return the words of the command that places a job once more that is no author's."""
    if job.agent:
        return ("sow", "agent", job.verb.value, job.task_id, "--agent", job.agent)
    if kind_of(job).merges:
        return ("sow", job.verb.value, *job.tasks, *WAY_OPTIONS[job.merge_way])
    if kind_of(job).updates_clone:
        return ("sow", "clone", "update", job.task_id)
    names = job.check_names
    about = ("task", job.verb.value, job.task_id) if job.task_id else ("project", job.verb.value)
    return ("sow", *about, *names)


def again(job: Job) -> str:
    """Return that command, to be copied."""
    # For refusals and hints alone.
    from shlex import join

    return f"`{join(call_of(job))}`"


def waiting_command(
    *task_ids: str,
    jobs: Sequence[int] = (),
    any_one: bool = False,
    wait: str | None = None,
    as_json: bool = False,
) -> str:
    """Return the command that waits for these tasks, or jobs, as the call at hand does."""
    words = ["sow", "job", "wait", *map(str, jobs)] if jobs else ["sow", "agent", "wait", *task_ids]
    words += ["--any"] if any_one else []
    words += ["--wait", wait] if wait else []
    words += ["--json"] if as_json else []
    # For a call that goes away.
    from shlex import join

    return join(words)


def wait_for_job(job: Job) -> str:
    """Return the command that waits for a job: by its task, or by its number where it has none."""
    return waiting_command(job.task_id) if job.task_id else waiting_command(jobs=[job.id])
