"""An update from the call to the branch in the main repository, killed at each of its steps."""

from pathlib import Path

import pytest
from clones.clone_site import plain
from clones.killed import killed_at, steps_of
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site
from proving import one_in

from sow.clones import bring_back as bringing
from sow.clones.bring_back import bring_back
from sow.clones.conflicts import conflict_in, update_of_clone
from sow.clones.steps import no_step
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
