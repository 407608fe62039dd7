"""A file of somebody else's is written whole or not at all, and never over another's write."""

import json
import os
import threading
from pathlib import Path

import pytest

from sow.errors import ConfigurationError
from sow.files import NotWritten
from sow.install.documents import change_document


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles/settings.json", tmp_path / "home/settings.json"
    for folder in (real.parent, link.parent):
        folder.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    written = change_document(link, lambda _: b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert written.backup is not None
    assert written.backup.read_text() == "old"


def test_a_read_only_file_is_named_and_left(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(
        ConfigurationError, match="was left as it is: it may not be written"
    ) as refusal:
        change_document(file, lambda _: b"new")
    assert str(file) in refusal.value.message
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_what_another_program_writes_meanwhile_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    calls: list[bytes | None] = []

    def change(data: bytes | None) -> bytes:
        calls.append(data)
        if calls.count(b"{}") == 2:  # after the first look, before the write
            file.write_text('{"theirs": 1}')
        return json.dumps({**json.loads(data or b"{}"), "ours": 1}).encode()

    change_document(file, change)
    assert json.loads(file.read_text()) == {"theirs": 1, "ours": 1}


def test_what_is_written_while_the_draft_goes_to_the_disk_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, fsync = tmp_path / "settings.json", os.fsync
    file.write_text("{}")

    def fsync_slowly(descriptor: int) -> None:
        fsync(descriptor)
        if file.read_text() == "{}":
            file.write_text('{"theirs": 1}')

    def change(data: bytes | None) -> bytes:
        return json.dumps({**json.loads(data or b"{}"), "ours": 1}).encode()

    monkeypatch.setattr("os.fsync", fsync_slowly)
    change_document(file, change, keeps_backup=False)
    assert json.loads(file.read_text()) == {"theirs": 1, "ours": 1}
    assert list(tmp_path.iterdir()) == [file]


def test_who_writes_at_every_try_is_named(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("0")

    def change(data: bytes | None) -> bytes:
        file.write_text(str(int(data or b"0") + 1))
        return b"ours"

    with pytest.raises(
        ConfigurationError, match="was left as it is: another program keeps writing"
    ):
        change_document(file, change)
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"], "no backup is left"


def test_a_file_that_cannot_be_written_leaves_no_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes, **options: object) -> bool:
        raise NotWritten(path, OSError(28, "No space left on device"))

    file = tmp_path / "settings.json"
    file.write_text("old")
    monkeypatch.setattr("sow.install.documents.write_atomically", refuse)
    with pytest.raises(NotWritten):
        change_document(file, lambda _: b"new")
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_text() == "old"


def test_two_of_sow_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("[]")

    def add(number: int) -> None:
        change_document(
            file,
            lambda data: json.dumps([*json.loads(data or b"[]"), number]).encode(),
            keeps_backup=False,
        )

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads(file.read_text())) == list(range(8))


def test_nothing_changes_in_a_dry_run(tmp_path: Path) -> None:
    file = tmp_path / "no/such/settings.json"
    written = change_document(file, lambda _: b"new", dry_run=True)
    assert (written.before, written.after) == (None, b"new")
    assert list(tmp_path.iterdir()) == []


def test_what_goes_is_kept_unless_it_may_go(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    for kept, left in (((None,), []), ((), ["notes.md.backup"])):
        file.write_text("old")
        change_document(file, lambda _: None, kept=kept)
        assert [path.name for path in tmp_path.iterdir()] == left


def test_an_edit_right_before_the_write_is_kept(tmp_path: Path) -> None:
    """A backup is decided upon by what is replaced, and not by what was there at the first look."""
    file = tmp_path / "notes.md"
    file.write_text("ours")

    def change(data: bytes | None) -> bytes:
        if data == b"ours":
            file.write_text("edited")
        return b"new"

    written = change_document(file, change, keeps_backup=lambda data: data != b"ours")
    assert written.backup is not None
    assert written.backup.read_text() == "edited"
