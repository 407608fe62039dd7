"""How a job's task is found now, whatever became of it."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from reports.job_cases import NOW, make_job

from sow.ids import ProjectId, TaskId
from sow.paths import Workspace
from sow.reports.task_now import TaskNow, look_at_task
from sow.schema.job import Job
from sow.schema.task import TaskStatus
from sow.state.places import find_task
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")
JOB: Job = make_job(project_id=PROJECT, task_id=TaskId("010"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    init_workspace(tmp_path)
    new_project(workspace, name="x", project_id=PROJECT, now=NOW)
    add_task(workspace, name="A", agent="implementer", now=NOW, task_id="010")
    return workspace


def test_its_status(workspace: Workspace) -> None:
    assert look_at_task(workspace, JOB) == TaskNow(TaskStatus.PENDING)


def test_a_folder_that_is_gone(workspace: Workspace) -> None:
    shutil.rmtree(find_task(workspace, "010").folder)
    assert look_at_task(workspace, JOB).missing.startswith("The folder of task 010 is gone.")


def test_a_state_that_is_broken(workspace: Workspace) -> None:
    find_task(workspace, "010").state.write_text("task: [")
    assert look_at_task(workspace, JOB).missing.startswith("Its task cannot be read: ")


def test_a_task_of_another_project(workspace: Workspace) -> None:
    other = replace(JOB, project_id=ProjectId("another"))
    assert "not checked out here" in look_at_task(workspace, other).missing


def test_without_any_project(tmp_path: Path) -> None:
    assert look_at_task(Workspace(tmp_path), JOB).missing
