"""What a reviewer's prompt says of the work: the task, its feedback so far, its change, its check.

Reads the task's folder and the main repository; the clone that it judges is
made elsewhere.
"""

import msgspec
from msgspec import UNSET

from sow.attempts.launch import task_folder
from sow.attempts.prompt_facts import awaited_feedback, description_of
from sow.attempts.references import named_references
from sow.clones.judged import judged_change
from sow.clones.steering import steering_files
from sow.executors.base import Executor
from sow.ids import TaskId
from sow.paths import Workspace
from sow.prompts.compose import ReviewBrief, TaskBrief
from sow.schema.job import Job
from sow.schema.task import Task


def brief_of(workspace: Workspace, job: Job, task: Task, executor: Executor) -> ReviewBrief:
    """Return what a review's prompt says of the work. Raises GitRefused, NoRepository.

    It names a commit where the reviewer works in a throw-away clone of it; the
    one whose CLI cannot be isolated there does without the files that steer.
    """
    commit = job.judged_commit
    brief = _of_task(workspace, job, task)
    brief = msgspec.structs.replace(brief, check=_check_words(task, commit))
    if task.clone is UNSET or commit is None:
        return brief
    change = judged_change(workspace, task, commit)
    return msgspec.structs.replace(
        brief,
        base=change.base,
        commit=commit,
        files=change.files,
        steers=change.steers,
        left_out=() if executor.isolates else steering_files(change.files),
    )


def _of_task(workspace: Workspace, job: Job, task: Task) -> ReviewBrief:
    return ReviewBrief(
        task=TaskBrief(
            id=TaskId(task.id),
            name=task.name,
            location=str(task_folder(workspace, task)),
            iteration=task.iteration,
            agent=job.agent,
            references=named_references(workspace, task),
        ),
        description=description_of(workspace, task),
        feedback=awaited_feedback(workspace, task),
    )


def _check_words(task: Task, commit: str | None) -> str:
    """Return the outcome of the task's last check, if that was of this commit; else nothing."""
    check = task.check
    if check is UNSET or check.commit != commit:
        return ""
    of = " (files differed from the commit)" if check.dirty else ""
    red = [f"{found.name}: {found.reason}" for found in check.results if not found.passed]
    return f"failed{of}: {'; '.join(red)}" if not check.passed else f"passed{of}"
