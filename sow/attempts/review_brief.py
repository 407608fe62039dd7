"""What a reviewer's prompt says of the work: the task, its feedback so far, its change, its check.

Reads the task's folder and the main repository; the clone that it judges is
made elsewhere.
"""

from contextlib import suppress

import msgspec
from msgspec import UNSET

from sow.attempts.launch import task_folder
from sow.attempts.references import named_references
from sow.clones.judged import judged_change
from sow.clones.steering import steering_files
from sow.executors.base import Executor
from sow.files import NotAFile, read_inside
from sow.ids import TaskId
from sow.paths import Workspace
from sow.prompts.compose import ReviewBrief, TaskBrief
from sow.schema.job import Job
from sow.schema.task import FeedbackStatus, Task
from sow.state.places import DESCRIPTION_LIMIT
from sow.state.verdicts import feedback_in


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
    folder = task_folder(workspace, task)
    description = b""
    with suppress(FileNotFoundError, NotAFile):
        path = folder / "description.md"
        description = read_inside(path, workspace.root, DESCRIPTION_LIMIT)
    awaited = (FeedbackStatus.OPEN, FeedbackStatus.ADDRESSED)
    return ReviewBrief(
        task=TaskBrief(
            id=TaskId(task.id),
            name=task.name,
            location=str(folder),
            iteration=task.iteration,
            agent=job.agent,
            references=named_references(workspace, task),
        ),
        description=description.decode("utf-8", "replace"),
        feedback=[found for status in awaited for found in feedback_in(workspace, task, status)],
    )


def _check_words(task: Task, commit: str | None) -> str:
    """Return the outcome of the task's last check, if that was of this commit; else nothing."""
    check = task.check
    if check is UNSET or check.commit != commit:
        return ""
    of = " (files differed from the commit)" if check.dirty else ""
    red = [f"{found.name}: {found.reason}" for found in check.results if not found.passed]
    return f"red{of}: {'; '.join(red)}" if not check.passed else f"passed{of}"
