"""Records in a git folder: read as they were written, by this version and by older ones."""

import json
from pathlib import Path

import pytest
from msgspec import Struct, to_builtins

from sow.clones.steps import read_json, write_json


class Note(Struct, frozen=True):
    name: str
    paths: tuple[str, ...] = ()
    count: int = 0


NOTES = (
    Note("plain", ("a/b", "c")),
    Note("ä ☃ \U0001f600", ("\u2028",), 3),
    Note("no UTF-8", ("caf\udce9", "\udcff")),
)


@pytest.mark.parametrize("note", NOTES)
def test_a_record_is_read_as_it_was_written(tmp_path: Path, note: Note) -> None:
    path = tmp_path / "folder" / "note.json"
    write_json(path, note)
    assert read_json(path, Note) == note
    assert json.loads(path.read_bytes()) == to_builtins(note) | {"paths": list(note.paths)}


@pytest.mark.parametrize("note", NOTES)
def test_a_record_of_an_older_version_is_read(tmp_path: Path, note: Note) -> None:
    path = tmp_path / "note.json"
    path.write_text(json.dumps(to_builtins(note)), "ascii")
    assert read_json(path, Note) == note


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"name": 1}', "{}", '{"name": "\\ud800", "count": ""}']
)
def test_what_is_no_such_record_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "note.json"
    path.write_text(text)
    assert read_json(path, Note) is None
    assert read_json(tmp_path / "missing", Note) is None
