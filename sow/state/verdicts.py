"""Verdicts on a task's work, and what is asked to be changed.

Owns the steps by which a verdict comes into `state.yaml`, and the life of a
feedback file: open, addressed by the author's next run, settled by the next
verdict. Who may judge, and which commit is judged, the caller has found out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from sow.errors import StateError
from sow.files import NotAFile, read_inside
from sow.paths import Workspace
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import (
    Feedback,
    FeedbackStatus,
    ReviewVerdict,
    Task,
    TaskReview,
    TaskStatus,
)
from sow.state.authors import Author
from sow.state.numbered_feedback import FEEDBACK_LIMIT, write_next
from sow.state.places import TaskPlace, find_task
from sow.state.tasks import change_task
from sow.state.transitions import FieldChanges, as_written, enter, moment

JUDGED = frozenset({TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.FAILED})
"""The statuses in which there is work to be judged, and nobody is at it."""
HINTS: Mapping[TaskStatus, str] = {
    TaskStatus.PENDING: "Spawn its agent first: `sow agent spawn {task}`.",
    TaskStatus.IN_PROGRESS: "Wait until its agent has ended: `sow agent wait {task}`.",
    TaskStatus.COMPLETED: "`sow task reopen {task}` makes it pending again.",
    TaskStatus.ABANDONED: "`sow task reopen {task}` makes it pending again.",
}
MOST_LINES = 6
LONGEST_LINE = 200
"""In letters."""


class Judgement(msgspec.Struct, frozen=True):
    """What a judge says, and of what."""

    by: str
    summary: str = ""
    commit: str | None = None
    steers: Sequence[str] = ()
    job: int | None = None
    attempt: int | None = None
    entry_id: str = ""
    """As that of an `Author`."""

    @property
    def author(self) -> Author:
        """Who gives the verdict, as the log names it."""
        return Author(self.by, job=self.job, attempt=self.attempt, entry_id=self.entry_id)


def accept(
    workspace: Workspace,
    task_id: str,
    judgement: Judgement,
    *,
    complete: bool,
    now: float,
    once: Job | None = None,
) -> Task:
    """Put on record that the task's work is accepted; `complete` completes the task with it.

    `once` is the review that says so; where it has given its verdict, nothing changes. Raises
    StateError, and what `change_task` does.
    """

    def change(task: Task) -> FieldChanges:
        if once is not None and given_by(task, once) is not None:
            return {}
        refuse_unjudged(task)
        changes = _verdict(task, ReviewVerdict.ACCEPTED, judgement, now)
        if complete:
            changes |= enter(task, TaskStatus.COMPLETED, now=now)
        return changes

    return change_task(workspace, task_id, change, now=now, by=judgement.author)


def correct(
    workspace: Workspace,
    task_id: str,
    judgement: Judgement,
    findings: bytes,
    *,
    now: float,
    once: Job | None = None,
) -> tuple[Task, Path]:
    """Put the findings into the next feedback file; return the task and that file.

    The file comes first: a verdict on record has its words. One that a killed
    command has left without a verdict is taken up where it holds the same.
    `once` is as for `accept`.
    Raises StateError, and what `change_task` does.
    """
    place = find_task(workspace, task_id)

    def change(task: Task) -> FieldChanges:
        if once is not None and given_by(task, once) is not None:
            return {}
        refuse_unjudged(task)
        written = _write(place, task, findings)
        changes = _verdict(task, ReviewVerdict.CORRECTIONS, judgement, now)
        entry = Feedback(file=written.name, status=FeedbackStatus.OPEN)
        earlier = changes.get("feedback", task.feedback)
        changes["feedback"] = [*earlier, msgspec.to_builtins(entry)]  # type: ignore[misc] # a list
        return changes

    judged = change_task(workspace, task_id, change, now=now, by=judgement.author)
    return judged, place.feedback / (newest_feedback(judged) or "")


def given_by(task: Task, job: Job) -> TaskReview | None:
    """Return the last verdict on a task, if the reviewer of this job has given it.

    State files travel, and each checkout's queue counts from one: the number
    alone does not tell whose it is, so it has to be of the job's own commit.
    """
    review = task.review
    if review is UNSET or review.job != job.id or not kind_of(job).judges:
        return None
    return review if review.commit == (job.judged_commit or UNSET) else None


def newest_feedback(task: Task) -> str | None:
    """Return the name of the feedback file that was written last; None before one."""
    return next((entry.file for entry in map(_entry, reversed(task.feedback)) if entry), None)


def open_feedback_of(task: Task) -> list[str]:
    """Return the feedback files that wait for the author's next run."""
    entries = filter(None, map(_entry, task.feedback))
    return [entry.file for entry in entries if entry.status is FeedbackStatus.OPEN]


