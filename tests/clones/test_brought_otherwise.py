"""A task that goes on from another one's work, when that came by a squash or a rebase."""

import pytest
from clones.clone_site import plain
from clones.making_site import NOON, bring, commit
from clones.merge_site import MergeSite, make_merge_site

from sow.clones.base import Dependency
from sow.clones.conflicts import conflict_in, update_of_clone
from sow.clones.record import record_clone
from sow.clones.task_diff import task_change
from sow.schema.job_terms import MergeWay
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process

OTHERWISE = [MergeWay.SQUASH, MergeWay.REBASE]
FIRST = "one of 020\ntwo\nthree\n"
SECOND = "one of 020 and of 010\ntwo\nthree\n"


def begun(site: MergeSite) -> None:
    """Have 010 begin with the work of 020, which nobody has merged yet."""
    site.work("file", "one by 020\ntwo\nthree\n", "020")
    site.work("file", FIRST, "020")
    made = site.home.make("010", dependencies=(Dependency("020", bring(site.home, "020")),))
    record_clone(site.home.workspace, made.mark, now=NOON)


def worked(folder) -> MergeSite:
    """Return a site in which both have changed one line, the second on top of the first."""
    site = make_merge_site(folder, tasks=2)
    begun(site)
    site.work("file", SECOND, "010", depends_on=["020"])
    return site


@pytest.mark.parametrize("way", OTHERWISE)
def test_what_it_goes_on_from_is_no_conflict(tmp_path, way):
    site = worked(tmp_path)
    site.merge("020", way=way)
    commit(site.top, "theirs", "x\n", "Theirs")
    site.merge("010", way=way)
    assert (site.top / "file").read_text() == SECOND
    assert site.subjects()[1] == "Theirs"


@pytest.mark.parametrize("way", OTHERWISE)
def test_both_are_merged_at_once(tmp_path, way):
    site = worked(tmp_path)
    site.merge("010", "020", way=way)
    assert (site.top / "file").read_text() == SECOND


def test_what_was_undone_since_is_in_conflict(tmp_path):
    """As it is after a merge: two have changed that line since they had it in common."""
    site = worked(tmp_path)
    site.merge("020", way=MergeWay.SQUASH)
    commit(site.top, "file", "one\ntwo\nthree\n", "Undone")
    update_of_clone(site.main, site.home.place("010"))
    found = conflict_in(site.main, site.home.place("010"))
    assert found is not None
    assert found.unsolved == ("file",)


def test_the_clone_is_brought_up_to_date_and_its_verdict_holds(tmp_path):
    site = worked(tmp_path)
    site.accept(bring(site.home, "010"))
    site.merge("020", way=MergeWay.SQUASH)
    commit(site.top, "file", FIRST + "four\n", "Four")
    place = site.home.place("010")
    update_of_clone(site.main, place)
    assert (place.path / "file").read_text() == SECOND + "four\n"
    change = task_change(site.main.repository, place, "main")
    assert plain(site.top, "show", f"{change.base}:file") == (FIRST + "four\n").removesuffix("\n")
    site.merge("010")
    assert site.task("010").status is TaskStatus.COMPLETED
    assert (site.top / "file").read_text() == SECOND + "four\n"


@pytest.mark.parametrize("way", OTHERWISE)
def test_a_clone_begins_with_nothing_that_the_project_has(tmp_path, way):
    site = make_merge_site(tmp_path, tasks=2)
    site.work("file", FIRST, "020")
    made = bring(site.home, "020")
    site.merge("020", way=way)
    commit(site.top, "file", "one of the project\ntwo\nthree\n", "Theirs")
    assert site.home.make(dependencies=(Dependency("020", made),)).mark.base == site.tip()


def test_a_clone_begins_with_what_goes_on_from_it(tmp_path):
    site = make_merge_site(tmp_path)
    begun(site)
    site.work("file", SECOND, "010", depends_on=["020"])
    made = bring(site.home, "010")
    site.merge("020", way=MergeWay.SQUASH)
    site.home.make("030", dependencies=(Dependency("010", made),))
    assert (site.home.place("030").path / "file").read_text() == SECOND
