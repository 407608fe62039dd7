"""What comes next for an agent that does not lead the project: its own task, and no more.

Pure. Owns what such an agent may do by `sow`.
"""

from sow.schema.task import Task, TaskStatus
from sow.situation.project_steps import is_review
from sow.situation.step import Step

SUMMARY = '--summary "<what you think of it>"'
FINDINGS = '--file "<file with what to correct>"'


def own_steps(task: Task, *, reviews: bool) -> list[Step]:
    """Return the commands by which an agent reports; `reviews`: it was given the task to judge."""
    if reviews or (is_review(task) and task.status is TaskStatus.IN_PROGRESS):
        what = "--project" if is_review(task) else task.id
        return [
            Step(f"sow review accept {what} {SUMMARY}", "the work is as it should be"),
            Step(f"sow review correct {what} {FINDINGS}", "something is to be changed"),
        ]
    if task.status is not TaskStatus.IN_PROGRESS:
        return [Step(f"sow task show {task.id}", f"you have reported {task.status}: end here")]
    return [
        Step("sow task set status needs_review", f"the work of task {task.id} is done"),
        Step(
            "sow task set status paused",
            'you cannot go on without an answer; first `sow agent log "…"` with the question',
        ),
        Step("sow task set status failed", "it cannot be done; first log the reason"),
    ]
