"""Links and other things in the place of what sow keeps: not followed, and told or taken away."""

import os
import subprocess
from pathlib import Path

import pytest
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote
from refs.swapping import snapshot

from sow.refs.adding import add_reference
from sow.refs.cache import cached, delete_tree
from sow.refs.exporting import MOST_DEEP
from sow.refs.for_task import references_of
from sow.refs.linking import Presence, look
from sow.schema.references import Reference

NOW = 1_900_000_000.0


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Give a folder that no command may touch."""
    folder = tmp_path / "outside"
    (folder / "below").mkdir(parents=True, mode=0o755)
    (folder / "below/kept.txt").write_text("Not yours.\n")
    (folder / "index.yaml").write_text("references: [secret]\n")
    return folder


def test_an_index_that_is_a_link_is_neither_read_nor_replaced(
    site: RefSite, remote: Remote, outside: Path
) -> None:
    site.good("refs", "add", remote.url)
    site.index.unlink()
    site.index.symlink_to(outside / "index.yaml")
    before = snapshot(outside)
    for words in (("list",), ("add", remote.url), ("update",), ("init",), ("remove", "style")):
        ended = site.sow("refs", *words)
        assert (ended.code, "it is a link" in ended.err) == (4, True), ended
        assert "secret" not in ended.err
    assert snapshot(outside) == before


def test_a_link_in_the_place_of_the_whole_folder_is_refused(
    site: RefSite, remote: Remote, outside: Path
) -> None:
    (site.root / ".sow").rename(outside / ".sow")
    (site.root / ".sow").symlink_to(outside / ".sow")
    before = snapshot(outside)
    ended = site.sow("refs", "add", remote.url)
    assert (ended.code, ".sow is a link" in ended.err) == (4, True)
    assert snapshot(outside) == before


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 2000])
def test_what_lies_where_drafts_lie_goes_and_leads_nowhere(
    site: RefSite, remote: Remote, outside: Path, depth: int
) -> None:
    """Whoever may write there may make folders so deep that no walk comes to their end."""
    before = snapshot(outside)
    refs = os.open(site.root / ".sow/refs", os.O_RDONLY)
    os.symlink(outside, ".style.link.tmp", dir_fd=refs)
    os.mkdir(".style.deep.tmp", dir_fd=refs)
    below = os.open(".style.deep.tmp", os.O_RDONLY, dir_fd=refs)
    for _ in range(depth):
        os.symlink(outside, "link", dir_fd=below)
        os.mkdir("a", 0o700, dir_fd=below)
        deeper = os.open("a", os.O_RDONLY, dir_fd=below)
        os.fchmod(below, 0o500)
        os.close(below)
        below = deeper
    os.close(below)
    os.close(refs)
    try:
        site.good("refs", "add", remote.url)
    finally:  # what is left of it pytest could not remove
        subprocess.run(("rm", "-rf", site.root / ".sow/refs/.style.deep.tmp"), check=True)
    assert sorted(path.name for path in site.link("").iterdir()) == ["index.yaml", "style"]
    assert snapshot(outside) == before


def test_what_is_removed_from_the_cache_leads_nowhere(
    site: RefSite, remote: Remote, outside: Path
) -> None:
    site.good("refs", "add", remote.url)
    before = snapshot(outside)
    place = cached(remote.url)
    for name in (".draft-1", ".gone-1"):
        (place.trees / name).symlink_to(outside)
    site.good("refs", "update")
    assert [path.name for path in place.trees.iterdir() if path.name.startswith(".")] == []
    (place.trees / "left").symlink_to(outside)
    delete_tree(place.trees / "left")
    assert not os.path.lexists(place.trees / "left")
    assert snapshot(outside) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "trees", "repository.git"])
def test_a_link_in_the_cache_is_refused(
    site: RefSite, remote: Remote, outside: Path, name: str
) -> None:
    site.good("refs", "add", remote.url)
    (folder,) = cached_folders()
    (folder / name).rename(outside / "moved")
    (folder / name).symlink_to(outside / "moved")
    before = snapshot(outside)
    for words in (("add", remote.url), ("update",), ("remove", "style")):
        ended = site.sow("refs", *words)
        assert (ended.code in (1, 4), "is a link: nothing is fetched" in ended.err) == (True, True)
    assert "is a link" in site.good("refs", "prune").out
    assert snapshot(outside) == before


def test_a_mark_that_names_no_tree_makes_no_copy(site: RefSite, remote: Remote) -> None:
    reference = Reference(id="style", source=remote.url, link="style")
    site.link("style").mkdir()
    mark = site.root / ".sow/refs/.copy-style"
    for text in ("../../repository.git/home/config", "--output=/x", "0" * 39, ""):
        mark.write_text(text)
        assert look(site.workspace, reference, cached(remote.url)).presence is Presence.STRANGE
    mark.write_text("0" * 40)
    assert look(site.workspace, reference, cached(remote.url)).presence is Presence.COPIED


def test_a_copy_is_read_and_not_what_lies_beside_it(site: RefSite, remote: Remote) -> None:
    def refuse_links(text: str, name: str, folder: int) -> None:
        raise OSError(1, "Operation not permitted")

    reference = Reference(id="style", source=remote.url, link="files")
    add_reference(site.workspace, reference, now=NOW, make=refuse_links)
    (found,) = references_of(site.workspace, ["ref:style"])
    assert found.folder == found.readable == site.link("files")
    add_reference(site.workspace, reference, now=NOW)
    (found,) = references_of(site.workspace, ["ref:style"])
    assert found.folder is not None
    assert found.readable == found.folder.parent != site.link("")


@pytest.mark.slow
def test_files_that_lie_too_deep_are_left_out_and_told(site: RefSite, remote: Remote) -> None:
    """No walk through a reference, by whatever program, fails for its depth."""
    depths = (0, MOST_DEEP, MOST_DEEP + 1, 1500)
    lines = [f"M 100644 inline {'a/' * depth}kept.txt\ndata 5\nDeep\n" for depth in depths]
    head = "commit refs/heads/main\ncommitter A <a@example.org> 1 +0000\ndata 5\nDeep\n"
    remote.git("fast-import", "--quiet", "--force", stdin=(head + "".join(lines)).encode())
    ended = site.good("refs", "add", remote.url)
    assert f"it lies below more than {MOST_DEEP} folders" in ended.err
    top = site.link("style")
    assert (top / ("a/" * MOST_DEEP) / "kept.txt").is_file()
    assert len([*top.resolve().rglob("kept.txt")]) == 2
    site.good("refs", "remove", "style")
    assert cached_folders() == []


@pytest.mark.slow
def test_names_without_end_are_refused(site: RefSite, remote: Remote) -> None:
    """Some twenty folders that hold one another hold gigabytes of names."""
    oid, kind = remote.blob("x"), "100644 blob"
    for depth in range(20):
        names = [f"{number:02}{'x' * 150}" for number in range(33 if depth < 3 else 1)]
        tree = "".join(f"{kind} {oid}\t{name}\n" for name in names)
        oid, kind = remote.git("mktree", stdin=tree.encode()), "040000 tree"
    remote.git("update-ref", "refs/heads/main", remote.git("commit-tree", oid, "-m", "Many"))
    ended = site.sow("refs", "add", remote.url)
    assert (ended.code, "holds more than 64 MiB of names" in ended.err) == (4, True), ended
    assert cached_folders() == []


@pytest.mark.slow
def test_names_of_any_length_are_left_out_and_told(site: RefSite, remote: Remote) -> None:
    name = "x" * 1_500_000
    remote.commit_entries(("100644", "blob", "kept", "kept.txt"), ("100644", "blob", "x", name))
    ended = site.good("refs", "add", remote.url)
    assert "x: file name too long" in ended.err
    assert len(ended.err) < 1000
    (view,) = site.lines("refs", "list")
    assert len(view["left_out"]) == 1
