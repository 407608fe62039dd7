"""Anywhere in the clone of a task, the workspace is that of the task; a stray clone is told so."""

import json
import sys
from pathlib import Path

import pytest
from clones.clone_site import plain

from sow.clone_mark import (
    CHECKOUT_PLACE,
    MARK_PLACE,
    CloneMark,
    DamagedMark,
    read_mark,
)
from sow.errors import ExitCode, StateError
from sow.paths import find_workspace

CHECKOUT = "0a1b2c3d"
PROJECT = "1f2e3d4c"


def make_checkout(top: Path, checkout: str) -> None:
    """Make what shows the id of a checkout, as if it had made a clone."""
    place = top / ".git" / CHECKOUT_PLACE
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"id": checkout, "path": str(top)}))


@pytest.fixture
def places(tmp_path):
    """A workspace in a part of a repository, and a marked clone with that part."""
    main, clone = tmp_path / "main", tmp_path / "clones" / f"main-{CHECKOUT}" / PROJECT / "010"
    make_checkout(main, CHECKOUT)
    (main / "part" / ".sow").mkdir(parents=True)
    (clone / "part" / ".sow").mkdir(parents=True)
    (clone / "part" / "src").mkdir()
    (clone / ".git" / "sow").mkdir(parents=True)
    write_mark_by_hand(clone, main / "part")
    return main / "part", clone


def write_mark_by_hand(clone: Path, workspace: Path) -> None:
    fields = dict.fromkeys(("checkout", "project", "task", "branch", "base", "stage"), "x")
    fields |= {"workspace": str(workspace), "path": str(clone), "task": "010", "copied": [".env"]}
    (clone / MARK_PLACE).write_text(json.dumps(fields))


def test_every_folder_of_a_clone_leads_to_the_workspace_of_its_task(places):
    root, clone = places
    assert read_mark(str(clone)).copied == (".env",)
    for folder in (clone, clone / "part", clone / "part" / "src", clone / ".git"):
        assert find_workspace(folder, {}).root == root


def test_a_repository_within_a_clone_leads_there_too(places):
    root, clone = places
    inner = clone / "part" / "vendor" / "library"
    inner.mkdir(parents=True)
    plain(inner, "init", "-q")
    (inner / ".sow").mkdir()
    assert find_workspace(inner, {}).root == root


def test_the_variable_wins(places, tmp_path):
    _, clone = places
    (tmp_path / "other" / ".sow").mkdir(parents=True)
    found = find_workspace(clone, {"SOW_ROOT": str(tmp_path / "other")})
    assert found.root == tmp_path / "other"


def test_a_repository_without_a_mark_is_its_own(places):
    root, clone = places
    (clone / MARK_PLACE).unlink()
    assert find_workspace(clone / "part" / "src", {}).root == clone / "part"
    assert find_workspace(root, {}).root == root


def test_a_copied_clone_is_told_so(places, tmp_path):
    root, clone = places
    clone.rename(tmp_path / "copy")
    clone.mkdir()
    with pytest.raises(StateError, match="the clone of task") as caught:
        find_workspace(tmp_path / "copy" / "part", {})
    assert caught.value.exit_code is ExitCode.STATE
    assert f"{tmp_path / 'copy'} is a copy of the clone of task 010" in caught.value.message
    assert f"SOW_ROOT={root}" in caught.value.hint


def test_a_moved_clone_is_told_so_and_where_it_belongs(places, tmp_path):
    root, clone = places
    clone.rename(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="was moved away") as caught:
        find_workspace(tmp_path / "elsewhere", {})
    assert f"Move it back to {clone}" in caught.value.hint
    assert f"SOW_ROOT={root}" in caught.value.hint


def test_a_workspace_that_has_gone_is_named(places, tmp_path):
    root, clone = places
    root.parent.rename(tmp_path / "renamed")
    with pytest.raises(StateError, match="is the clone of task") as caught:
        find_workspace(clone, {})
    assert str(root) in caught.value.message
    assert "SOW_ROOT" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"workspace": 3}', "[" * 20_000, '{"a": "b"}']
)
def test_a_damaged_mark_is_no_reason_to_act_on_the_clones_own_files(places, text):
    _, clone = places
    (clone / MARK_PLACE).write_text(text)
    with pytest.raises(DamagedMark) as caught:
        find_workspace(clone, {})
    assert "sow clone remove" in caught.value.hint


