"""What the tasks about the project as a whole want: its reviews, and the agent that leads it.

And what comes next for an agent that does not lead: its own task, and no more.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sow.ids import TaskId
from sow.lifecycle.lifecycle_facts import Remedy
from sow.lifecycle.stages import WHOLE_PHASE
from sow.schema.kinds import was_cut_off
from sow.schema.task import Task, TaskStatus
from sow.situation.project_facts import JUDGED
from sow.situation.situation import Situation
from sow.situation.step import Step

if TYPE_CHECKING:  # of projects that have a queue
    from sow.schema.job import Job

LEADS = "orchestrator"
SUMMARY = '--summary "<what you think of it>"'
FINDINGS = '--file "<file with what to correct>"'
ENDED = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def answers_about_whole(now: Situation) -> Iterator[Remedy]:
    """Yield what answers the agent that asks something about the whole."""
    for task in asking_about_whole(now):
        if is_cut_off(now, task):
            if not task.judges_whole:  # what judges is begun again where a verdict is missing
                why = f"the job of task {task.id} ({task.assigned_agent}) was cancelled"
                yield Remedy(f'sow agent resume {task.id} "Go on."', why)
            continue
        why = f"task {task.id} ({task.assigned_agent}) asks: `sow task log {task.id}` has it"
        yield Remedy(f'sow agent answer {task.id} "<your answer>"', why)


def is_cut_off(now: Situation, task: Task) -> bool:
    """Whether a task is paused because its job was cancelled: then its agent asks nothing."""
    last = now.queue.last.get(TaskId(task.id))
    return last is not None and was_cut_off(last)


def asking_about_whole(now: Situation) -> Iterator[Task]:
    """Yield the tasks about the whole whose agents ask something or were cut off; the newest."""
    at_work = {task for job in now.queue.live for task in job.tasks}
    asking = [
        task
        for task in now.tasks
        if task.phase == WHOLE_PHASE and task.status is TaskStatus.PAUSED and _counts(now, task)
    ]
    for task in asking[-1:]:
        if task.id not in at_work and task.session_started and task.id != now.reader.task:
            yield task


def leader(now: Situation) -> Task | None:
    """Return the task of the agent that leads the project, if there is one that is not the reader.

    One that has ended leads nothing any more.
    """
    found = (
        task
        for task in now.tasks
        if is_leaders(task) and task.status not in ENDED and task.id != now.reader.task
    )
    return next(found, None)


def ends_with_job(now: Situation) -> Iterator[Remedy]:
    """Yield what is left for the agent that has ended its project: to say so, once."""
    own = next((task for task in now.tasks if task.id == now.reader.task), None)
    if own is not None and own.status is not TaskStatus.IN_PROGRESS:
        why = f"you have reported {own.status}, and the project ends after your job: end here"
        yield Remedy(f"sow task show {own.id}", why)
    else:
        why = "the end of the project is recorded; a worker carries it out after your job"
        yield Remedy("sow task set status completed", why)


def own_report(now: Situation) -> list[Remedy]:
    """Return how an agent ends that has nothing more to do than its own task."""
    own = next((task for task in now.tasks if task.id == now.reader.task), None)
    if own is None or own.status is not TaskStatus.IN_PROGRESS or is_leaders(own):
        return []
    return [
        Remedy("sow task set status needs_review", "there is nothing more to do than your task")
    ]


def is_leaders(task: Task) -> bool:
    """Whether a task is that of an agent that leads the project."""
    return task.phase == WHOLE_PHASE and task.assigned_agent == LEADS


def of_leader(task: Task, last: "Job | None") -> Remedy:
    """Return what takes the task of whoever leads on, at which nobody works.

    `last` is its newest job.
    """
    match task.status:
        case TaskStatus.PAUSED if last is not None and was_cut_off(last):
            why = f"the job of task {task.id}, the orchestrator, was cancelled"
            return Remedy("sow start --headless", why)
        case TaskStatus.PAUSED:
            why = f"task {task.id}, the orchestrator, asks: `sow task log {task.id}` has it"
            return Remedy(f'sow agent answer {task.id} "<your answer>"', why)
        case TaskStatus.NEEDS_REVIEW:
            why = f"task {task.id}, the orchestrator, reports that it is done"
            return Remedy(f"sow task set {task.id} status completed", why)
        case _:
            return Remedy(
                "sow start --headless", f"no agent is working on task {task.id}, the orchestrator"
            )


def _counts(now: Situation, task: Task) -> bool:
    """Whether anybody still wants to know: a review does while the whole is judged."""
    state = now.facts.state if now.facts is not None else ""
    return not task.judges_whole or state in JUDGED


def own_steps(task: Task, *, reviews: bool) -> list[Step]:
    """Return the commands by which an agent reports; `reviews`: it was given the task to judge."""
    if reviews or (task.judges_whole and task.status is TaskStatus.IN_PROGRESS):
        what = "--project" if task.judges_whole else task.id
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
