"""A change of a project's state: under its lock, read there, validated, written whole or not."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from state.conftest import NOON

from sow.files import locked_folder
from sow.paths import Workspace
from sow.schema.project import Project
from sow.state.projects import add_phase, change_project, read_project
from sow.state.state_errors import NoProject, RefusedChange
from sow.state.statefiles import read_bytes
from sow.state.tasks import add_task, list_tasks
from sow.yamlfile import REMOVE


def test_a_change_sees_the_project_and_returns_it_as_it_then_stands(workspace: Workspace) -> None:
    changed = change_project(workspace, lambda _: {"name": "Another"}, now=NOON + 60)
    assert changed == read_project(workspace)
    assert changed.name == "Another"
    assert changed.updated_at.timestamp() == NOON + 60


def test_what_is_there_already_is_not_written(workspace: Workspace) -> None:
    before = read_bytes(workspace.project_state)
    change_project(workspace, lambda project: {"name": project.name}, now=NOON + 60)
    assert read_bytes(workspace.project_state) == before


def test_one_key_of_the_metadata_is_set_beside_the_others(workspace: Workspace) -> None:
    change_project(workspace, lambda _: {"metadata.owner": "ana"}, now=NOON)
    change_project(workspace, lambda _: {"metadata.team": "core"}, now=NOON)
    assert read_project(workspace).metadata == {"owner": "ana", "team": "core"}
    change_project(workspace, lambda _: {"metadata.owner": REMOVE}, now=NOON)
    assert read_project(workspace).metadata == {"team": "core"}


def test_an_invalid_change_writes_nothing(workspace: Workspace) -> None:
    before = read_bytes(workspace.project_state)
    with pytest.raises(RefusedChange):
        change_project(workspace, lambda _: {"phases": "none"}, now=NOON)
    assert read_bytes(workspace.project_state) == before


def test_a_change_that_would_make_a_file_which_nobody_reads_writes_nothing(
    workspace: Workspace,
) -> None:
    before = workspace.project_state.read_bytes()
    with pytest.raises(RefusedChange) as refused:
        change_project(workspace, lambda _: {"metadata.note": "x" * (1 << 20)}, now=NOON)
    assert "would be larger than 1 MiB" in refused.value.message
    assert workspace.project_state.read_bytes() == before
    large = {"note": "x" * (1 << 20)}
    with pytest.raises(RefusedChange):
        add_task(workspace, name="Too much", agent="tester", now=NOON, metadata=large)
    assert list_tasks(workspace) == []


def test_what_the_change_raises_passes_through(workspace: Workspace) -> None:
    def refuse(_: Project) -> dict[str, object]:
        raise LookupError

    before = read_bytes(workspace.project_state)
    with pytest.raises(LookupError):
        change_project(workspace, refuse, now=NOON)
    assert read_bytes(workspace.project_state) == before


def test_comments_stay(workspace: Workspace) -> None:
    text = workspace.project_state.read_text()
    workspace.project_state.write_text(f"# Ours.\n{text}")
    change_project(workspace, lambda _: {"name": "Another"}, now=NOON)
    assert workspace.project_state.read_text().startswith("# Ours.\n")


def test_two_changes_at_once_are_both_there(workspace: Workspace) -> None:
    names = [f"phase-{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as several:
        list(several.map(lambda name: add_phase(workspace, name, now=NOON), names))
    assert set(names) < set(read_project(workspace).phases)


def test_a_phase_is_added_by_whoever_holds_the_lock_already(workspace: Workspace) -> None:
    with locked_folder(workspace.project):
        add_phase(workspace, "review", now=NOON)
    assert read_project(workspace).phases[-1] == "review"


def test_without_a_project_there_is_nothing_to_change(tmp_path) -> None:
    (tmp_path / ".sow").mkdir()
    with pytest.raises(NoProject):
        change_project(Workspace(tmp_path), lambda _: {}, now=NOON)