def test_a_value_of_another_type_is_damage_too(places):
    _, clone = places
    for change in ({"workspace": 3}, {"copied": [1]}, {"copied": 7}, {"more": "x"}):
        fields = {**read_mark(str(clone))._asdict(), **change}
        kept = (clone / MARK_PLACE).read_text()
        (clone / MARK_PLACE).write_text(json.dumps(fields))
        with pytest.raises(DamagedMark):
            find_workspace(clone, {})
        (clone / MARK_PLACE).write_text(kept)


def test_without_any_there_is_still_the_error(tmp_path):
    with pytest.raises(StateError, match=r"no \.sow folder"):
        find_workspace(tmp_path, {})


def test_a_mark_leads_to_no_workspace_that_has_not_made_the_clone(places, tmp_path):
    _, clone = places
    other = tmp_path / "other"
    make_checkout(other, "99999999")
    (other / ".sow").mkdir()
    write_mark_by_hand(clone, other)
    with pytest.raises(StateError, match=", which has made no clone there: its mark was") as caught:
        find_workspace(clone / "part", {})
    assert str(other) in caught.value.message
    assert "SOW_ROOT" in caught.value.hint


@pytest.mark.parametrize("text", [None, "", "[]", '{"id": 3}', '{"id": ""}', "[" * 20_000])
def test_a_workspace_whose_checkout_has_no_id_has_made_none(places, text):
    root, clone = places
    place = root.parent / ".git" / CHECKOUT_PLACE
    place.unlink()
    if text is not None:
        place.write_text(text)
    with pytest.raises(StateError, match=", which has made no clone there: its mark was"):
        find_workspace(clone, {})


def test_a_link_to_a_clone_is_where_the_clone_is(places, tmp_path):
    """Else a link of a well-chosen name would make a clone of any checkout's of it."""
    root, clone = places
    link = tmp_path / "x-99999999" / PROJECT / "010"
    link.parent.mkdir(parents=True)
    link.symlink_to(clone)
    assert find_workspace(link, {}).root == root
    other = tmp_path / "other"
    make_checkout(other, "99999999")
    (other / ".sow").mkdir()
    write_mark_by_hand(clone, other)
    with pytest.raises(StateError, match=", which has made no clone there: its mark was"):
        find_workspace(link, {})


def test_a_workspace_in_a_linked_working_tree_is_known_by_the_id_of_that(places, tmp_path):
    root, clone = places
    plain(root, "init", "-q")
    (root / ".git").rename(tmp_path / "elsewhere")
    (root / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere'}\n")
    with pytest.raises(StateError, match=", which has made no clone there: its mark was"):
        find_workspace(clone, {})
    (tmp_path / "elsewhere" / "sow").mkdir()
    (tmp_path / "elsewhere" / CHECKOUT_PLACE).write_text(json.dumps({"id": CHECKOUT}))
    assert find_workspace(clone, {}).root == root


def test_a_workspace_that_is_reached_through_a_link_has_its_checkout(places, tmp_path):
    root, clone = places
    link = tmp_path / "link"
    link.symlink_to(root)
    write_mark_by_hand(clone, link)
    assert find_workspace(clone, {}).root == link


MARKS = (
    (b'{"workspace": "/caf\\udce9", "checkout": "x", "project": "x", "task": "010", "branch": "x",'
     b' "base": "x", "path": "/x", "stage": "whole", "copied": ["\\udcff", "a"]}', True),
    (b'{"workspace": "/\xc3\xa9", "checkout": "x", "project": "x", "task": "010", "branch": "x",'
     b' "base": "x", "path": "/x", "stage": "whole"}', True),
    (b'{"workspace": "/x", "checkout": 1}', False),
    (b"[1]", False),
    (b"[" * 100_000, False),
    (b"", False),
)  # fmt: skip


@pytest.mark.parametrize(("data", "is_mark"), MARKS)
def test_a_mark_is_read_the_same_with_msgspec_and_without(places, monkeypatch, data, is_mark):
    _, clone = places
    (clone / MARK_PLACE).write_bytes(data)
    with_it = read(clone)
    monkeypatch.delitem(sys.modules, "msgspec")
    assert read(clone) == with_it
    assert (with_it is not None) is is_mark


def read(clone: Path) -> CloneMark | None:
    try:
        return read_mark(str(clone))
    except DamagedMark:
        return None
