"""`sow refs status`, `update`, `remove` and `prune`: compared with the remote, and with others."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from refs.ref_site import RefSite, cached_folders
from refs.remotes import Remote

from sow.errors import StateError
from sow.refs.adding import add_reference
from sow.refs.cache import cached, locked
from sow.refs.fetching import bring_reference, drop_old_trees, note_use
from sow.refs.index import read_index
from sow.refs.linking import Presence, look
from sow.refs.removing import remove_reference
from sow.refs.updating import UpdateResult, update_reference
from sow.schema.references import Reference

pytestmark = pytest.mark.slow

NOW = 1_800_000_000.0
DAY = 86_400.0


def rewritten(remote: Remote, back_to: str, text: str) -> str:
    """Take the remote's branch back, and on another way."""
    remote.git("reset", "-q", "--hard", back_to)
    remote.write("other.md", text)
    return remote.commit("Another way")


def standing(site: RefSite) -> tuple[str, int, int]:
    """Return how the one reference stands."""
    (found,) = site.lines("refs", "status")
    return found["standing"], found["ahead"], found["behind"]


def test_it_is_told_how_it_stands(site: RefSite, remote: Remote) -> None:
    first = remote.head
    site.good("refs", "add", remote.url)
    assert standing(site) == ("current", 0, 0)
    remote.commit("Second")
    third = remote.commit("Third")
    assert standing(site) == ("behind", 0, 2)
    site.good("refs", "update")
    assert standing(site) == ("current", 0, 0)
    remote.git("reset", "-q", "--hard", first)
    assert standing(site) == ("ahead", 2, 0)
    rewritten(remote, first, "x")
    assert standing(site) == ("diverged", 2, 1)
    remote.path.rename(remote.path.with_name("gone"))
    (found,) = site.lines("refs", "status")
    assert (found["standing"], found["commit"], found["remote"]) == ("unreachable", third, None)
    assert found["reason"]


def test_what_has_diverged_is_set_to_the_remote_and_told(site: RefSite, remote: Remote) -> None:
    first = remote.head
    remote.commit("Second")
    site.good("refs", "add", remote.url)
    other = rewritten(remote, first, "x")
    out = site.good("refs", "update").out
    assert "style: set to the remote, from " in out
    assert f" to {other[:12]} (diverged: 1 here, 1 there)" in out
    assert (site.link("style") / "other.md").read_text() == "x"
    remote.git("reset", "-q", "--hard", first)
    assert "(ahead by 1)" in site.good("refs", "update").out
    assert not (site.link("style") / "other.md").exists()


def test_a_branch_that_is_gone_is_unreachable(site: RefSite, remote: Remote) -> None:
    remote.git("branch", "old")
    site.good("refs", "add", remote.url, "--branch", "old")
    remote.git("branch", "-D", "old")
    assert standing(site)[0] == "unreachable"
    ended = site.sow("refs", "update")
    assert (ended.code, "has no branch old" in ended.err) == (1, True)
    assert (site.link("style") / "README.md").exists()


def test_a_tag_that_was_moved_is_behind(site: RefSite, remote: Remote) -> None:
    remote.git("tag", "v1")
    site.good("refs", "add", remote.url, "--tag", "v1")
    remote.commit("Second")
    assert standing(site)[0] == "current"
    remote.git("tag", "-f", "v1")
    assert standing(site) == ("behind", 0, 1)


def test_an_update_here_changes_nothing_there(
    site: RefSite, remote: Remote, tmp_path: Path
) -> None:
    other = RefSite.begun(tmp_path / "other")
    for each in (site, other):
        each.good("refs", "add", remote.url)
    remote.write("README.md", "Second.\n")
    remote.commit("Second")
    site.good("refs", "update")
    assert (site.link("style") / "README.md").read_text() == "Second.\n"
    assert (other.link("style") / "README.md").read_text() == "Read me.\n"
    assert standing(other) == ("behind", 0, 1)


def test_what_is_linked_no_more_stays_for_a_day(site: RefSite, remote: Remote) -> None:
    reference = Reference(id="style", source=remote.url, link="style")
    add_reference(site.workspace, reference, now=NOW)
    before = site.link("style").resolve()
    remote.commit("Second")
    update_reference(site.workspace, reference, now=NOW + 10)
    assert before.is_dir()
    update_reference(site.workspace, reference, now=NOW + DAY)
    assert before.is_dir()
    update_reference(site.workspace, reference, now=NOW + DAY + 10)
    assert not before.exists()
    assert (site.link("style") / "README.md").exists()


