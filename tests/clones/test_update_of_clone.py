"""An update from the call to the branch in the main repository, killed at each of its steps."""

from pathlib import Path
from typing import Any

import pytest
from clones.clone_site import plain
from clones.killed import killed_at, steps_of
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site
from msgspec.structs import replace
from proving import one_in

from sow.clones import bring_back as bringing
from sow.clones import update as updating
from sow.clones.bring_back import bring_back
from sow.clones.conflicts import conflict_in, update_of_clone
from sow.clones.same_merge import differs_by_merges_alone
from sow.clones.steps import no_step
from sow.git.git_errors import GitRefused
from sow.git.run import Command
from sow.git.view import View

pytestmark = pytest.mark.slow  # process after process


def update(site: MergeSite, step=no_step) -> None:
    update_of_clone(site.main, site.home.place("010"), step=step)


def begun(folder: Path, theirs: str = "theirs", *, is_brought: bool = True) -> MergeSite:
    """Return a site whose task has work, and so has the project's branch since.

    `is_brought`: the main repository has the task's, as after the run of an agent.
    """
    site = make_merge_site(folder, tasks=1)
    site.work("mine", "x\n")
    if is_brought:
        bring_back(site.home.place("010"), site.main.repository)
    commit(site.top, theirs, "y\n", "Theirs")
    return site


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the commits which are fetched out of a clone."""
    commits: list[str] = []
    fetch = bringing.fetch_objects

    def noting(view: View, clone: View, name: str) -> None:
        commits.append(name)
        fetch(view, clone, name)

    monkeypatch.setattr(bringing, "fetch_objects", noting)
    return commits


def test_what_the_main_repository_has_merged_is_not_fetched_out_of_the_clone(
    tmp_path: Path, fetched: list[str]
) -> None:
    site = begun(tmp_path)
    del fetched[:]
    update(site)
    assert is_whole(site)
    assert fetched == []
    plain(site.home.place("010").path, "fsck", "--strict", "--connectivity-only")


@pytest.mark.parametrize("hands_over", [True, False])
def test_a_merge_is_handed_over_and_fetched_where_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hands_over: bool
) -> None:
    site = begun(tmp_path)
    ways: list[str] = []
    hand_over, fetch = updating.git_into_git, updating._fetch

    def handing(source: Command, target: Command, **more: Any) -> bool:
        ways.append("handed over")
        words = source[1] if hands_over else ("cat-file", "-e", "0" * 40)
        return hand_over((source[0], words, source[2]), target, **more)

    def fetching(*more: Any) -> None:
        ways.append("fetched")
        fetch(*more)

    monkeypatch.setattr(updating, "git_into_git", handing)
    monkeypatch.setattr(updating, "_fetch", fetching)
    update(site)
    assert ways == (["handed over"] if hands_over else ["handed over", "fetched"])
    assert is_whole(site)
    plain(site.home.place("010").path, "fsck", "--strict")


def test_objects_that_fsck_refuses_are_not_brought_into_a_clone(tmp_path: Path) -> None:
    site = begun(tmp_path)
    before = site.tip(site.branch())
    odd = plain(site.top, "cat-file", "commit", "HEAD").replace("person@example.org> ", ">")
    words = ("hash-object", "-t", "commit", "--literally", "-w", "--stdin")
    bad = plain(site.top, *words, stdin=f"{odd}\n".encode())
    plain(site.top, "update-ref", "refs/heads/main", bad)
    with pytest.raises(GitRefused, match=r"fsck|missingSpaceBeforeDate"):
        update(site)
    assert plain(site.home.place("010").path, "rev-parse", "HEAD") == before


def judged(site: MergeSite, before: str, **more: str) -> bool:
    """Whether a verdict on a commit holds for the task's branch as it is."""
    place = replace(site.home.place("010"), **more)
    tip = site.tip(site.branch())
    return differs_by_merges_alone(site.main.repository, place, site.tip(), before, tip)


def test_a_merge_that_sow_has_made_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = begun(tmp_path)
    before = site.tip(site.branch())
    update(site)
    asked: list[str] = []
    answer = View.answer

    def noting(view: View, *words: str, **more: Any) -> tuple[int, bytes, str]:
        asked.append(words[0])
        return answer(view, *words, **more)

    monkeypatch.setattr(View, "answer", noting)
    assert judged(site, before)
    assert asked == []
    assert judged(site, before, inside="elsewhere")
    assert "merge-tree" in asked


def test_a_commit_that_only_looks_like_that_merge_is_none(tmp_path: Path) -> None:
    site = begun(tmp_path)
    before = site.tip(site.branch())
    update(site)
    clone = site.home.place("010").path
    (clone / "mine").write_text("more\n")
    plain(clone, "commit", "-q", "-a", "--amend", "--no-edit")
    bring_back(site.home.place("010"), site.main.repository)
    assert not judged(site, before)


def test_two_updates_are_both_seen_through(tmp_path: Path) -> None:
    site = begun(tmp_path)
    before = site.tip(site.branch())
    update(site)
    commit(site.top, "theirs", "z\n", "Theirs again")
    update(site)
    assert judged(site, before)


def test_a_branch_that_the_main_repository_lacks_is_merged_in_its_clone(
    tmp_path: Path, fetched: list[str]
) -> None:
    site = begun(tmp_path, is_brought=False)
    update(site)
    assert is_whole(site)
    assert fetched == [site.tip(site.branch())]


def test_a_conflict_that_the_main_repository_finds_is_laid_into_the_clone(tmp_path: Path) -> None:
    site = begun(tmp_path, "mine")
    place = site.home.place("010")
    assert update_of_clone(site.main, place).conflicts == ("mine",)
    marks = (place.path / "mine").read_text()
    assert f"<<<<<<< heads/{place.branch}" in marks
    assert ">>>>>>> heads/main" in marks
    conflict = conflict_in(site.main, place)
    assert conflict is not None
    assert conflict.unsolved == ("mine",)


def is_whole(site: MergeSite) -> bool:
    """Whether the branch in the main repository has the task's work and all of the project's."""
    branch = site.branch()
    inside = plain(site.top, "merge-base", branch, "main") == site.tip()
    return inside and site.tip(branch) == plain(site.home.place("010").path, "rev-parse", "HEAD")


def test_killed_at_each_step_it_is_completed_by_the_next(tmp_path_factory) -> None:
    """A batch asks the branch in the main repository whether a task is up to date."""
    whole = begun(tmp_path_factory.mktemp("whole"))
    windows = dict.fromkeys(steps_of(lambda step: update(whole, step)))
    assert is_whole(whole)
    assert {"branch moved", "objects fetched", "noted"} <= set(windows)
    for window in one_in(3, list(windows)):
        for looks_first in (False, True):
            site = begun(tmp_path_factory.mktemp("killed"))
            killed_at(window, lambda step, site=site: update(site, step))
            if looks_first:  # as the step of a job does
                assert conflict_in(site.main, site.home.place("010")) is None
            update(site)
            assert is_whole(site), window
            plain(site.top, "fsck", "--strict", "--connectivity-only")
