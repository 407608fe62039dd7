"""Files that grow: an older sow is told by name what is newer, a newer one reads all that was."""

import re
from pathlib import Path

import pytest

from sow.errors import ExitCode, StateError
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state import version
from sow.state.state_errors import InvalidState, NewerState
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.transitions import enter
from sow.state.version import VERSION_FILE, check_version, folder_version

NOON = 1_769_860_800.0
PAGE = Path(__file__).parents[2] / "docs/upgrading.md"


@pytest.fixture
def state(workspace):
    """The state file of a task."""
    add_task(workspace, name="A task", agent="implementer", now=NOON)
    return find_task(workspace, "010").state


def begin(workspace):
    return change_task(
        workspace, "010", lambda task: enter(task, TaskStatus.IN_PROGRESS, now=NOON), now=NOON
    )


@pytest.fixture
def newer(monkeypatch):
    """A sow for which `started_at` came with form 3; call it to be the older one again."""
    monkeypatch.setattr(version, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(version, "SINCE", {"task.started_at": 3})
    return monkeypatch.undo


def test_a_file_of_a_later_form_is_named_with_its_version_not_with_its_keys(workspace, state):
    state.write_text(state.read_text() + "version: 4\nbatch: spring\n")
    before = state.read_bytes()
    with pytest.raises(NewerState) as caught:
        read_task(workspace, "010")
    assert caught.value.exit_code is ExitCode.STATE
    assert (
        caught.value.message
        == f"{state} has the version '4', but this sow reads only version 2 and older"
    )
    assert "Upgrade sow" in caught.value.hint
    with pytest.raises(NewerState):
        begin(workspace)
    assert state.read_bytes() == before


def test_an_unknown_key_of_no_later_form_is_still_a_mistake(workspace, state):
    state.write_text(state.read_text() + "batch: spring\n")
    with pytest.raises(InvalidState, match="unknown key 'batch'"):
        read_task(workspace, "010")


def test_the_number_is_raised_with_the_first_newer_field_and_not_before(workspace, state, newer):
    file = workspace.sow / VERSION_FILE
    change_task(workspace, "010", lambda _: {"name": "Another"}, now=NOON)
    assert "version:" not in state.read_text()
    assert folder_version(file) == 1
    begin(workspace)
    assert "\nversion: 3\n" in state.read_text()
    assert folder_version(file) == 3
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    newer()
    with pytest.raises(NewerState, match="has the version '3'"):
        read_task(workspace, "010")


def test_a_file_that_came_without_the_folders_number_speaks_for_itself(workspace, state, newer):
    begin(workspace)
    (workspace.sow / VERSION_FILE).write_text("1\n")
    newer()
    with pytest.raises(NewerState, match=r"state\.yaml has the version '3'"):
        read_task(workspace, "010")


def test_a_higher_number_is_never_lowered(workspace, state, newer, monkeypatch):
    monkeypatch.setattr(version, "SCHEMA_VERSION", 5)
    (workspace.sow / VERSION_FILE).write_text("4\n")
    begin(workspace)
    assert folder_version(workspace.sow / VERSION_FILE) == 4


def test_two_numbers_that_a_merge_has_left_are_told_as_such(workspace, state):
    file = workspace.sow / VERSION_FILE
    file.write_text("<<<<<<< HEAD\n2\n=======\n1\n>>>>>>> theirs\n")
    with pytest.raises(StateError, match="has no version number") as caught:
        read_task(workspace, "010")
    assert "keep the higher" in caught.value.hint


def test_a_clone_on_record_takes_the_form_in_which_it_came(workspace, state):
    clone = {"path": "/clones/010", "branch": "sow/a-project-0b5f4b7e/010", "base": "a" * 40}
    assert "version:" not in state.read_text()
    change_task(workspace, "010", lambda _: {"clone": clone}, now=NOON)
    assert "\nversion: 2\n" in state.read_text()
    assert folder_version(workspace.sow / VERSION_FILE) == 2
    assert read_task(workspace, "010").clone.branch == "sow/a-project-0b5f4b7e/010"


def test_the_page_on_upgrading_has_a_row_for_each_form() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| form of a state file \|.*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    forms = [int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    assert forms == list(range(1, version.SCHEMA_VERSION + 1))


@pytest.mark.parametrize("text", ["\0" * 4096, "9" * 4096])
def test_what_is_no_version_is_not_shown_in_full(tmp_path: Path, text: str) -> None:
    (tmp_path / ".sow").mkdir()
    (tmp_path / ".sow" / VERSION_FILE).write_text(text)
    with pytest.raises(NewerState) as caught:
        check_version(Workspace(tmp_path))
    assert len(caught.value.message) < 500
    assert "…" in caught.value.message
