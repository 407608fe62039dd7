"""A session that was open on a terminal is released once, under its task's lock."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_attempt, make_job

from sow.calls.job_end import give_back, release
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, Job, JobState, Verb
from sow.schema.task import TaskStatus
from sow.state.projects import new_project
from sow.state.tasks import add_task, change_task, read_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    init_workspace(tmp_path)
    new_project(workspace, name="journey", project_id=PROJECT, now=NOW)
    add_task(workspace, name="Add JWT auth", agent="implementer", now=NOW, task_id="010")
    return workspace


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    database = open_queue(workspace)
    yield database
    database.close()


def set_status(workspace: Workspace, status: TaskStatus) -> None:
    change_task(workspace, "010", lambda _: {"status": status}, now=NOW)


def held(workspace: Workspace, database: Database, prior: TaskStatus) -> Job:
    """Return a job that holds the task, which was `prior` before."""
    fields = {"project_id": PROJECT, "verb": Verb.OPEN, "state": JobState.RUNNING}
    job = jobs.insert_job(database, make_job(prior_status=prior, **fields))
    jobs.insert_attempt(database, make_attempt(verb=Verb.OPEN, id=f"{job.id}.1.abc"))
    set_status(workspace, TaskStatus.IN_PROGRESS)
    return job


def test_the_status_from_before_comes_back(workspace: Workspace, database: Database) -> None:
    job = held(workspace, database, TaskStatus.NEEDS_REVIEW)
    ended = release(workspace, database, job, code=0, now=NOW)
    assert (ended.state, ended.cause) == (JobState.DONE, Cause.CLOSED)
    assert ended.outcome_status is read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW


def test_nobody_is_at_work_afterwards(workspace: Workspace, database: Database) -> None:
    job = held(workspace, database, TaskStatus.IN_PROGRESS)
    ended = release(workspace, database, job, code=0, now=NOW)
    assert ended.outcome_status is read_task(workspace, "010").status is TaskStatus.PAUSED


def test_a_second_release_leaves_the_next_job_s_task_alone(
    workspace: Workspace, database: Database
) -> None:
    """Both saw the session deserted; one was quicker, and another call has taken the task."""
    job = held(workspace, database, TaskStatus.PAUSED)
    release(workspace, database, job, code=None, now=NOW)
    jobs.insert_job(database, make_job(project_id=PROJECT, state=JobState.QUEUED))
    set_status(workspace, TaskStatus.IN_PROGRESS)
    ended = release(workspace, database, job, code=None, now=NOW)
    assert ended.state is JobState.DONE
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


def test_a_project_that_is_not_checked_out_gets_its_task_back_later(
    workspace: Workspace, database: Database, tmp_path: Path
) -> None:
    job = held(workspace, database, TaskStatus.NEEDS_REVIEW)
    workspace.project.rename(tmp_path / "aside")
    ended = release(workspace, database, job, code=0, now=NOW)
    assert (ended.state, ended.owes_task) == (JobState.DONE, True)
    (tmp_path / "aside").rename(workspace.project)
    assert give_back(workspace, database, ended, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW
