"""How tasks, jobs and batches become rows: their order, their headings, why each rests."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from reports.job_cases import NOW, make_job, make_task

from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.schema.batch import Batch, BatchItem, ItemState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import Job, JobState, Verb
from sow.schema.spending import Used
from sow.schema.task import ReviewVerdict, Task, TaskReview, TaskStatus
from sow.state.waiting import Among
from sow.watching.rows import Found, groups_of
from sow.watching.snapshot import Row


def task(task_id: str, status: TaskStatus = TaskStatus.PENDING, **fields: Any) -> Task:
    return make_task(status, id=task_id, **fields)


def job(task_id: str, state: JobState, number: int = 1, **fields: Any) -> Job:
    return make_job(id=JobId(number), task_id=TaskId(task_id), state=state, **fields)


def found(*tasks: Task, jobs: tuple[Job, ...] = (), **fields: Any) -> Found:
    values = {
        "tasks": tasks,
        "among": Among(tasks),
        "phases": ("implementation",),
        "project": "p",
        "live": [each for each in jobs if not each.state.is_final],
        "last": {each.task_id: each for each in jobs if each.project_id == "p"},
    }
    return Found(**{**values, **fields})


def only_row(found: Found) -> Row:
    (group,) = groups_of(found)
    (row,) = group.rows
    return row


def test_what_is_at_work_comes_first_then_what_waits_for_somebody() -> None:
    tasks = [
        task("010", TaskStatus.COMPLETED),
        task("020"),
        task("030", TaskStatus.IN_PROGRESS),
        task("040", TaskStatus.PAUSED),
        task("050", TaskStatus.IN_PROGRESS),
    ]
    jobs = (job("030", JobState.QUEUED, 3), job("050", JobState.RUNNING, 5))
    (group,) = groups_of(found(*tasks, jobs=jobs))
    assert [row.key for row in group.rows] == ["050", "040", "030", "020", "010"]
    assert group.about == "1 completed, 1 pending, 2 in_progress, 1 paused"


BATCH = Batch(
    id=BatchId(3),
    project_id=ProjectId("p"),
    name="night",
    selection=Selection(),
    policy=BatchPolicy(),
    path_variable="/bin",
    made_at=NOW,
)


def item(task_id: str, state: ItemState, reason: str) -> BatchItem:
    return BatchItem(
        batch_id=BATCH.id,
        project_id=BATCH.project_id,
        task_id=TaskId(task_id),
        state=state,
        reason=reason,
    )


def test_tasks_stand_below_their_batch_else_below_their_phase() -> None:
    blocked = item("020", ItemState.BLOCKED, "task 010 has failed\nat length")
    tasks = task("010", phase="design"), task("020"), task("030")
    groups = groups_of(
        found(*tasks, phases=("implementation", "design"), batches=[(BATCH, [blocked])])
    )
    rows = [(group.title, [row.key for row in group.rows]) for group in groups]
    assert rows == [("batch 3 night", ["020"]), ("implementation", ["030"]), ("design", ["010"])]
    assert groups[0].rows[0].note == "task 010 has failed"
    assert groups[0].about == "running: 1 blocked"


@pytest.mark.parametrize(
    ("status", "jobs", "note"),
    [
        (TaskStatus.IN_PROGRESS, (job("010", JobState.RUNNING),), ""),
        (TaskStatus.PAUSED, (), "RS256 or HS256?"),
        (TaskStatus.NEEDS_REVIEW, (), "said of it last"),
    ],
)
def test_a_batch_speaks_of_what_rests_and_asks_nothing(
    status: TaskStatus, jobs: tuple[Job, ...], note: str
) -> None:
    batches = [(BATCH, [item("010", ItemState.NEEDS_PERSON, "said of it last")])]
    words = {"010": "RS256 or HS256?"}
    row = only_row(found(task("010", status), jobs=jobs, batches=batches, words=words))
    assert row.note == note


def test_live_jobs_about_no_task_that_is_shown_have_headings_of_their_own() -> None:
    jobs = (
        job("", JobState.RUNNING, 1, verb=Verb.CHECK, agent="", executor=None),
        job("900", JobState.RUNNING, 2, project_id=ProjectId("other")),
        job("010", JobState.RUNNING, 3),
        job("010", JobState.RUNNING, 4, project_id=ProjectId("other")),
    )
    groups = groups_of(found(task("010", TaskStatus.IN_PROGRESS), jobs=jobs))
    rows = [(group.title, [(row.key, row.who) for row in group.rows]) for group in groups]
    assert rows == [
        ("implementation", [("010", "implementer")]),
        ("the project as a whole", [("job 1", "check")]),
        ("other projects", [("job 2", "implementer"), ("job 4", "implementer")]),
    ]


REVIEW = TaskReview(
    verdict=ReviewVerdict.CORRECTIONS, by="reviewer", at=make_task().created_at, commit=UNSET
)
RESTS = {
    "ready": (task("010"), (), "ready"),
    "in doubt": (task("010", TaskStatus.IN_PROGRESS), (), "was begun, and nobody is at it"),
    "done": (task("010", TaskStatus.NEEDS_REVIEW), (), "is done, and to be judged"),
    "sent back": (task("010", TaskStatus.NEEDS_REVIEW, review=REVIEW), (), "was sent back"),
    "accepted": (
        task(
            "010",
            TaskStatus.NEEDS_REVIEW,
            review=msgspec.structs.replace(REVIEW, verdict=ReviewVerdict.ACCEPTED),
        ),
        (),
        "is accepted",
    ),
    "failed": (
        task("010", TaskStatus.FAILED),
        (job("010", JobState.FAILED, reason="exit code 3\nmore"),),
        "exit code 3",
    ),
    "paused": (task("010", TaskStatus.PAUSED), (), "RS256 or HS256?"),
    "completed": (task("010", TaskStatus.COMPLETED), (), ""),
}


@pytest.mark.parametrize(("task", "jobs", "note"), RESTS.values(), ids=RESTS)
def test_what_rests_says_why(task: Task, jobs: tuple[Job, ...], note: str) -> None:
    row = only_row(found(task, jobs=jobs, words={"010": "RS256 or HS256?"}))
    assert row.note == note


def test_what_waits_for_others_names_them() -> None:
    tasks = task("010", TaskStatus.PAUSED), task("020", depends_on=["010"])
    (group,) = groups_of(found(*tasks))
    assert [row.note for row in group.rows if row.key == "020"] == ["waits for 010 (paused)"]


def test_a_row_tells_of_its_newest_job_and_of_what_all_have_used() -> None:
    used = Used(key="010", input=10, output=5, usd=0.5, estimated_usd=0.1)
    row = only_row(
        found(
            task("010", TaskStatus.IN_PROGRESS),
            jobs=(job("010", JobState.RUNNING, 7, started_at=NOW + 3),),
            attempts={JobId(7): 2},
            used={"010": used},
        )
    )
    assert (row.job, row.attempts, row.begun_at) == (7, 2, NOW + 3)
    assert (row.tokens, row.usd, row.is_estimate) == (15, 0.5, True)
    assert row.is_live


def test_what_others_have_named_steers_no_terminal() -> None:
    hostile = "a\x1b[2J\nb\u202ec"
    row = only_row(found(task("010", name=hostile)))
    assert row.name == "a [2J b c"


def test_a_time_is_that_of_an_agents_job_that_has_begun() -> None:
    """A merge of a moment is not how long its task took, and what is held does not run."""
    times = {"started_at": NOW, "ended_at": NOW + 5}
    done = found(task("010"), jobs=(job("010", JobState.DONE, **times),))
    assert only_row(done).seconds == 5
    waited = job("010", JobState.DONE, **{**times, "created_at": NOW - 60})
    assert only_row(found(task("010"), jobs=(waited,))).seconds == 5
    merge = job("010", JobState.DONE, verb=Verb.MERGE, agent="", executor=None, **times)
    merged = found(task("010", TaskStatus.COMPLETED), jobs=(merge,))
    assert only_row(merged).seconds is None
    queued = found(task("010", TaskStatus.IN_PROGRESS), jobs=(job("010", JobState.QUEUED),))
    assert only_row(queued).begun_at is None
    held = found(task("010", TaskStatus.IN_PROGRESS), jobs=(job("010", JobState.HELD),))
    assert (only_row(held).begun_at, only_row(held).seconds) == (None, None)
