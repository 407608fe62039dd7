"""After each refusal `sow next` names the step that helps, until it is over."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from calls.desk import make_desk
from clones.clone_site import name_author, plain
from clones.lost_work import committed_nested
from situation.refusal_cases import CASES, LEFT_OUT, MODULES, Case, another_tree
from situation.refusal_site import RefusalSite

import sow
from sow.errors import SowError
from sow.ids import TaskId
from sow.jobs.database import open_queue
from sow.schema.causes import Cause
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import MergeTerms
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow


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


def test_all_that_was_merged_together_in_vain_is_named_one_by_one(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    site.work("020", "file", "three\n")
    site.work("030", "new", "two\n")
    site.work("040", "newer", "two\n", depends_on=["020"])
    site.run("merge", "010", "020", "030", "--detach")
    site.work_off()
    merges = ["sow merge 010", "sow merge 020", "sow merge 030"]
    assert commands(site.next_lines()) == merges, "040 comes after 020"
    site.work("050", "newest", "two\n")
    assert commands(site.next_lines()) == ["sow merge 050", *merges]


def test_a_task_that_nothing_stands_against_is_named_though_a_merge_of_others_was_refused(
    site: RefusalSite,
) -> None:
    site.work("010", "new", "two\n")
    site.work("020", "file", "two\n")
    (site.root / "file").write_text("mine\n")
    for _ in range(2):
        site.run("merge", "010", "020", "--detach")
        site.work_off()
    dirty = f"git -C {site.root} add -- file"
    first, *others = commands(site.next_lines())
    assert (first, [line.startswith(dirty) for line in others]) == ("sow merge 010", [True])


def test_a_repository_within_the_clone_is_added_as_files_and_merged(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    committed_nested(site.place("010").path)
    site.run("merge", "010", "--detach")
    site.work_off()
    steps = commands(site.follow(until=lambda: site.is_merged("010")))
    assert f"add app && git -C {site.place('010').path} commit" in steps[0]
    assert (site.root / "app" / "inner.txt").exists()


def test_what_was_committed_by_hand_after_the_verdict_is_reviewed_and_then_merged(
    site: RefusalSite,
) -> None:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    accept = ("review", "accept", "010", "--summary", "Good.")
    assert site.run(*accept).code == 0
    clone = site.place("010").path
    (clone / "file").write_text("by hand\n")
    plain(clone, "commit", "-q", "-a", "-m", "By hand")
    assert commands([site.first()]) == ["sow agent review 010"], "a merge would be refused"
    assert site.run(*accept).code == 0
    assert commands(site.follow(until=lambda: site.is_merged("010"))) == ["sow merge 010"]
    assert (site.root / "file").read_text() == "by hand\n"


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


def test_a_refusal_that_nobody_sees_the_reason_of_is_a_persons_matter_the_second_time(
    site: RefusalSite,
) -> None:
    site.work("010", "file", "two\n")
    fails = {"verb": Verb.MERGE, "agent": "", "executor": None, "state": JobState.FAILED}
    why = {"cause": Cause.MERGE_REFUSED, "reason": "a hook forbids it", "settled": 1}
    for first in ("sow merge 010 --wait 100s", "sow job show 2"):
        site.desk.insert(task_id="010", **fails, **why)
        assert site.first() == first
    assert "was refused 2 times: a hook forbids it" in site.next_lines()[0]


def test_of_two_working_trees_that_race_for_a_branch_the_other_one_is_named(
    site: RefusalSite,
) -> None:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    tree = plain(site.root, "rev-parse", "HEAD^{tree}")
    others = plain(site.root, "commit-tree", tree, "-p", "HEAD", "-m", "The other's work")
    plain(site.root, "update-ref", f"refs/heads/{site.place('010').branch}", others)
    other = another_tree(site)
    assert site.first() == f"cd {other} && sow next"
    assert "which has the same project" in site.next_lines()[0]
    assert not any(" 010" in line.partition("  # ")[0] for line in site.next_lines())
    site.run("batch", "run", "--detach")
    site.work_off()
    assert site.first() == f"cd {other} && sow next", "no run of its agent is paid for in vain"


def test_a_check_of_the_project_waits_for_its_branch(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    site.settings(checks={"unit": "true", "default": ["unit"]})
    site.name_branch("main")
    site.set_state("finalizing")
    plain(site.root, "switch", "-q", "-c", "other")
    plain(site.root, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    assert not any("sow project check" in line for line in site.next_lines())
    assert any(line.startswith("git switch main  #") for line in site.next_lines())


def test_a_task_is_begun_in_a_clone_where_the_team_s_batches_merge(site: RefusalSite) -> None:
    site.settings(clones={"use": "parallel"}, batch={"merge": True})
    site.desk.task("010")
    assert commands(site.next_lines())[0] == "sow agent spawn 010 --clone"
    site.settings(clones={"use": "parallel"}, batch={"merge": True, "clone": False})
    assert commands(site.next_lines())[0] == "sow agent spawn 010"
    site.settings(batch={"merge": True})
    assert commands(site.next_lines())[0] == "sow agent spawn 010", "clones.use says so already"


def all_errors() -> set[str]:
    """Return the classes of errors that stand in the modules of these commands."""
    for module in pkgutil.walk_packages(sow.__path__, "sow."):
        if module.name.startswith(MODULES):
            importlib.import_module(module.name)
    kinds, left = set(), [SowError]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        kinds.add(kind)
    return {kind.__name__ for kind in kinds if kind.__module__.startswith(MODULES)}


def test_every_refusal_of_these_commands_is_a_case_or_has_a_reason_not_to_be() -> None:
    assert not CASES.keys() & LEFT_OUT.keys()
    classes = {name for name in CASES if name.isidentifier()}
    assert all_errors() == classes | LEFT_OUT.keys()


@pytest.mark.few(7)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases]
)
def test_next_leads_on_after_each_refusal(
    site: RefusalSite, name: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    init = SowError.__init__

    def noting(self: SowError, message: str, **more: Any) -> None:
        made.append(f"{type(self).__name__}: {message}")
        init(self, message, **more)

    monkeypatch.setattr(SowError, "__init__", noting)
    is_over = case(site)
    assert any(name in error for error in made), (
        f"the command was refused for something else: {made}"
    )
    site.follow(until=is_over)


def test_the_end_of_a_project_is_to_be_committed_until_it_is(site: RefusalSite) -> None:
    site.set_state("completed")
    plain(site.root, "add", "-A")
    plain(site.root, "commit", "-q", "-m", "All")
    assert site.run("project", "finish").code == 0
    assert "is finished: commit .sow/" in site.next_lines()[0]
    plain(site.root, "add", "-A")
    plain(site.root, "commit", "-q", "-m", "Finished")
    (line,) = site.next_lines()
    assert line.startswith('sow project new "<name>"')
    assert "commit" not in line


def test_an_end_on_another_branch_is_told_until_it_is_committed(site: RefusalSite) -> None:
    site.name_branch("main")
    site.set_state("completed")
    plain(site.root, "add", "-A")
    plain(site.root, "commit", "-q", "-m", "All")
    plain(site.root, "switch", "-q", "-c", "elsewhere")
    assert site.run("project", "finish").code == 0
    assert "is finished: commit .sow/" in site.next_lines()[0], "it is not begun once more"
    plain(site.root, "add", "-A")
    plain(site.root, "commit", "-q", "-m", "Finished")
    assert "there is no project on this branch" in site.next_lines()[0]


def test_no_task_is_begun_in_a_clone_of_no_repository(site: RefusalSite) -> None:
    site.settings(clones={"use": "always"}, batch={})
    site.name_branch("main")
    site.desk.task("010")
    rmtree(site.root / ".git")
    assert site.first() == "git init"
    plain(site.root, "init", "-q", "-b", "main")
    name_author(site.root)
    assert site.first().startswith("git commit --allow-empty -m")
    site.take(site.next_lines()[0])
    assert site.first().startswith("sow agent spawn 010")


def test_a_red_check_of_several_is_nobodys_before_each_was_merged_alone(site: RefusalSite) -> None:
    site.work("010", "file", "two\n")
    site.work("020", "other", "two\n")
    red = {"verb": Verb.MERGE, "agent": "", "executor": None, "state": JobState.FAILED}
    why = {"cause": Cause.CHECK_FAILED, "reason": "unit: exit code 1", "settled": 1}
    both = MergeTerms(tasks=(TaskId("010"), TaskId("020")))
    site.desk.insert(task_id="010", terms=both, **red, **why)
    assert site.first() == "sow merge 010 --wait 100s"
    site.desk.insert(task_id="010", terms=MergeTerms(tasks=(TaskId("010"),)), **red, **why)
    assert commands(site.next_lines()) == ["sow merge 020", "sow task reopen 010"]


def test_no_run_is_named_whose_program_is_not_there(site: RefusalSite) -> None:
    agents = {"executors": {"other": {"type": "command", "settings": {"command": ["other"]}}}}
    site.desk.configure({"agents": {**agents, "bindings": {"tester": "other"}}})
    site.desk.task("010")
    site.desk.task("020", assigned_agent="tester")
    assert commands(site.next_lines())[:2] == ["sow batch run", "sow agent spawn 010"]
    assert "ready: 010" in site.next_lines()[1]
    (site.desk.base / "bin" / "claude").unlink()
    (line,) = site.next_lines()
    assert line.startswith("# a person has to, in a terminal: sow config edit  # claude is not on")
    site.desk.program("other")
    assert commands(site.next_lines())[:2] == ["sow batch run", "sow agent spawn 020"]
    site.desk.program("claude")
    assert commands(site.next_lines())[:2] == ["sow batch run", "sow agent spawn 010 020"]


def test_no_review_is_named_whose_program_is_not_there(site: RefusalSite) -> None:
    site.work("010", "file", "two\n", status=TaskStatus.NEEDS_REVIEW)
    assert commands(site.next_lines())[0] == "sow agent review 010"
    (site.desk.base / "bin" / "claude").unlink()
    assert "sow config edit" in site.next_lines()[0]
    assert not any("sow agent" in line for line in commands(site.next_lines()))


def test_a_batch_that_lacks_a_program_is_resumed_once_the_program_is_there(
    site: RefusalSite,
) -> None:
    program = site.desk.base / "bin" / "claude"
    program.unlink()
    for task in ("010", "020", "030"):
        site.desk.task(task)
    site.run("batch", "run", "--detach")
    site.drive()
    (line,) = site.next_lines()
    assert "sow config edit" in line
    assert "claude is not on PATH" in line
    site.desk.program("claude")
    assert commands(site.next_lines()) == ["sow batch resume 1"]
