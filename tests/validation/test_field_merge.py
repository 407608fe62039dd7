"""Two versions of a state file: what has one right answer, field by field, and what has none."""

from pathlib import Path

import pytest

from sow.validation.field_merge import merge_states

BASE = """\
# Kept by sow.
task:
  id: "010"
  name: A
  status: pending
  depends_on: ["020"]
  updated_at: 2026-01-31T12:00:00Z
  metadata: {a: 1}
"""
PATH = Path("state.yaml")


def changed(*pairs: tuple[str, str]) -> bytes:
    text = BASE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def merged(ours: bytes, theirs: bytes, base: bytes | None = BASE.encode()) -> str | None:
    text = merge_states(base, ours, theirs, PATH).text
    return None if text is None else text.decode()


NAME, STATUS = ("name: A", "name: B"), ("status: pending", "status: paused")
LATER, LATEST = ("12:00:00", "12:01:00"), ("12:00:00", "12:02:00")
ADDED, OTHER = ('["020"]', '["020", "030"]'), ('["020"]', '["020", "040"]')


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ([NAME], [STATUS], [NAME, STATUS]),
        ([STATUS], [NAME], [STATUS, NAME]),
        ([NAME], [NAME], [NAME]),
        ([LATER], [LATEST], [LATEST]),
        ([LATEST], [LATER], [LATEST]),
        ([ADDED], [OTHER], [('["020"]', '["020", "030", "040"]')]),
        ([('["020"]', "[]")], [OTHER], [('["020"]', '["040"]')]),
        ([("{a: 1}", "{a: 1, b: 2}")], [("{a: 1}", "{a: 3}")], [("{a: 1}", "{a: 3, b: 2}")]),
        ([("{a: 1}", "{}")], [NAME], [("{a: 1}", "{}"), NAME]),
        ([NAME], [("{a: 1}", "{}")], [NAME, ("{a: 1}", "{}")]),
        ([("# Kept by sow.", "# Ours.")], [NAME], None),
    ],
)
def test_what_one_side_alone_has_changed_is_taken(ours, theirs, result) -> None:
    found = merged(changed(*ours), changed(*theirs))
    assert found == (None if result is None else changed(*result).decode())


@pytest.mark.parametrize(
    ("ours", "theirs", "field"),
    [
        ([NAME], [("name: A", "name: C")], "name"),
        ([STATUS], [("status: pending", "status: failed")], "status"),
        ([("{a: 1}", "{a: 2}")], [("{a: 1}", "{a: 3}")], "a"),
        ([("2026-01-31T12:00:00Z", "soon")], [LATER], "updated_at"),
        ([NAME], [("# Kept by sow.", "# Theirs.")], "comments"),
    ],
)
def test_what_both_have_changed_is_in_dispute(ours, theirs, field) -> None:
    found = merge_states(BASE.encode(), changed(*ours), changed(*theirs), PATH)
    assert (found.text, found.disputed) == (None, (field,))


def test_without_the_version_before_only_times_have_an_answer() -> None:
    assert merged(changed(LATER), changed(LATEST), None) == changed(LATEST).decode()
    assert merged(changed(NAME), changed(STATUS), None) is None


def test_the_same_item_added_in_two_ways_is_in_dispute() -> None:
    base = b"project:\n  inputs: []\n"
    ours = b"project:\n  inputs:\n  - {path: a.md, type: goal}\n"
    found = merge_states(base, ours, ours.replace(b"goal", b"design"), PATH)
    assert found.disputed == ("inputs",)
    assert merge_states(base, ours, ours.replace(b"a.md", b"b.md"), PATH).text is not None


def ended(how: str, by: str, minute: int) -> bytes:
    end = f"  ending:\n    how: {how}\n    by: {by}\n    at: 2026-01-31T12:0{minute}:00Z\n"
    return f"project:\n  name: A\n{end}".encode()


@pytest.mark.parametrize("minutes", [(1, 2), (2, 1)])
def test_of_two_ends_of_a_project_the_later_is_kept(minutes: tuple[int, int]) -> None:
    before = b"project:\n  name: A\n"
    ours, theirs = (
        ended("finished", by, minute) for by, minute in zip(("ann", "bob"), minutes, strict=True)
    )
    text = merged(ours, theirs, before)
    assert text is not None
    assert ("by: bob" in text, "12:02" in text) == (minutes == (1, 2), True)
    assert merged(ended("finished", "ann", 1), ended("abandoned", "bob", 2), before) is None
