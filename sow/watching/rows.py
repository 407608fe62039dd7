"""How records and tasks become rows: in which order, below which heading, with which words.

Pure. What a live job does now is not told here: it changes without a record.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from sow.ids import JobId, TaskId
from sow.schema.batch import Batch, BatchItem
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.spending import Used
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from sow.state.waiting import Among
from sow.terminal_text import printable
from sow.watching.snapshot import Group, Row

AT_WORK, WANTED, WAITS, TO_COME, OVER = range(5)
RANKS: Mapping[str, int] = {
    JobState.RUNNING: AT_WORK,
    JobState.PREPARING: AT_WORK,
    TaskStatus.PAUSED: WANTED,
    TaskStatus.FAILED: WANTED,
    TaskStatus.NEEDS_REVIEW: WANTED,
    TaskStatus.IN_PROGRESS: WANTED,
    JobState.QUEUED: WAITS,
    JobState.BACKOFF: WAITS,
    JobState.PARKED: WAITS,
    JobState.HELD: WAITS,
    TaskStatus.PENDING: TO_COME,
}
"""What stands first below a heading; what is not here is over."""


class Found(Struct, frozen=True, kw_only=True):
    """What the files and the queue hold, as one look has read it."""

    tasks: Sequence[Task] = ()
    among: Among = Among(())
    phases: Sequence[str] = ()
    project: str = ""
    """The project's id."""
    live: Sequence[Job] = ()
    last: Mapping[TaskId, Job] = {}
    """The newest job of each task."""
    attempts: Mapping[JobId, int] = {}
    used: Mapping[str, Used] = {}
    """What the jobs of each task have used."""
    batches: Sequence[tuple[Batch, Sequence[BatchItem]]] = ()
    """Those that go on."""
    words: Mapping[str, str] = {}
    """What the agents of paused tasks ask."""


def groups_of(found: Found) -> Sequence[Group]:
    """Return all rows below their headings: batches, phases, then what is about no task here."""
    rows = {task.id: _task_row(found, task) for task in found.tasks}
    in_batch = {item.task_id: item for _, items in found.batches for item in items}
    groups = [_batch_group(batch, items, rows) for batch, items in found.batches]
    phases = dict.fromkeys([*found.phases, *(task.phase for task in found.tasks)])
    for phase in phases:
        own = [task for task in found.tasks if task.phase == phase and task.id not in in_batch]
        if own:
            counts = _counts(task.status.value for task in own)
            groups.append(Group(phase, counts, _ordered([rows[task.id] for task in own])))
    groups += _other_groups(found, set(rows))
    return groups


def _batch_group(batch: Batch, items: Sequence[BatchItem], rows: Mapping[str, Row]) -> Group:
    name = f" {printable(batch.name)}" if batch.name else ""
    reason = _first_line(batch.reason)
    counts = _counts(item.state.value for item in items)
    about = f"{batch.state.value}{f' ({reason})' if reason else ''}: {counts}"
    own = [_as_item(rows[item.task_id], item) for item in items if item.task_id in rows]
    return Group(f"batch {batch.id}{name}", about, _ordered(own))


def _as_item(row: Row, item: BatchItem) -> Row:
    """Return a task's row with what its batch has said of it last, where it does not live."""
    reason = _first_line(item.reason)
    if row.is_live or not reason or row.status is TaskStatus.PAUSED:
        return row
    return replace(row, note=reason)


def _other_groups(found: Found, shown: set[str]) -> Iterator[Group]:
    """Yield the live jobs that are about no task that is shown: the project's own, and others'."""
    own = [job for job in found.live if job.project_id == found.project]
    strangers = [job for job in found.live if job.project_id != found.project]
    for title, jobs in (("the project as a whole", own), ("other projects", strangers)):
        rows = [
            _job_row(found, job)
            for job in jobs
            if job.project_id != found.project or not shown.intersection(job.tasks)
        ]
        if rows:
            yield Group(title, _counts(row.state for row in rows), _ordered(rows))


def _ordered(rows: Sequence[Row]) -> Sequence[Row]:
    return tuple(sorted(rows, key=lambda row: RANKS.get(row.state, OVER)))


def _counts(words: Iterator[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def _task_row(found: Found, task: Task) -> Row:
    job = found.last.get(TaskId(task.id))
    is_live = job is not None and not job.state.is_final
    used = found.used.get(task.id)
    return Row(
        key=task.id,
        task=task.id,
        name=printable(task.name),
        who=_who(job) if job is not None and is_live else task.assigned_agent,
        status=task.status,
        state=job.state.value if job is not None and is_live else task.status.value,
        note="" if is_live else printable(_rests(found, task, job)),
        **_of_job(found, job),
        **_of_use(used),
    )


def _job_row(found: Found, job: Job) -> Row:
    return Row(
        key=f"job {job.id}",
        name=", ".join(job.tasks),
        who=_who(job),
        state=job.state.value,
        usd=job.cost_usd,
        **_of_job(found, job),
    )


def _of_job(found: Found, job: Job | None) -> dict[str, Any]:
    if job is None:
        return {}
    is_agents, ended = kind_of(job).is_agents, job.ended_at
    waits = job.state.is_final or job.state is JobState.HELD
    return {
        "job": job.id,
        "job_state": job.state,
        "has_agent": is_agents,
        "executor": job.executor_name,
        "begun_at": None if waits else job.started_at,
        # That of a check or a merge would be taken for the task's.
        "seconds": ended - job.started_at if ended and job.started_at and is_agents else None,
        "attempts": found.attempts.get(job.id, 0),
    }


def _of_use(used: Used | None) -> dict[str, Any]:
    if used is None:
        return {}
    return {
        "tokens": used.tokens or None,
        "usd": used.usd,
        "is_estimate": bool(used.estimated_usd),
    }


def _who(job: Job) -> str:
    return job.agent or job.verb.value


def _rests(found: Found, task: Task, job: Job | None) -> str:
    """Return why a task rests of which no job lives; empty where nothing is to be said."""
    match task.status:
        case TaskStatus.PAUSED:
            return found.words.get(task.id) or "paused"
        case TaskStatus.FAILED:
            return _first_line(job.reason) if job is not None else ""
        case TaskStatus.IN_PROGRESS:
            return "was begun, and nobody is at it"
        case TaskStatus.NEEDS_REVIEW:
            return _judged(task)
        case TaskStatus.PENDING:
            unmet = found.among.unmet(task)
            named = ", ".join(f"{other} ({word})" for other, word in unmet.items())
            return f"waits for {named}" if named else "ready"
        case _:
            return ""


def _judged(task: Task) -> str:
    if task.review is UNSET:
        return "is done, and to be judged"
    is_accepted = task.review.verdict is ReviewVerdict.ACCEPTED
    return "is accepted" if is_accepted else "was sent back"


def _first_line(text: str) -> str:
    return printable(text.strip().partition("\n")[0])
