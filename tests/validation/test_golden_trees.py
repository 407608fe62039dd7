"""A whole `.sow` of every released form is read for ever. Add trees here; never change one."""

import shutil
from pathlib import Path

import pytest
from validation.conftest import snapshot
from validation.looking import defects_of

from sow.paths import Workspace
from sow.state.all_logs import Wanted, read_logs
from sow.state.projects import read_project
from sow.state.tasks import list_tasks
from sow.state.version import FIRST_VERSION, SCHEMA_VERSION
from sow.validation.kinds import Kind
from sow.validation.mending import mend

GOLDEN = Path(__file__).parent / "golden"
NOWHERE = Path("/nonexistent/config.yaml")
TO_MIGRATE = {1: [Kind.NO_UNION], 2: []}
"""What is left to `--fix` of each form: all else is read as it stands."""


def test_there_is_a_tree_of_every_form() -> None:
    forms = range(FIRST_VERSION, SCHEMA_VERSION + 1)
    assert sorted(GOLDEN.glob("form-*")) == [GOLDEN / f"form-{form}" for form in forms]
    assert set(TO_MIGRATE) == set(forms)


@pytest.fixture(params=TO_MIGRATE, ids=lambda form: f"form-{form}")
def form(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def tree(form: int, tmp_path: Path) -> Workspace:
    shutil.copytree(GOLDEN / f"form-{form}", tmp_path / ".sow")
    return Workspace(tmp_path)


def test_it_is_read_and_migrated(form: int, tree: Workspace) -> None:
    before = snapshot(tree)
    found = defects_of(tree)
    assert [each.kind for each in found] == TO_MIGRATE[form]
    done, failed = mend(tree, NOWHERE, now=0)
    assert (len(done), failed) == (len(found), [])
    assert defects_of(tree) == []
    after = snapshot(tree)
    assert {name: after.get(name) for name in before if name != ".gitattributes"} == {
        name: data for name, data in before.items() if name != ".gitattributes"
    }
    assert mend(tree, NOWHERE, now=0) == ([], [])
    assert snapshot(tree) == after


def test_what_it_says_is_what_it_said(form: int, tree: Workspace) -> None:
    project, tasks = read_project(tree), list_tasks(tree)
    logged = [
        (task, entry.action, entry.text) for task, entry in read_logs(tree, Wanted(), pytest.fail)
    ]
    assert project.name == "Sign-in"
    if form == 1:
        assert (project.kind, project.standing) == ("standard", "executing")
        assert [(task.id, task.status, task.phase) for task in tasks] == [
            ("010", "completed", "implementation"),
            ("020", "in_progress", "implementation"),
            ("030", "abandoned", "review"),
        ]
        assert (tasks[1].depends_on, tasks[1].feedback) == (["010"], ["feedback/001.md"])
        assert (None, "yes: begun", "") in logged
    else:
        assert (project.kind, project.standing) == ("design", "drafting")
        assert [(task.key, task.status, task.depends_on) for task in tasks] == [
            ("api/login", "needs_review", []),
            ("api/logout", "pending", ["010"]),
        ]
        assert [note.status for note in project.feedback] == ["settled", "open"]
    assert ("010", "Added it", "Text.\n ---\nMore.") in logged


def test_a_folder_without_a_number_is_of_the_first_form(tmp_path: Path) -> None:
    """And a state file that holds more says so to whoever migrates it."""
    shutil.copytree(GOLDEN / "form-2", tmp_path / ".sow")
    tree = Workspace(tmp_path)
    (tree.sow / ".version").unlink()
    state = tree.project_state
    state.write_text(state.read_text().replace("version: 2\n", ""))
    assert [each.kind for each in defects_of(tree)] == [Kind.NUMBER, Kind.NUMBER]
    mend(tree, NOWHERE, now=0)
    assert defects_of(tree) == []
    assert (tree.sow / ".version").read_text() == "2\n"
    assert state.read_text().endswith("version: 2\n")
