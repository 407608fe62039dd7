"""A task's branch is brought into the main repository, and nothing else of that changes."""

from pathlib import Path

import pytest
from clones.clone_site import make_hostile, make_site, plain, traces
from clones.fingerprints import fingerprint
from clones.killed import killed_at, steps_of

from sow.clones.bring_back import BranchInTheWay, bring_back
from sow.clones.place import BranchInPlaceOfFolder
from sow.git.git_errors import GitRefused

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def enrich(main: Path) -> None:
    """Give a repository one of everything that must not change."""
    (main / "stashed").write_text("x\n")
    plain(main, "add", "stashed")
    plain(main, "stash")
    plain(main, "branch", "other")
    plain(main, "tag", "v1")
    plain(main, "branch", "packed")
    plain(main, "pack-refs", "--all")
    plain(main, "config", "fetch.prune", "true")
    plain(main, "config", "core.logAllRefUpdates", "always")
    plain(main, "config", "fetch.writeCommitGraph", "true")
    (main / ".git" / "FETCH_HEAD").write_text("what was fetched last\n")
    (main / ".git" / "hooks").mkdir(exist_ok=True)
    hook = main / ".git" / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch '{main}/acted'\n")
    hook.chmod(0o755)
    (main / "file").write_text("a person's edit\n")
    (main / "untracked").write_text("x\n")


def test_only_the_tasks_branch_changes_whatever_an_agent_does(site):
    enrich(site.main)
    before = fingerprint(site.main, site.facts.branch)
    clone = site.clone
    site.commit("file", "first\n")
    assert bring_back(site.facts, site.repository).commit == site.tip
    (clone / "dirty").write_text("x\n")
    plain(clone, "stash", "-u")
    plain(clone, "config", "user.email", "agent@example.org")
    plain(clone, "tag", "agents-tag")
    plain(clone, "branch", "agents-branch")
    plain(clone, "branch", "-D", "main", accepted=(0, 1))
    plain(clone, "reset", "--hard", "-q", site.facts.base)
    plain(clone, "clean", "-ffdxq")
    plain(clone, "remote", "set-url", "--push", "origin", "no-pushing")
    plain(clone, "push", "--force", accepted=range(1, 256))
    plain(clone, "gc", "-q", "--prune=now")
    last = site.commit("file", "again\n")

    done = bring_back(site.facts, site.repository)

    assert done.commit == last
    assert done.is_rewritten
    assert plain(site.main, "rev-parse", f"refs/heads/{site.facts.branch}") == last
    assert fingerprint(site.main, site.facts.branch) == before
    plain(site.main, "fsck", "--strict", "--connectivity-only")


def test_a_second_call_changes_nothing_and_a_further_commit_goes_on(site):
    first = site.commit("file", "first\n")
    assert bring_back(site.facts, site.repository).former is None
    again = bring_back(site.facts, site.repository)
    assert (again.commit, again.former) == (first, first)
    second = site.commit("file", "second\n")
    done = bring_back(site.facts, site.repository)
    assert (done.commit, done.former, done.is_rewritten) == (second, first, False)
    (site.clone / ".git/refs/heads" / site.facts.branch).unlink()
    assert bring_back(site.facts, site.repository) is None
    assert plain(site.main, "rev-parse", site.facts.branch) == second


def test_nothing_of_a_hostile_clone_acts_while_it_is_fetched(site, tmp_path):
    commit = site.commit("a.txt", "x\n")
    folder = make_hostile(site, tmp_path / "traps")
    assert bring_back(site.facts, site.repository).commit == commit
    assert traces(folder) == []