def addressed(task: Task) -> FieldChanges:
    """Return what changes when the author of a task has run: what was open is addressed."""
    return _marked(task, {FeedbackStatus.OPEN: FeedbackStatus.ADDRESSED})


def feedback_status(task: Task) -> FeedbackStatus | None:
    """Return where the feedback that was written last stands; None before any."""
    entries = (_entry(found) for found in reversed(task.feedback))
    return next((entry.status for entry in entries if entry), None)


def feedback_in(workspace: Workspace, task: Task, status: FeedbackStatus) -> list[tuple[str, str]]:
    """Return the feedback of a task that stands so: each file's name and words."""
    place = find_task(workspace, task.id)
    entries = [_entry(found) for found in task.feedback]
    names = [entry.file for entry in entries if entry and entry.status is status]
    return [(name, _words(place.feedback / name, workspace)) for name in names]


def words_of_feedback(workspace: Workspace, task: Task, name: str) -> str:
    """Return the words of one of a task's feedback files; that it is gone, where it is."""
    return _words(find_task(workspace, task.id).feedback / name, workspace)


def refuse_unjudged(task: Task) -> None:
    """Refuse a task of which there is nothing to judge now. Raises StateError."""
    if task.status not in JUDGED:
        raise StateError(
            f"task {task.id} is {task.status}: there is no work to review",
            hint=HINTS[task.status].format(task=task.id),
        )


def _verdict(task: Task, verdict: ReviewVerdict, judgement: Judgement, now: float) -> FieldChanges:
    review = TaskReview(
        verdict=verdict,
        by=judgement.by,
        at=moment(now),
        commit=judgement.commit or UNSET,
        summary=judgement.summary,
        steers=list(judgement.steers),
        job=UNSET if judgement.job is None else judgement.job,
    )
    settled = dict.fromkeys(FeedbackStatus, FeedbackStatus.SETTLED)
    return {"review": as_written(review), **_marked(task, settled)}


def _marked(task: Task, next_status: Mapping[FeedbackStatus, FeedbackStatus]) -> FieldChanges:
    """Return what changes when each of sow's entries takes its next status."""
    entries: list[Any] = []
    for found in task.feedback:
        entry = _entry(found)
        if entry is None or entry.status not in next_status:
            entries.append(found)
        else:
            marked = msgspec.structs.replace(entry, status=next_status[entry.status])
            entries.append(msgspec.to_builtins(marked))
    return {"feedback": entries} if entries != task.feedback else {}


def _entry(found: object) -> Feedback | None:
    """Return an entry that sow has written; None for any other."""
    try:
        return msgspec.convert(found, Feedback)
    except msgspec.ValidationError:
        return None


def _write(place: TaskPlace, task: Task, findings: bytes) -> Path:
    """Write the next feedback file, and return it."""
    on_record = {entry.file for entry in map(_entry, task.feedback) if entry}
    return write_next(place.feedback, on_record, findings)


def _words(path: Path, workspace: Workspace) -> str:
    """Return the words of a feedback file; that it is gone, where it is."""
    try:
        return read_inside(path, workspace.root, FEEDBACK_LIMIT).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotAFile):
        return f"({path.name} cannot be read any more)"


def last_findings(workspace: Workspace, task: Task) -> str:
    """Return the beginning of a task's newest feedback; empty where the last verdict is no request.

    So it is of work that is accepted, or that nobody has judged.
    """
    name = newest_feedback(task)
    if name is None or task.review is UNSET:
        return ""
    asked = task.review.verdict is ReviewVerdict.CORRECTIONS
    return _shortened(words_of_feedback(workspace, task, name)) if asked else ""


def _shortened(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
        for line in lines[:MOST_LINES]
    ]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… and {left} more line{'s' * (left > 1)}"] if left else [])])
