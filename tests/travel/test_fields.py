"""What an attempt may say of its task from another host: what its agent may, and no more."""

from typing import Any

import msgspec
import pytest
from attempts.job_values import NOW, make_job, make_task

from sow.errors import StateError
from sow.paths import attempt_id
from sow.schema.task import FeedbackStatus, Task, TaskStatus
from sow.schema.travel import FieldsChanged
from sow.travel.arriving import EventRefused, fields_for
from sow.travel.names import attempt_ref, is_attempt_ref, outward_ref
from sow.travel.telling import task_fields

JOB, TASK = make_job(), make_task()
SESSION = {"session_id": "a-b.1", "session": {"executor": "claude-code", "started": True}}


def fields(**data: Any) -> dict[str, Any]:
    return changes_of(TASK, **data)


def changes_of(task: Task, **data: Any) -> dict[str, Any]:
    return fields_for(JOB, task, msgspec.convert(data, FieldsChanged), NOW)


def test_what_an_attempt_has_changed_is_told_and_comes_to_the_same() -> None:
    after = msgspec.structs.replace(
        TASK, status=TaskStatus.NEEDS_REVIEW, files_modified=["a.txt"], metadata={"risk": "low"}
    )
    changes = task_fields(TASK, after)
    assert changes == {
        "status": "needs_review",
        "files_modified": ["a.txt"],
        "metadata": {"risk": "low"},
    }
    assert fields(**changes) == {
        "status": TaskStatus.NEEDS_REVIEW,
        "files_modified": ["a.txt"],
        "metadata.risk": "low",
    }
    assert task_fields(TASK, TASK) == {}


def test_what_would_be_refused_keeps_nothing_else_from_being_told() -> None:
    after = msgspec.structs.replace(
        TASK,
        status=TaskStatus.NEEDS_REVIEW,
        session_id="/tmp/a session",
        metadata={"a key": "x", "risk": "low"},
    )
    changes = task_fields(TASK, after)
    assert changes == {"status": "needs_review", "metadata": {"risk": "low"}}
    assert fields(**changes)["status"] is TaskStatus.NEEDS_REVIEW


def test_its_own_completed_waits_for_somebody_to_judge_it() -> None:
    assert fields(status="completed") == {"status": TaskStatus.NEEDS_REVIEW}


def test_what_was_asked_for_is_addressed_by_its_report() -> None:
    asked = msgspec.structs.replace(TASK, feedback=[{"file": "001.md", "status": "open"}])
    (entry,) = changes_of(asked, status="needs_review")["feedback"]
    assert entry["status"] == FeedbackStatus.ADDRESSED


def test_a_session_is_that_of_the_job() -> None:
    found = fields(**SESSION)
    assert (found["session_id"], found["session"].cwd) == ("a-b.1", ".")
    for other in (
        {"session_id": "--evil"},
        {"session_id": 7},
        {"session_id": "a", "session": {"executor": "sh"}},
    ):
        with pytest.raises((EventRefused, msgspec.ValidationError)):
            fields(**other)


def test_a_status_that_does_not_follow_the_present_one_is_refused() -> None:
    done = make_task(status=TaskStatus.COMPLETED)
    with pytest.raises(StateError, match="cannot go from completed"):
        changes_of(done, status="needs_review")
    assert fields(status="pending") == {}
    assert fields(status="in_progress") == {}
    for word in ("merged", 7, {}):
        with pytest.raises(msgspec.ValidationError):
            fields(status=word)


def test_nothing_else_of_a_task_is_an_attempts_to_say() -> None:
    evil = {"review": {"verdict": "accepted"}, "check": {"passed": True}, "merged": {}, "id": "020"}
    assert fields(**evil, clone={"path": "/"}, checks=[], depends_on=[], iteration=9) == {}


def test_refs_name_the_project_the_task_and_the_attempt() -> None:
    assert (
        outward_ref(JOB.project_id, "010", "c" * 40) == "refs/sow/tasks/11111111/010/cccccccccccc"
    )
    ref = attempt_ref(JOB.project_id, attempt_id(JOB.id, 2, "0a1b2c"))
    assert ref == "refs/sow/attempts/11111111/1-2-0a1b2c"
    assert is_attempt_ref(ref, JOB.project_id, JOB.id, 2)
    assert not is_attempt_ref(ref, JOB.project_id, JOB.id, 1)
    assert not is_attempt_ref(ref.replace("0a1b2c", "../x"), JOB.project_id, JOB.id, 2)
    assert not is_attempt_ref(ref.removesuffix("0a1b2c"), JOB.project_id, JOB.id, 2)
