"""Notes about folders in which a command works: its own while it lives, left once it has died."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sow.files.left_folders import (
    LeftFolder,
    LeftRepository,
    left_folders,
    note_folder,
    notes_folder,
    taken_folders,
)

WORK = """
from pathlib import Path
from sow.files.left_folders import note_folder
note = note_folder(Path("/place/sow-try-1"), is_kept=False)
note.add(Path("/place/sow-try-1/\\udc80 one"), "p1")
print("noted", flush=True)
input()
"""
REPOSITORY = LeftRepository(Path("/place/sow-try-1/\udc80 one"), "p1")
LEFT = LeftFolder(Path("/place/sow-try-1"), False, (REPOSITORY,))


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return notes_folder()


def killed(place: str = "/place/sow-try-1", *, is_kept: bool = False) -> Path:
    """Return the note of a command that is gone."""
    note = note_folder(Path(place), is_kept=is_kept)
    note.close()
    return note.path


def test_what_a_living_command_works_in_is_not_left(notes: Path) -> None:
    assert left_folders() == []  # nor is there a folder of notes
    note = note_folder(Path("/place/sow-try-1"), is_kept=False)
    assert left_folders() == []
    with taken_folders() as taken:
        assert taken == []
    note.remove()
    note.close()
    assert list(notes.iterdir()) == []


def test_what_a_killed_command_worked_in_is_left_until_it_is_taken() -> None:
    words = [sys.executable, "-c", WORK]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert left_folders() == []
        process.send_signal(signal.SIGKILL)
    assert left_folders() == [LEFT]
    with taken_folders() as ((note, left),):
        assert left == LEFT
        assert left_folders() == []  # another command does not take it too
    assert left_folders() == [LEFT]
    with taken_folders() as ((note, left),):
        note.remove()
    assert left_folders() == []


def test_a_line_that_is_cut_names_nothing() -> None:
    path = killed()
    with path.open("a", encoding="ascii") as file:
        file.write('{"repository": "/place/sow-try-1/a", "project": "p1"}\n{"repository": "/pl')
    assert left_folders()[0].repositories == (LeftRepository(Path("/place/sow-try-1/a"), "p1"),)


def test_no_folder_is_removed_that_has_not_the_name_of_one_of_ours() -> None:
    killed("/home/somebody")
    killed("/place/sow-try-2", is_kept=True)
    assert [left.is_kept for left in left_folders()] == [True, True]


def test_a_folder_that_an_error_has_named_stays() -> None:
    note = note_folder(Path("/place/sow-try-1"), is_kept=False)
    note.keep()
    note.close()
    assert left_folders()[0].is_kept


@pytest.mark.parametrize(
    "text", ["", "{", "[]\n", "{}\n", '{"folder": 1, "is_kept": false}\n', '{"folder": "/a"}\n1\n']
)
def test_what_is_no_note_is_left_alone(text: str) -> None:
    path = killed()
    path.write_text(text)
    path.with_name("link.json").symlink_to(path)
    os.mkfifo(path.with_name("pipe.json"))
    assert left_folders() == []
    assert path.exists()
