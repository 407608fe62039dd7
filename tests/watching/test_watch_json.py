"""`sow watch --json`: what the screen would show, once."""

import json
import os
import time
import uuid
from contextlib import closing
from pathlib import Path

from in_process import run_in_process
from reports.job_cases import make_job

from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.state.projects import new_project, read_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace


def test_what_the_screen_would_show_is_printed_once(tmp_path: Path) -> None:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="watched", project_id=ProjectId(str(uuid.uuid4())), now=time.time())
    for number in ("010", "020"):
        add_task(workspace, name="A task", agent="implementer", now=time.time(), task_id=number)
    with closing(open_queue(workspace)) as database:
        project = ProjectId(read_project(workspace).id)
        jobs.insert_job(database, make_job(state=JobState.QUEUED, project_id=project))
    done = run_in_process("watch", "--json", env=dict(os.environ), cwd=tmp_path)
    assert done.code == 0
    (group,) = json.loads(done.out)["groups"]
    rows = [(row["task"], row["state"], row["status"], row["waits_on"]) for row in group["rows"]]
    assert rows == [("010", "queued", "pending", "worker"), ("020", "pending", "pending", "")]
    assert group["rows"][0]["now"].startswith("no worker runs")


def test_lines_are_for_people_and_json_for_programs(tmp_path: Path) -> None:
    init_workspace(tmp_path)
    done = run_in_process("watch", "--plain", "--json", env=dict(os.environ), cwd=tmp_path)
    assert done.code == 2
    assert "give one of them" in done.out