def test_what_another_reference_uses_stays_and_is_no_other_repository(
    site: RefSite, remote: Remote, tmp_path: Path
) -> None:
    for name in ("first", "second", "third", "fourth"):
        site.good("refs", "add", remote.url, "--id", name)
    ended = site.good("refs", "remove", "first")
    assert ended.err == "Note: the fetched files are kept: another reference here uses it\n"
    assert site.json("refs", "remove", "second")["others"] == []
    others = [RefSite.begun(tmp_path / name) for name in ("b", "c")]
    for other in others:
        other.good("refs", "add", remote.url)
    ended = site.good("refs", "remove", "third")
    assert "kept: 2 other repositories of this machine use it" in ended.err
    assert site.json("refs", "remove", "fourth")["others"] == [str(each.root) for each in others]


def test_what_others_use_stays(site: RefSite, remote: Remote, tmp_path: Path) -> None:
    other = RefSite.begun(tmp_path / "other")
    for each in (site, other):
        each.good("refs", "add", remote.url)
    removed = site.json("refs", "remove", "style")
    assert removed["others"] == [str(other.root)]
    assert not os.path.lexists(site.link("style"))
    assert (other.link("style") / "README.md").exists()
    assert other.json("refs", "remove", "style")["others"] == []
    assert cached_folders() == []


