"""What killed processes leave of clones goes by itself, and nothing that anybody can want."""

from types import SimpleNamespace

import pytest
from clones.clone_site import plain
from clones.killed import killed_at
from clones.merge_site import MergeSite, make_merge_site

from sow.clones.sweeping import sweep_clones, swept_paths
from sow.errors import StateError
from sow.schema.task import TaskStatus
from worker.sweeping import Sweeper

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path) -> MergeSite:
    return make_merge_site(tmp_path)


def sweep(site: MergeSite, ask=lambda _: None) -> set[str]:
    done = sweep_clones(site.main, ask, lambda _: False)
    return {path.name.partition("-")[0] + path.suffix for path in swept_paths(done)}


def clones(site: MergeSite) -> list[str]:
    folder = site.home.place().path.parent
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    return [name for name in names if not name.startswith(".lock-")]


def test_the_clone_of_a_merge_that_was_killed_before_its_end_goes(site):
    site.work("new", "new\n")
    site.clone("020")
    killed_at("task 010 recorded", lambda step: site.merge(step=step))
    assert site.home.place().path.exists()
    done = sweep_clones(site.main, lambda _: None, lambda _: False)
    assert [gone.task for gone in done.removed] == ["010"]
    assert clones(site) == ["020"]
    assert plain(site.top, "rev-parse", site.branch())


def test_a_clone_stays_that_holds_work_or_is_not_merged_or_in_which_a_job_is_at_work(site):
    site.work("a", "a\n", "010")
    site.work("b", "b\n", "020")
    site.work("c", "c\n", "030")
    for task in ("010", "020"):
        killed_at(f"task {task} recorded", lambda step, task=task: site.merge(task, step=step))
    (site.home.place("010").path / "later").write_text("later\n")

    def at_work(task: str) -> None:
        if task == "020":
            raise StateError("a job is at work")

    assert sweep(site, at_work) == set()
    assert clones(site) == ["010", "020", "030"]
    assert site.task("030").status is TaskStatus.COMPLETED
    sweep(site)
    assert clones(site) == ["010", "030"]


def test_a_clone_that_was_kept_is_not_looked_at_again_where_that_is_asked_for(site):
    """Each look costs twenty processes of git, and a worker comes to rest often."""
    site.work("a", "a\n", "010")
    killed_at("task 010 recorded", lambda step: site.merge("010", step=step))
    (left := site.home.place("010").path / "later").write_text("later\n")
    kept = sweep_clones(site.main, lambda _: None, lambda _: False).kept
    assert [each.task for each in kept] == ["010"]
    left.unlink()
    again = sweep_clones(site.main, lambda _: None, lambda _: False, but_not={"010"})
    assert (again.kept, clones(site)) == ((), ["010"])
    sweep(site)
    assert clones(site) == []


def test_a_worker_looks_again_at_what_it_has_kept_in_a_thorough_sweep_alone(site):
    site.work("a", "a\n", "010")
    killed_at("task 010 recorded", lambda step: site.merge("010", step=step))
    (left := site.home.place("010").path / "later").write_text("later\n")
    sweeper = Sweeper(SimpleNamespace(workspace=site.home.workspace))
    sweeper.sweep()
    left.unlink()
    sweeper.sweep()
    assert clones(site) == ["010"]
    sweeper.sweep(thorough=True)
    assert clones(site) == []
