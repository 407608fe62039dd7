"""A cancel: what it looks at, and when."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_job

from sow.calls.caller import Caller
from sow.calls.cancel import cancel_job
from sow.ids import ProjectId, WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.state.kept import keeper_hooks
from sow.state.projects import new_project
from sow.state.tasks import add_task, change_task, find_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")


def test_tasks_are_looked_at_before_the_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look may put files back under their folders' locks; a worker holds one and waits for us."""
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="journey", project_id=PROJECT, now=NOW)
    with closing(open_queue(workspace)) as database:
        for task in ("010", "020"):
            add_task(workspace, name=task, agent="implementer", now=NOW, task_id=task)
            change_task(workspace, task, lambda _: {"status": TaskStatus.IN_PROGRESS}, now=NOW)
        parent = jobs.insert_job(database, make_job(project_id=PROJECT))
        child = jobs.insert_job(
            database, make_job(project_id=PROJECT, task_id="020", parent=parent.id)
        )
        for job in (parent, child):
            leases.enqueue(database, job.id, now=NOW)
            leases.claim(database, WorkerId("w1"), total=9, own=9, now=NOW)
        find_task(workspace, "020").state.unlink()
        free: list[bool] = []

        def witness(_root: Path, _project: str) -> str:
            with closing(sqlite3.connect(workspace.queue_db, timeout=0)) as other:
                try:
                    other.execute("begin immediate")
                except sqlite3.OperationalError:
                    free.append(False)
                else:
                    free.append(True)
            return f"job {parent.id}"

        monkeypatch.setattr(keeper_hooks.OURS, "witness", witness)
        cancelled = cancel_job(Caller(workspace, {}, tmp_path), database, parent)
        assert free == [True]
        assert [job.id for job in cancelled.ending] == [parent.id, child.id]
        assert jobs.get_job(database, child.id).state is JobState.RUNNING