def test_an_unknown_one_is_named(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    for verb in ("remove", "update", "status"):
        ended = site.sow("refs", verb, "stile")
        assert (ended.code, "Did you mean style?" in ended.err) == (4, True)


def test_prune_takes_what_nobody_uses(site: RefSite, remote: Remote, tmp_path: Path) -> None:
    other = RefSite.begun(tmp_path / "other")
    second = Remote.begun(tmp_path / "remotes" / "second")
    site.good("refs", "add", remote.url)
    other.good("refs", "add", remote.url)
    other.good("refs", "add", second.url)
    shutil.rmtree(other.root)
    dry = site.lines("refs", "prune", "--dry-run")
    assert len(cached_folders()) == 2
    done = site.lines("refs", "prune")
    assert [each["removed"] for each in done] == [each["removed"] for each in dry]
    assert {each["source"]: each["removed"] for each in done} == {
        remote.url: False,
        second.url: True,
    }
    assert len(cached_folders()) == 1
    assert (site.link("style") / "README.md").exists()


def test_prune_leaves_what_a_link_leads_to_though_another_branch_has_no_index(
    site: RefSite, remote: Remote
) -> None:
    site.good("refs", "add", remote.url)
    site.index.unlink()
    site.good("refs", "prune")
    assert (site.link("style") / "README.md").exists()
    site.link("style").unlink()
    site.good("refs", "prune")
    assert cached_folders() == []


def test_prune_leaves_what_another_process_holds(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    shutil.rmtree(site.root / ".sow/refs")
    with locked(cached(remote.url)):
        (found,) = site.lines("refs", "prune")
    assert "is being fetched by another process" in found["note"]
    assert len(cached_folders()) == 1


def refuse_links(text: str, name: str, folder: int) -> None:
    """Make no link, as a file system without any."""
    raise OSError(1, "Operation not permitted")


def test_a_copy_is_made_where_no_link_can_be(site: RefSite, remote: Remote) -> None:
    (remote.path / "inner").symlink_to("README.md")
    remote.commit("A link")
    reference = Reference(id="style", source=remote.url, link="style")
    added = add_reference(site.workspace, reference, now=NOW, make=refuse_links)
    assert added.is_copy
    assert not site.link("style").is_symlink()
    assert (site.link("style") / "docs/style.md").read_text() == "Be brief.\n"
    assert not os.path.lexists(site.link("style") / "inner")
    assert [each["presence"] for each in site.lines("refs", "list")] == ["copied"]
    remote.write("README.md", "Second.\n")
    remote.commit("Second")
    done = update_reference(site.workspace, reference, now=NOW, make=refuse_links)
    assert (done.result, done.is_copy) == (UpdateResult.UPDATED, True)
    assert (site.link("style") / "README.md").read_text() == "Second.\n"
    assert sorted(path.name for path in (site.root / ".sow/refs").iterdir()) == [
        ".copy-style",
        "index.yaml",
        "style",
    ]
    remote.commit("Third")
    assert not update_reference(site.workspace, reference, now=NOW).is_copy
    assert site.link("style").is_symlink()
    update_reference(site.workspace, reference, now=NOW)
    remove_reference(site.workspace, "style", now=NOW)
    assert [path.name for path in (site.root / ".sow/refs").iterdir()] == ["index.yaml"]


@pytest.mark.parametrize("damage", ["objects", "config", "all"])
def test_a_broken_clone_is_made_anew(site: RefSite, remote: Remote, damage: str) -> None:
    site.good("refs", "add", remote.url)
    (folder,) = cached_folders()
    repository = folder / "repository.git"
    match damage:
        case "objects":
            for path in (repository / "objects").rglob("*"):
                if path.is_file():
                    path.chmod(0o600)
                    path.write_bytes(b"broken")
        case "config":
            (repository / "home/config").write_text("[broken")
        case "all":
            shutil.rmtree(repository)
    remote.write("README.md", "Second.\n")
    second = remote.commit("Second")
    assert "(behind by 1)" in site.good("refs", "update").out
    assert (site.link("style") / "README.md").read_text() == "Second.\n"
    (found,) = site.lines("refs", "list")
    assert found["commit"] == second


def test_what_nobody_can_count_any_more_is_diverged_without_numbers(
    site: RefSite, remote: Remote
) -> None:
    first = remote.head
    remote.commit("Second")
    site.good("refs", "add", remote.url)
    (folder,) = cached_folders()
    shutil.rmtree(folder / "repository.git")
    rewritten(remote, first, "x")
    remote.git("reflog", "expire", "--expire=now", "--all")
    remote.git("gc", "-q", "--prune=now")
    assert site.good("refs", "status").out == "style: diverged (sow refs update style)\n"
    assert site.good("refs", "update").out.endswith(" (diverged)\n")


def test_an_entry_that_was_changed_while_it_was_fetched_links_nothing(
    site: RefSite, remote: Remote
) -> None:
    reference = Reference(id="style", source=remote.url, link="style")
    add_reference(site.workspace, reference, now=NOW)
    remote.commit("Second")
    before = site.link("style").readlink()
    site.index.write_text(site.index.read_text().replace("link: style", "link: rules"))
    with pytest.raises(StateError, match="was changed while it was fetched: nothing is"):
        update_reference(site.workspace, reference, now=NOW)
    assert site.link("style").readlink() == before
    site.good("refs", "update")
    assert (site.link("rules") / "README.md").exists()


def test_a_damaged_record_is_told_and_nothing_is_removed(site: RefSite, remote: Remote) -> None:
    site.good("refs", "add", remote.url)
    (folder,) = cached_folders()
    (folder / "record.json").write_text("{")
    ended = site.sow("refs", "update")
    assert (ended.code, "record.json cannot be read" in ended.err) == (1, True)
    (found,) = site.lines("refs", "prune")
    assert "cannot be read" in found["note"]
    assert (site.link("style") / "README.md").exists()


def test_two_that_add_at_once_lose_nothing(site: RefSite, remote: Remote, tmp_path: Path) -> None:
    others = [Remote.begun(tmp_path / "remotes" / f"r{number}") for number in range(4)]

    def add(each: Remote) -> None:
        name = each.path.name
        add_reference(site.workspace, Reference(id=name, source=each.url, link=name), now=NOW)

    threads = [threading.Thread(target=add, args=(each,)) for each in others * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = read_index(site.workspace)
    assert sorted(reference.id for reference in index.references) == ["r0", "r1", "r2", "r3"]
    for reference in index.references:
        found = look(site.workspace, reference, cached(reference.source))
        assert found.presence is Presence.LINKED


def test_a_tree_stays_that_is_linked_though_another_is_on_record(
    site: RefSite, remote: Remote
) -> None:
    """So it is left by an update that was killed before it moved the link."""
    reference = Reference(id="style", source=remote.url, link="style")
    add_reference(site.workspace, reference, now=NOW)
    remote.commit("Second")
    place = cached(remote.url)
    with locked(place):
        brought = bring_reference(place, reference, now=NOW)
        note_use(site.workspace, place, reference, brought, now=NOW)
        for days in (1, 3):
            assert drop_old_trees(place, now=NOW + days * DAY) == []
    assert (site.link("style") / "README.md").exists()
