"""Tasks, jobs and executors in every state that the call tells apart."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import UNSET

from sow.executors.base import Executor
from sow.executors.registry import make_executor
from sow.ids import JobId, ProjectId, TaskId
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Attempt, Cause, Job, JobState, Verb
from sow.schema.task import SessionFacts, Task, TaskStatus

SESSION_ID = "3f0c0b5e-1111-4222-8333-444455556667"
NOW = time.time()


class SessionState(StrEnum):
    """What a task's state says of its session."""

    NONE = "none"
    UNSTARTED = "unstarted"
    STARTED = "started"
    FOREIGN = "foreign"
    """A `session_id` alone, written by another tool."""


EXECUTORS: dict[str, Executor] = {
    config.name: make_executor(config)
    for config in (
        ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE),
        ExecutorConfig(name="cursor", type=ExecutorType.CURSOR),
        ExecutorConfig(name="windsurf", type=ExecutorType.WINDSURF),
        ExecutorConfig(name="script", type=ExecutorType.COMMAND, command=("run",)),
        ExecutorConfig(
            name="talker",
            type=ExecutorType.COMMAND,
            command=("run",),
            resume=("go", "{session_id}"),
        ),
        ExecutorConfig(name="one-shot", type=ExecutorType.COMMAND, command=("run", "{session_id}")),
    )
}


def make_task(
    status: TaskStatus = TaskStatus.PENDING,
    session: SessionState = SessionState.NONE,
    *,
    maker: str = "claude-code",
    **fields: Any,
) -> Task:
    """Return task 010 with a session that the executor `maker` made."""
    moment = datetime.fromtimestamp(NOW, UTC)
    known = session in (SessionState.UNSTARTED, SessionState.STARTED)
    facts = SessionFacts(executor=maker, started=session is SessionState.STARTED)
    values = {
        "id": "010",
        "name": "Add JWT auth",
        "phase": "implementation",
        "status": status,
        "assigned_agent": "implementer",
        "session_id": UNSET if session is SessionState.NONE else SESSION_ID,
        "session": facts if known else UNSET,
        "created_at": moment,
        "updated_at": moment,
    }
    return Task(**{**values, **fields})


def make_job(**fields: Any) -> Job:
    """Return job 1 of task 010."""
    values = {
        "id": JobId(1),
        "project_id": ProjectId("p"),
        "task_id": TaskId("010"),
        "phase": "implementation",
        "verb": Verb.SPAWN,
        "agent": "implementer",
        "executor": EXECUTORS["claude-code"].config,
        "prompt": "",
        "cwd": ".",
        "path_variable": "/bin",
        "config_file": "",
        "created_at": NOW,
    }
    return Job(**{**values, **fields})


def ended_job(state: JobState, status: TaskStatus, cause: Cause, **fields: Any) -> Job:
    """Return a job that ended two seconds after it was made."""
    return make_job(state=state, outcome_status=status, cause=cause, ended_at=NOW + 2.0, **fields)


def make_attempt(number: int = 1, cause: Cause | None = None, **fields: Any) -> Attempt:
    """Return an attempt of job 1."""
    values = {
        "job_id": JobId(1),
        "number": number,
        "id": f"1.{number}.abc",
        "verb": Verb.SPAWN,
        "worker_id": "w1",
        "cause": cause,
        "created_at": NOW,
    }
    return Attempt(**{**values, **fields})
