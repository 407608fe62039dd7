"""What others do to a project while somebody leads it by `sow next`."""

from collections.abc import Callable

from situation.first_line import FirstLine

from sow.schema.task import TaskStatus
from sow.state.tasks import list_tasks


def something_happens(leader: FirstLine) -> None:
    """Let chance do one of the things that others might."""
    if leader.desk.workspace.project_state.exists():
        leader.chance.choice(HAPPENINGS)(leader)


def _some_task(leader: FirstLine, *statuses: TaskStatus) -> str | None:
    found = [task.id for task in list_tasks(leader.desk.workspace) if task.status in statuses]
    return leader.chance.choice(found) if found else None


def a_task_is_added(leader: FirstLine) -> None:
    before = _some_task(leader, *TaskStatus)
    depends = ("--depends-on", before) if before and leader.chance.random() < 0.5 else ()
    leader.run("task", "add", "Another", "--agent", "implementer", *depends)


def a_task_is_given_up(leader: FirstLine) -> None:
    task = _some_task(leader, TaskStatus.PENDING, TaskStatus.FAILED, TaskStatus.PAUSED)
    if task is not None:
        leader.run("task", "abandon", task)


def a_task_is_reopened(leader: FirstLine) -> None:
    task = _some_task(leader, TaskStatus.COMPLETED)
    if task is not None:
        leader.run("task", "reopen", task)


def a_description_is_edited(leader: FirstLine) -> None:
    for path in leader.desk.workspace.project.glob("phases/*/tasks/*/description.md"):
        path.write_text("# Otherwise\n")
        return


def a_document_is_edited(leader: FirstLine) -> None:
    for path in (leader.root / "docs").glob("*.md"):
        path.write_text("Otherwise.\n")


def a_document_is_removed(leader: FirstLine) -> None:
    for path in (leader.root / "docs").glob("*.md"):
        path.unlink()


def feedback_is_given(leader: FirstLine) -> None:
    leader.run("feedback", "add", "Shorter.")


def a_job_ends(leader: FirstLine) -> None:
    leader.worker.end_one()


def a_job_is_cancelled(leader: FirstLine) -> None:
    for job in leader.worker.live[:1]:
        leader.run("job", "cancel", str(job.id))


def the_queue_is_paused(leader: FirstLine) -> None:
    leader.run("queue", "pause")


def a_batch_is_made(leader: FirstLine) -> None:
    options = leader.chance.choice(((), ("--review",), ("--fail-fast",)))
    leader.run("batch", "run", "--detach", *options)
    leader.worker.drive_batches()


def a_batch_is_paused(leader: FirstLine) -> None:
    leader.run("batch", "pause")


def a_phase_is_added(leader: FirstLine) -> None:
    leader.run("phase", "add", "discovery")
    leader.run("task", "add", "Look", "--agent", "researcher", "--phase", "discovery")


HAPPENINGS: tuple[Callable[[FirstLine], None], ...] = (
    a_task_is_added,
    a_task_is_given_up,
    a_task_is_reopened,
    a_description_is_edited,
    a_document_is_edited,
    a_document_is_removed,
    feedback_is_given,
    a_job_ends,
    a_job_is_cancelled,
    the_queue_is_paused,
    a_batch_is_made,
    a_batch_is_paused,
    a_phase_is_added,
)
