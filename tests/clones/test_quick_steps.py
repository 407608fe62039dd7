"""Each step of a clone's life once, in few tests: the rest of them take process after process.

So `make test-quick` sees a clone made, left, brought up to date, merged, swept and removed.
"""

import pytest
from clones.clone_site import make_site, plain
from clones.making_site import commit, make_home
from clones.merge_site import MergeSite, make_merge_site
from clones.test_leftovers import conflicting, leave, status
from clones.test_removal import reasons
from clones.test_sweeping import clones, sweep

from sow.clones.locks import gone_path, locked_place
from sow.clones.update import update_clone
from sow.schema.task import TaskStatus


@pytest.fixture
def site(tmp_path) -> MergeSite:
    return make_merge_site(tmp_path)


def test_a_verdict_holds_for_a_merge_of_the_projects_branch_without_a_conflict(site):
    made = site.work("new", "new\n")
    site.accept(made)
    commit(site.top, "other", "other\n")
    place = site.home.place()
    update_clone(place, site.home.repository, "main")
    assert plain(place.path, "rev-parse", "HEAD") != made
    site.merge()
    assert site.task().status is TaskStatus.COMPLETED


def test_what_is_half_removed_goes_whatever_its_task_is_and_the_living_stay(site):
    site.clone("010")
    for task in ("010", "020", "030"):
        (gone_path(site.home.place(task).path) / "deep").mkdir(parents=True)
    with locked_place(site.home.place("030")):
        sweep(site)
    left = clones(site)
    assert "010" in left
    assert [name for name in left if name.startswith(".gone-")] == [
        name for name in left if name.startswith(".gone-030-")
    ]


def test_a_conflict_that_was_solved_is_committed_as_the_merge(tmp_path):
    site = make_site(tmp_path)
    theirs = conflicting(site)
    before = site.tip
    (site.clone / "file").write_text("one\nboth\nthree\n")
    done = leave(site)
    assert plain(site.clone, "log", "-1", "--format=%P") == f"{before} {theirs}"
    assert done.files == ("file",)
    assert status(site) == []
    assert not (site.clone / ".git" / "MERGE_HEAD").exists()


def test_a_repository_within_the_clone_is_work_too(tmp_path):
    home = make_home(tmp_path)
    home.make()
    inner = home.place().path / "inner"
    inner.mkdir()
    plain(inner, "init", "-q")
    assert reasons(home) == ("uncommitted: inner/",)
