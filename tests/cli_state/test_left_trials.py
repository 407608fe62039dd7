"""What the next command makes of a folder that a killed one has left, by its note alone."""

import os
import sys
from pathlib import Path

import pytest

from sow.cli.own_repository import end_what_was_left
from sow.files.left_folders import left_folders, note_folder

PROJECT, OTHER = "37bca3b4-3e59-4b52-9b8e-7f9f0369338b", "c7f20b4b-8a35-4e0f-8d9e-5b2f4b1f8a11"


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def left(folder: Path, *parts: str, is_kept: bool = False, project: str = "") -> Path:
    """Leave a folder as a killed command does, with a repository in each of its parts.

    There is a project in them where it has an id.
    """
    folder.mkdir(parents=True)
    note = note_folder(folder, is_kept=is_kept)
    for root in [folder / part for part in parts or (".",)]:
        if project:
            state = root / ".sow/project/state.yaml"
            state.parent.mkdir(parents=True)
            state.write_text(f"project:\n  id: {project}\n")
        note.add(root, PROJECT)
    note.close()
    return folder


def test_a_temporary_folder_is_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = left(tmp_path / "sow-try-1")
    end_what_was_left()
    assert "an earlier command was killed" in capsys.readouterr().err
    assert not folder.exists()
    assert not left_folders()


def test_another_users_folder_of_that_name_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a restart of the machine anybody may take a name below `/tmp`."""
    folder = left(tmp_path / "sow-try-1", project=PROJECT)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    end_what_was_left()
    assert capsys.readouterr().err == ""
    assert folder.exists()
    assert not left_folders()


def test_a_project_in_the_place_of_a_kept_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its owner has removed what the trial has left, and works there."""
    left(tmp_path / "mine", is_kept=True, project=OTHER)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # no command may be run in it
    end_what_was_left()
    assert capsys.readouterr().err == ""
    assert not left_folders()


def test_what_cannot_be_ended_stays_for_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It keeps nobody from what they want to do now."""
    folder = left(tmp_path / "sow-try-1", project=PROJECT)
    gone = left(tmp_path / "sow-try-2")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    end_what_was_left()
    printed = capsys.readouterr().err
    assert f"Warning: {folder} is left: /nowhere/python: No such file or directory" in printed
    assert [each.folder for each in left_folders()] == [folder]
    assert not gone.exists()


def test_one_repository_that_cannot_be_ended_keeps_no_other_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = left(tmp_path / "sow-compare-1", "claude", "codex", project=PROJECT)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\npwd >> {tmp_path}/folders\nexit 6\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    end_what_was_left()
    asked = set((tmp_path / "folders").read_text().split())
    assert asked == {str(folder / "claude"), str(folder / "codex")}
    assert [each.folder for each in left_folders()] == [folder]
