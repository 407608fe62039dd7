"""An agent that leads others asks what comes next: never its own task once more."""

from reports.job_cases import make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.state.projects import read_project
from sow.state.tasks import change_task

TASK = TaskId("010")


def commands(sow):
    return [line.partition("  #")[0] for line in sow("next").out.splitlines()]


def test_an_orchestrator_in_its_task_is_shown_others_and_then_its_report(
    sow, as_agent, tmp_path, monkeypatch
):
    sow("init")
    sow("project", "new", "P", "--type", "quick")
    sow("task", "add", "Lead", "--agent", "orchestrator")
    sow("task", "add", "Work", "--agent", "implementer")
    workspace = Workspace(tmp_path)
    database = open_queue(workspace)
    project = ProjectId(read_project(workspace).id)
    job = make_job(project_id=project, agent="orchestrator", task_id=TASK, state=JobState.RUNNING)
    number = jobs.insert_job(database, job).id
    database.close()
    change_task(workspace, TASK, lambda _: {"status": TaskStatus.IN_PROGRESS}, now=0)
    as_agent("010", role="orchestrator")
    monkeypatch.setenv("SOW_JOB_ID", str(number))
    first = commands(sow)[0]
    assert first.startswith("sow agent spawn 020") or "sow config edit" in first
    assert not any("spawn 010" in command for command in commands(sow))
    change_task(workspace, TaskId("020"), lambda _: {"status": TaskStatus.ABANDONED}, now=0)
    assert commands(sow) == ["sow task set status needs_review"]
    assert sow("task", "set", "status", "needs_review").code == 0
