"""What a look reads again and when, and what it says where it cannot read."""

import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import make_job

from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.state.projects import new_project, read_project
from sow.state.tasks import add_task, change_task
from sow.state.workspace_init import init_workspace
from sow.watching.looking import LOOK_SECONDS, Looks
from sow.watching.snapshot import Snapshot


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="watched", project_id=ProjectId(str(uuid.uuid4())), now=time.time())
    for number in ("010", "020"):
        add_task(workspace, name="A task", agent="implementer", now=time.time(), task_id=number)
    return workspace


@pytest.fixture
def looks(workspace: Workspace) -> Iterator[Looks]:
    with closing(Looks(workspace, time.time)) as looks:
        yield looks


def place(workspace: Workspace, state: JobState = JobState.QUEUED) -> None:
    with closing(open_queue(workspace)) as database:
        project = ProjectId(read_project(workspace).id)
        jobs.insert_job(database, make_job(state=state, project_id=project))


def seen(looks: Looks) -> Snapshot:
    found = looks.look()
    assert found is not None
    return found


def states(found: Snapshot) -> dict[str, str]:
    return {row.key: row.state for row in found.rows}


def test_a_project_without_a_queue_is_shown(looks: Looks) -> None:
    found = seen(looks)
    assert found.title == "watched: standard, executing"
    assert states(found) == {"010": "pending", "020": "pending"}
    assert not found.faults


def test_a_look_at_what_has_not_changed_finds_nothing(workspace: Workspace, looks: Looks) -> None:
    place(workspace)
    assert states(seen(looks))["010"] == "queued"
    assert looks.look() is None
    with closing(open_queue(workspace)) as database:
        jobs.change_job(database, jobs.newest_id(database), state=JobState.HELD)
    assert states(seen(looks))["010"] == "held"


def test_an_edit_by_hand_is_seen_by_a_later_look(
    workspace: Workspace, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen(looks)
    change_task(workspace, "020", lambda _: {"name": "Another"}, now=time.time())
    assert looks.look() is None
    later = time.monotonic() + 100 * LOOK_SECONDS
    monkeypatch.setattr("sow.watching.looking.time.monotonic", lambda: later)
    assert [row.name for row in seen(looks).rows] == ["A task", "Another"]
    monkeypatch.setattr("sow.watching.looking.time.monotonic", lambda: later * 2)
    assert looks.look() is None


def test_one_damaged_task_hides_no_other(workspace: Workspace, looks: Looks) -> None:
    state = workspace.project / "phases/implementation/tasks/010/state.yaml"
    state.write_text("task: [")
    found = seen(looks)
    assert states(found) == {"020": "pending"}
    assert "010/state.yaml" in found.faults[0]


def test_a_lost_queue_is_told_and_a_new_one_is_shown(workspace: Workspace, looks: Looks) -> None:
    place(workspace)
    seen(looks)
    for path in workspace.run.glob("queue.db*"):
        path.unlink()
    lost = seen(looks)
    assert states(lost)["010"] == "queued"
    assert "queue" in lost.faults[0]
    assert states(seen(looks)) == {"010": "pending", "020": "pending"}
    place(workspace, JobState.RUNNING)
    assert states(seen(looks))["010"] == "running"


def test_a_look_writes_nothing_into_the_queue(workspace: Workspace, looks: Looks) -> None:
    place(workspace)
    change_task(workspace, "020", lambda _: {"status": "in_progress"}, now=time.time())
    before = {path.name: path.read_bytes() for path in workspace.run.glob("queue.db*")}
    found = seen(looks)
    assert looks.doing([row.job for row in found.rows if row.job is not None]) is not None
    after = {path.name: path.read_bytes() for path in workspace.run.glob("queue.db*")}
    assert before.items() <= {name: after.get(name) for name in before}.items()
    looks.close()
    with closing(open_queue(workspace)) as database:
        assert database.row("select 1 from change where kind = 'status'") is None


def test_what_visible_jobs_do_is_looked_for(workspace: Workspace, looks: Looks) -> None:
    place(workspace)
    found = seen(looks)
    numbers = [row.job for row in found.rows if row.job is not None]
    doing = looks.doing([*numbers, 99])
    assert doing is not None
    assert doing[numbers[0]].words.startswith("no worker runs")
    assert looks.doing(numbers) is None


def test_a_folder_without_a_project_has_no_rows(tmp_path: Path) -> None:
    init_workspace(tmp_path)
    with closing(Looks(Workspace(tmp_path), time.time)) as looks:
        found = seen(looks)
    assert (found.title, list(found.groups), list(found.faults)) == ("no project", [], [])
