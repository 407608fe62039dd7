"""Where a command works that has a folder of its own, whatever lies around that."""

import sys
from pathlib import Path

import pytest

from sow.cli.own_repository import own_folder
from sow.files.left_folders import notes_folder
from sow.paths import find_workspace


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "executable", "/bin/true")  # the commands that end what runs there


def test_no_command_there_is_about_a_repository_around_it(tmp_path: Path) -> None:
    (tmp_path / ".sow").mkdir()
    with own_folder(tmp_path / "kept", "demo") as own:
        repository = own.new_repository(own.path, {})
        assert find_workspace(repository.folder, {}).root == tmp_path / "kept"


def test_a_folder_that_cannot_be_noted_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notes_folder().parent.mkdir(parents=True)
    notes_folder().touch()
    with pytest.raises(FileExistsError), own_folder(None, "try"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
