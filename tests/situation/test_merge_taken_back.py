"""Work that a batch has merged, and that somebody has taken back since: a person is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import make_desk
from clones.clone_site import plain
from situation.refusal_site import RefusalSite

from sow.batches.gathering import Seen, gather
from sow.batches.item_facts import ItemFacts
from sow.calls.batch_look import LimitsNow, Work
from sow.git import view
from sow.ids import ProjectId
from sow.jobs import batches
from sow.jobs.database import open_queue
from sow.schema.batch import ItemState
from sow.schema.task import TaskStatus
from sow.state.projects import read_project

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RefusalSite]:
    """A batch with a task that it has merged, and one whose work nobody has judged."""
    desk = make_desk(tmp_path, open_queue)
    desk.configure({"approve": "agents"})
    site = RefusalSite(desk)
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    site.run("review", "accept", "010", "--summary", "Good.")
    site.work("020", "other", "two\n", status=TaskStatus.NEEDS_REVIEW)
    site.run("batch", "run", "--detach")
    site.work_off()
    assert site.is_merged("010")
    yield site
    desk.close()


def state(site: RefusalSite) -> ItemState:
    """Return how a look finds the merged task."""
    site.work_off()
    found = batches.items_of(site.desk.database, the_batch(site).id)
    return next(each.state for each in found if each.task_id == "010")


def the_batch(site: RefusalSite):
    project = ProjectId(read_project(site.desk.workspace).id)
    (batch,) = batches.going_on(site.desk.database, project)
    return batch


def test_a_merge_that_a_reset_took_back_asks_a_person_until_it_is_merged_again(
    site: RefusalSite,
) -> None:
    assert state(site) is ItemState.DONE
    plain(site.root, "reset", "-q", "--hard", "HEAD~1")
    assert state(site) is ItemState.NEEDS_PERSON
    assert "sow merge 010" in site.run("batch", "show").out
    site.run("merge", "010", "--detach")
    site.work_off()
    assert site.is_merged("010")
    assert state(site) is ItemState.DONE


def test_work_that_somebody_merges_by_hand_then_is_merged(site: RefusalSite) -> None:
    plain(site.root, "reset", "-q", "--hard", "HEAD~1")
    plain(site.root, "merge", "-q", "--no-ff", "-m", "By hand", site.place("010").branch)
    assert state(site) is ItemState.DONE


def test_git_is_asked_once_for_each_place_of_the_project_s_branch(
    site: RefusalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    true_raw = view.View.raw

    def raw(self, *words, **given):
        asked.append(words[0])
        return true_raw(self, *words, **given)

    monkeypatch.setattr(view.View, "raw", raw)
    seen = Seen(site.desk.workspace)
    assert [look(site, seen).is_merged for _ in range(3)] == [True, True, True]
    assert asked.count("rev-list") == 1
    plain(site.root, "reset", "-q", "--hard", "HEAD~1")
    found = look(site, seen)
    assert (found.is_merged, found.merge_is_gone) == (False, True)


def look(site: RefusalSite, seen: Seen) -> ItemFacts:
    desk = site.desk
    batch = the_batch(site)
    work = Work(desk.caller, desk.database, desk.caller.load_configuration(), batch)
    found, _ = gather(desk.workspace, desk.database, batch, seen, LimitsNow(work))
    return next(each for each in found if each.task == "010")
