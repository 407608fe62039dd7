"""Jobs, tasks and executors for the tests of the worker's parts."""

import time
from typing import Any

import msgspec

from sow.ids import JobId, ProjectId, TaskId
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Job, JobState, Verb
from sow.schema.task import Task, TaskStatus

NOW = time.time()
PROJECT = ProjectId("11111111-1111-4111-8111-111111111111")
CLAUDE = ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE)


def make_job(**more: Any) -> Job:
    """Return a job that runs."""
    job = Job(
        id=JobId(1),
        project_id=PROJECT,
        task_id=TaskId("010"),
        phase="implementation",
        verb=Verb.SPAWN,
        agent="implementer",
        executor=CLAUDE,
        prompt="",
        cwd=".",
        path_variable="/usr/bin:/bin",
        config_file="",
        state=JobState.RUNNING,
        prior_status=TaskStatus.PENDING,
        created_at=NOW,
    )
    return msgspec.structs.replace(job, **more)


def make_task(**more: Any) -> Task:
    """Return a task that is in progress."""
    fields: dict[str, Any] = {
        "id": "010",
        "name": "Task",
        "phase": "implementation",
        "status": TaskStatus.IN_PROGRESS,
        "assigned_agent": "implementer",
        "created_at": "2026-01-31T12:00:00Z",
        "updated_at": "2026-01-31T12:00:00Z",
    }
    return msgspec.convert(fields | more, Task)
