"""An update of a clone moves its submodules along, so that no commit takes a pointer back."""

from pathlib import Path

import pytest
from clones.clone_site import plain
from clones.killed import killed_at
from clones.lost_work import LOCAL, add_submodule, initialise, repository
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site

from sow.clones.conflicts import update_of_clone
from sow.clones.steps import no_step

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path) -> MergeSite:
    made = make_merge_site(tmp_path)
    add_submodule(made.top, repository(tmp_path / "library", "lib.txt"))
    made.clone()
    initialise(made.home.place().path)
    return made


def clone_of(site: MergeSite) -> Path:
    return site.home.place().path


def newer_library(site: MergeSite, *, fetched: bool = True) -> str:
    """Have the project take a newer commit of the library along."""
    newer = commit(site.top.parent / "library", "lib.txt", "newer\n")
    if fetched:
        plain(site.top / "lib", *LOCAL, "fetch", "-q", "origin")
        plain(site.top / "lib", "checkout", "-q", newer)
    plain(site.top, "update-index", "--cacheinfo", f"160000,{newer},lib")
    plain(site.top, "commit", "-q", "-m", "A newer library")
    return newer


def update(site: MergeSite, step=no_step) -> tuple[str, ...]:
    return update_of_clone(site.main, site.home.place(), step=step).notes


def commit_all(site: MergeSite) -> str:
    """Commit as agents do; return the submodule's commit in it."""
    (clone_of(site) / "file").write_text("mine\n")
    plain(clone_of(site), "commit", "-q", "-am", "Mine")
    return plain(clone_of(site), "rev-parse", "HEAD:lib")


def test_the_next_commit_keeps_the_projects_pointer(site):
    newer = newer_library(site)
    assert update(site) == ()
    lib = clone_of(site) / "lib"
    assert (lib / "lib.txt").read_text() == "newer\n"
    assert plain(lib, "status", "--porcelain") == ""
    assert plain(clone_of(site), "status", "--porcelain") == ""
    assert commit_all(site) == newer


def test_what_an_update_was_killed_before_is_done_by_the_next(site):
    newer = newer_library(site)
    killed_at("submodules next", lambda step: update(site, step))
    assert update(site) == ()
    assert commit_all(site) == newer


def test_a_submodule_with_work_stays_and_is_named(site):
    newer = newer_library(site)
    edited = clone_of(site) / "lib" / "lib.txt"
    edited.write_text("edited\n")
    (note,) = update(site)
    assert f"lib was not moved to {newer[:12]}: files in it are not committed" in note
    assert edited.read_text() == "edited\n"


def test_a_commit_that_is_not_on_this_machine_is_named(site):
    newer = newer_library(site, fetched=False)
    (note,) = update(site)
    assert f"lib was not moved to {newer[:12]}: that commit is not on this machine" in note
    command = note.partition("`git -C ")[2].partition("`")[0].partition("`")[0]
    assert command == "" or "submodule update lib" in note
    plain(clone_of(site), *LOCAL, "submodule", "--quiet", "update", "lib")
    assert update(site) == ()
    assert commit_all(site) == newer


def test_the_tasks_own_commits_in_a_submodule_stay_checked_out(site):
    mine = commit(clone_of(site) / "lib", "mine", "mine\n")
    commit(site.top, "other", "other\n")
    assert update(site) == ()
    assert plain(clone_of(site) / "lib", "rev-parse", "HEAD") == mine
    newer_library(site)
    (note,) = update(site)
    assert "something else is checked out in it" in note


def test_no_hook_of_a_submodule_acts(site, tmp_path):
    newer_library(site)
    hooks = clone_of(site) / ".git" / "modules" / "lib" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path}/acted'\n")
        (hooks / name).chmod(0o755)
    assert update(site) == ()
    assert not (tmp_path / "acted").exists()


def test_a_submodule_of_a_submodule_is_moved_along(tmp_path):
    site = make_merge_site(tmp_path)
    deep = repository(tmp_path / "deep", "deep.txt")
    library = repository(tmp_path / "library", "lib.txt")
    add_submodule(library, deep, "deep")
    add_submodule(site.top, library)
    plain(site.top, *LOCAL, "submodule", "--quiet", "update", "--init", "--recursive")
    site.clone()
    lib = initialise(clone_of(site))
    initialise(lib, "deep")
    newer = commit(deep, "deep.txt", "newer\n")
    plain(library / "deep", *LOCAL, "pull", "-q", "origin", "main")
    plain(library, "commit", "-q", "-am", "A newer one below")
    plain(site.top / "lib", *LOCAL, "pull", "-q", "--recurse-submodules=no", "origin", "main")
    plain(site.top / "lib" / "deep", *LOCAL, "fetch", "-q", "origin")
    plain(site.top, "commit", "-q", "-am", "A newer library")
    edited = lib / "deep" / "deep.txt"
    edited.write_text("edited\n")
    (note,) = update(site)
    assert f"lib/deep was not moved to {newer[:12]}: files in it are not committed" in note
    assert f"git -C {lib} submodule update deep" in note
    plain(lib / "deep", "checkout", "-q", "--", ".")
    assert update(site) == ()
    assert edited.read_text() == "newer\n"
    assert plain(clone_of(site), "status", "--porcelain") == ""
    assert plain(lib, "status", "--porcelain") == ""
