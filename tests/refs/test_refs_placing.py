"""Links on a disk that takes two names for one: nothing is written through one, none leads out.

A name that the disk takes for another is that other one here: so it is on every machine.
"""

import os
from pathlib import Path

import pytest

from sow.refs.exporting import write_links


def written(top: Path, links: dict[str, str]) -> list[str]:
    """Make links, and return what was left out."""
    left_out: list[str] = []
    write_links(top, links, set(), left_out)
    return left_out


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Give the folder of a tree, with something beside it."""
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "beside").write_text("Not yours.\n")
    return folder


def test_no_link_is_made_through_another(top: Path) -> None:
    """A commit has the link A and the folder a/a/a, say, and the disk ignores case."""
    left_out = written(top, {"a": ".", "a/a/a/b": "../../../beside"})
    assert left_out == ["a: file exists"]
    assert (top / "a/a/a/b").is_symlink()
    assert not os.path.lexists(top / "b")


def test_a_link_that_leads_out_on_the_disk_is_taken_away(top: Path) -> None:
    """The commit has A, which the disk takes for the `a` that another link goes through."""
    (top / "a").symlink_to(".")
    left_out = written(top, {"inside": "a/a/inside-too", "d/two": "../a/../beside"})
    assert left_out == ["d/two: a link that leads out of the reference on this disk"]
    assert (top / "inside").is_symlink()
    assert not os.path.lexists(top / "d/two")
