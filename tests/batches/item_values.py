"""Items of a batch to try the next actions with."""

from typing import Any

import msgspec

from sow.batches.item_facts import ItemFacts, LiveJob
from sow.ids import JobId, TaskId
from sow.jobs.batches import JobInBatch
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.task import ReviewVerdict, TaskStatus

ALL = BatchPolicy(check=True, review=True, merge=True)
"""The whole loop."""


def item(
    status: TaskStatus | None = TaskStatus.PENDING, task: str = "010", **more: Any
) -> ItemFacts:
    """Return a task's item."""
    return msgspec.structs.replace(ItemFacts(task=task, status=status), **more)


def finished(**more: Any) -> ItemFacts:
    """Return the item of a task whose author has left work in its clone for review."""
    author = ended(Verb.SPAWN)
    known = {"has_clone": True, "session_started": True, "last": author, "steps": 1}
    return item(TaskStatus.NEEDS_REVIEW, **{**known, **more})


def checked(*, passed: bool = True, **more: Any) -> ItemFacts:
    return finished(**{"check_passed": passed, "check_stands": True, **more})


def accepted(**more: Any) -> ItemFacts:
    verdict = {"verdict": ReviewVerdict.ACCEPTED, "verdict_stands": True}
    return checked(**{**verdict, **more})


def ended(
    verb: Verb,
    state: JobState = JobState.DONE,
    cause: Cause | None = None,
    number: int = 5,
    **more: Any,
) -> JobInBatch:
    known = {"id": JobId(number), "task_id": TaskId("010"), "verb": verb, "state": state}
    return JobInBatch(**known, cause=cause, **more)


def live(verb: Verb, action: str | None = None, **more: Any) -> LiveJob:
    return LiveJob(id=7, verb=verb, action=action, **more)
