"""After each refusal `sow next` names the step that helps, until it is over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import make_desk
from clones.clone_site import plain
from clones.lost_work import committed_nested
from situation.refusal_site import RefusalSite

from sow.jobs.database import open_queue
from sow.schema.task import TaskStatus


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RefusalSite]:
    desk = make_desk(tmp_path, open_queue)
    desk.configure({"approve": "agents"})
    yield RefusalSite(desk)
    desk.close()


def test_tasks_that_conflict_with_each_other_are_merged_one_by_one(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    site.work("020", "file", "three\n")
    steps = site.follow(until=lambda: site.is_merged("010", "020"))
    begun = ["sow merge 010 020", "sow merge 010", "sow clone update 020"]
    assert commands(steps)[:3] == begun
    assert commands(steps).count("sow merge 010 020") == 1


def commands(lines: list[str]) -> list[str]:
    """Return the commands of some lines, without their reasons and limits."""
    return [line.partition("  # ")[0].partition(" --wait")[0] for line in lines]


def test_a_dirty_tree_is_committed_and_the_merge_made(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    (site.root / "file").write_text("mine\n")
    site.run("merge", "010", "--detach")
    site.work_off()
    steps = commands(site.follow(until=lambda: site.is_merged("010")))
    assert steps[0].startswith(f"git -C {site.root} add -- file && ")
    assert "sow clone update 010" in steps, "what was committed conflicts with it"


def test_a_repository_within_the_clone_is_added_as_files_and_merged(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    committed_nested(site.place("010").path)
    site.run("merge", "010", "--detach")
    site.work_off()
    steps = commands(site.follow(until=lambda: site.is_merged("010")))
    assert f"add app && git -C {site.place('010').path} commit" in steps[0]
    assert (site.root / "app" / "inner.txt").exists()


def test_what_is_in_the_way_no_more_is_no_reason_any_more(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    (site.root / "file").write_text("mine\n")
    site.run("merge", "010", "--detach")
    site.work_off()
    (site.root / "file").write_text("one\n")
    assert commands(site.follow(until=lambda: site.is_merged("010"))) == ["sow merge 010"]


def test_a_batch_over_a_dirty_tree_goes_on_after_the_commit(site: RefusalSite) -> None:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    (site.root / "file").write_text("mine\n")
    site.run("review", "accept", "010", "--summary", "Good.")
    site.run("batch", "run", "--detach")
    site.work_off()
    steps = commands(site.follow(until=lambda: site.is_merged("010")))
    assert steps[0].startswith("git -C ")
    assert not any(step.startswith("sow batch resume") for step in steps[:1])


def test_a_renamed_branch_is_given_to_the_project(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    site.name_branch("main")
    plain(site.root, "branch", "-m", "main", "trunk")
    assert commands(site.follow(until=lambda: site.is_merged("010"))) == [
        "sow project set branch trunk",
        "sow merge 010",
    ]


def test_a_task_is_begun_in_a_clone_where_the_team_s_batches_merge(site: RefusalSite) -> None:
    site.settings(clones={"use": "parallel"}, batch={"merge": True})
    site.desk.task("010")
    assert commands(site.next_lines())[0] == "sow agent spawn 010 --clone"
    site.settings(clones={"use": "parallel"}, batch={"merge": True, "clone": False})
    assert commands(site.next_lines())[0] == "sow agent spawn 010"
    site.settings(batch={"merge": True})
    assert commands(site.next_lines())[0] == "sow agent spawn 010", "clones.use says so already"
