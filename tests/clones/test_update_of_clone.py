"""An update from the call to the branch in the main repository, killed at each of its steps."""

from pathlib import Path

import pytest
from clones.clone_site import plain
from clones.killed import killed_at, steps_of
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site
from proving import one_in

from sow.clones.conflicts import conflict_in, update_of_clone
from sow.clones.steps import no_step

pytestmark = pytest.mark.slow  # process after process


def update(site: MergeSite, step=no_step) -> None:
    update_of_clone(site.main, site.home.place("010"), step=step)


def begun(folder: Path) -> MergeSite:
    """Return a site whose task has work, and so has the project's branch since."""
    site = make_merge_site(folder, tasks=1)
    site.work("mine", "x\n")
    commit(site.top, "theirs", "x\n", "Theirs")
    return site


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
