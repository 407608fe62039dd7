"""The reviewer of the whole does what its prompt says, to the letter, and its review is over."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_state.conftest import Done
from reports.job_cases import EXECUTORS, make_job

from sow.attempts.launch import location_for, task_folder
from sow.attempts.plan import plan_attempt
from sow.calls.project_review import review_task
from sow.cli.named_commands import commands_of
from sow.clones.project_work import work_of
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.task import Task
from sow.state.projects import read_project
from sow.state.tasks import read_task

Sow = Callable[..., Done]
FILE = "work.txt"
WHO = ("-c", "user.name=x", "-c", "user.email=x@localhost")


def run_git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *WHO, *words], cwd=folder, check=True)


@pytest.fixture
def reviewer(
    begun: Sow, tmp_path: Path, as_agent: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Task:
    """The task of the review of the whole; every call is made by its agent."""
    (tmp_path / FILE).write_text("done\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "work")):
        run_git(tmp_path, *words)
    workspace = Workspace(tmp_path)
    text = workspace.project_state.read_text()
    workspace.project_state.write_text(text.replace("state: planning", "state: reviewing"))
    task = review_task(workspace, work_of(tmp_path), "reviewer", now=1.0)
    assert begun("task", "set", task.id, "status", "in_progress").code == 0
    database = open_queue(workspace)
    project = ProjectId(read_project(workspace).id)
    job = make_job(project_id=project, task_id=TaskId(task.id), phase=task.phase, agent="reviewer")
    number = jobs.insert_job(database, job).id
    database.close()
    as_agent(task.id, role="reviewer")
    monkeypatch.setenv("SOW_JOB_ID", str(number))
    monkeypatch.setenv("SOW_REVIEW", "project")
    return read_task(workspace, task.id)


def last_commands(task: Task, root: Path) -> list[list[str]]:
    """Return the commands that its prompt wants run last: to accept, and to ask for corrections."""
    location = location_for(task_folder(Workspace(root), task), root)
    job = make_job(agent="reviewer", phase=task.phase, id=JobId(1))
    prompt = plan_attempt(job, task, (), EXECUTORS["claude-code"], location).prompt
    return [list(named.words) for named in commands_of(prompt) if named.in_block][-2:]


def standing(root: Path, task: Task) -> tuple[str, Any]:
    review = read_project(Workspace(root)).review
    return read_task(Workspace(root), task.id).status, getattr(review, "verdict", None)


def test_the_first_verdict_ends_it(begun: Sow, reviewer: Task, tmp_path: Path) -> None:
    accept, _ = last_commands(reviewer, tmp_path)
    done = begun(*accept)
    assert done.code == 0, done.err
    assert standing(tmp_path, reviewer) == ("completed", "accepted")


def test_the_second_verdict_ends_it(begun: Sow, reviewer: Task, tmp_path: Path) -> None:
    """Its findings lie where the prompt says: a new file elsewhere would change the work."""
    _, correct = last_commands(reviewer, tmp_path)
    (tmp_path / correct[-1]).write_text("1. **blocking**: it is not done.\n")
    done = begun(*correct)
    assert done.code == 0, done.err
    assert standing(tmp_path, reviewer) == ("completed", "corrections")


def test_no_status_is_its_to_set(begun: Sow, reviewer: Task) -> None:
    for status in ("needs_review", "paused", "failed", "completed"):
        done = begun("task", "set", "status", status)
        assert done.code == 4
        assert "sow review accept --project" in done.err
    refused = begun("merge", "010")
    assert "say so in your verdict" in refused.err
    assert "paused" not in refused.err


def test_what_it_has_changed_itself_it_undoes(begun: Sow, reviewer: Task, tmp_path: Path) -> None:
    accept, _ = last_commands(reviewer, tmp_path)
    (tmp_path / FILE).write_text("tried something\n")
    refused = begun(*accept)
    assert (refused.code, "Undo what you have changed yourself" in refused.err) == (4, True)
    run_git(tmp_path, "checkout", "-q", FILE)
    assert begun(*accept).code == 0
    assert standing(tmp_path, reviewer) == ("completed", "accepted")


def test_where_others_change_the_work_sow_ends_it(
    begun: Sow, reviewer: Task, tmp_path: Path
) -> None:
    accept, _ = last_commands(reviewer, tmp_path)
    (tmp_path / FILE).write_text("another's\n")
    assert begun(*accept).code == 4
    over = begun(*accept)
    assert (over.code, "You have nothing more to do" in over.err) == (4, True)
    assert standing(tmp_path, reviewer) == ("failed", None)


def test_sow_prompt_greets_it_as_one(begun: Sow, reviewer: Task) -> None:
    found = begun("prompt", "--json").json
    assert found["made_of"] == ["greeting/whole-review", "guidance/reviewer/base"]