def test_objects_that_fsck_refuses_are_not_brought(site):
    blob = plain(site.clone, "hash-object", "-w", "--stdin", stdin=b"[core]\n")
    inner = plain(site.clone, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    raw = b"40000 .git\0" + bytes.fromhex(inner)
    tree = plain(site.clone, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=raw)
    bad = plain(site.clone, "commit-tree", tree, "-p", site.tip, "-m", "Bad")
    plain(site.clone, "update-ref", f"refs/heads/{site.facts.branch}", bad)
    with pytest.raises(GitRefused, match=r"hasDotgit|\.git"):
        bring_back(site.facts, site.repository)
    assert plain(site.main, "for-each-ref", "refs/heads/sow") == ""


def test_an_object_that_is_not_what_its_name_says_is_not_brought(site):
    commit = site.commit("file", "true\n")
    blob = plain(site.clone, "rev-parse", f"{commit}:file")
    other = plain(site.clone, "hash-object", "-w", "--stdin", stdin=b"false\n")
    objects = site.clone / ".git" / "objects"
    path = objects / blob[:2] / blob[2:]
    path.unlink()
    path.write_bytes((objects / other[:2] / other[2:]).read_bytes())
    with pytest.raises(GitRefused):
        bring_back(site.facts, site.repository)
    assert plain(site.main, "for-each-ref", "refs/heads/sow") == ""


def test_a_branch_that_names_nothing_is_refused(site):
    (site.clone / ".git/refs/heads" / site.facts.branch).write_text("0" * 39 + "1\n")
    with pytest.raises(GitRefused):
        bring_back(site.facts, site.repository)


def test_a_persons_commits_on_the_branch_are_never_lost(site):
    site.commit("file", "mine\n")
    bring_back(site.facts, site.repository)
    theirs = plain(site.main, "commit-tree", f"{site.tip}^{{tree}}", "-p", site.tip, "-m", "Mine")
    plain(site.main, "branch", "-f", site.facts.branch, theirs)
    site.commit("file", "more\n")
    with pytest.raises(BranchInTheWay, match="does not have"):
        bring_back(site.facts, site.repository)
    assert plain(site.main, "rev-parse", site.facts.branch) == theirs


def test_a_branch_that_a_person_has_checked_out_is_left(site, tmp_path):
    first = site.commit("file", "mine\n")
    bring_back(site.facts, site.repository)
    plain(site.main, "worktree", "add", "-q", str(tmp_path / "look"), site.facts.branch)
    site.commit("file", "more\n")
    with pytest.raises(BranchInTheWay, match="look"):
        bring_back(site.facts, site.repository)
    assert plain(site.main, "rev-parse", site.facts.branch) == first


def test_a_branch_named_sow_is_told(site):
    plain(site.main, "branch", "sow")
    site.commit("file", "mine\n")
    with pytest.raises(BranchInPlaceOfFolder, match="a branch sow exists") as caught:
        bring_back(site.facts, site.repository)
    assert "git branch -m sow" in caught.value.hint


WINDOWS = ("objects fetched", "large files brought", "noted", "branch moved")


def test_these_are_all_the_windows(site):
    site.commit("file", "mine\n")
    assert steps_of(lambda step: bring_back(site.facts, site.repository, step=step)) == WINDOWS


@pytest.mark.parametrize("window", WINDOWS)
def test_a_kill_at_any_step_is_followed_by_a_clean_second_try(site, window):
    site.commit("file", "first\n")
    bring_back(site.facts, site.repository)
    plain(site.clone, "reset", "-q", "--hard", site.facts.base)
    rewritten = site.commit("file", "rewritten\n")
    before = fingerprint(site.main, site.facts.branch)

    killed_at(window, lambda step: bring_back(site.facts, site.repository, step=step))

    done = bring_back(site.facts, site.repository)
    assert (done.commit, plain(site.main, "rev-parse", site.facts.branch)) == (rewritten, rewritten)
    assert fingerprint(site.main, site.facts.branch) == before
    assert steps_of(lambda step: bring_back(site.facts, site.repository, step=step)) == ()
    plain(site.clone, "reset", "-q", "--hard", site.facts.base)
    last = site.commit("file", "last\n")
    assert bring_back(site.facts, site.repository).commit == last
    plain(site.main, "fsck", "--strict")
    plain(site.clone, "fsck", "--strict")


def test_a_branch_brought_for_the_first_time_by_a_try_that_is_killed(site):
    mine = site.commit("file", "mine\n")
    for window in WINDOWS:
        killed_at(window, lambda step: bring_back(site.facts, site.repository, step=step))
    assert bring_back(site.facts, site.repository).commit == mine
