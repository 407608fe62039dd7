"""Tasks merged into the project's branch: all that are named, or none; refusals; a second try."""

import re
import shlex

import pytest
from clones.clone_site import plain
from clones.killed import killed_at
from clones.making_site import beside, commit
from clones.merge_site import MergeSite, make_merge_site
from msgspec import UNSET
from proving import drawn

from sow.clones.branch_move import KIND, BranchMoved, DirtyFiles
from sow.clones.candidates import NotMergeable
from sow.clones.main_checkout import NoProjectBranch
from sow.clones.merge_tasks import MOST_TRIES, MergeConflict
from sow.clones.steps import note_path
from sow.clones.update import update_clone
from sow.files import StateLocked, locked_folder
from sow.git.identity import BY_NOBODY
from sow.schema.job_terms import MergeWay
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path) -> MergeSite:
    return make_merge_site(tmp_path)


def status(site: MergeSite) -> str:
    return plain(site.top, "status", "--porcelain", "--untracked-files=no", "--", ":(exclude).sow")


def test_a_completed_task_is_merged_remembered_and_its_clone_removed(site):
    made = site.work("new", "new\n")
    done = site.merge()
    assert plain(site.top, "merge-base", "--is-ancestor", made, "main") == ""
    assert (site.top / "new").read_text() == "new\n"
    assert status(site) == ""
    merged = site.task().merged
    assert (merged.commit, merged.into, merged.result) == (made, "main", site.tip())
    assert (done.commit, done.notes) == (site.tip(), ())
    assert not site.home.place().path.exists()
    assert site.tip(site.branch()) == made, "the branch stays"
    assert plain(site.top, "fsck", "--no-dangling") == ""


def test_a_commit_by_nobody_whom_git_knows_is_told(site, monkeypatch):
    site.work("new", "new\n")
    site.work("newer", "new\n", "020")
    commit(site.top, "other", "x\n")
    for name in ("user.name", "user.email"):
        plain(site.top, "config", "--unset", name)
    done = site.merge()
    assert done.notes == (BY_NOBODY,)
    assert "sow <sow@localhost>" in BY_NOBODY

    for name, value in (("NAME", "Me"), ("EMAIL", "me@example.org")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    assert site.merge("020").notes == ()
    assert plain(site.top, "log", "-1", "--format=%ae %ce") == "me@example.org me@example.org"


def test_a_task_accepted_at_its_last_commit_is_completed_by_it(site):
    made = site.work("new", "new\n")
    site.accept(made)
    site.merge()
    task = site.task()
    assert (task.status, task.merged.commit) == (TaskStatus.COMPLETED, made)
    assert task.completed_at is not UNSET


def test_a_task_accepted_at_another_commit_is_refused(site):
    first = site.work("new", "new\n")
    site.accept(first)
    commit(site.home.place().path, "new", "newer\n")
    before = site.tip()
    with pytest.raises(NotMergeable, match=f"accepted at commit {first[:12]}"):
        site.merge()
    assert (site.tip(), site.task().status) == (before, TaskStatus.NEEDS_REVIEW)


def test_a_verdict_does_not_hold_for_what_only_looks_like_such_a_merge(site):
    made = site.work("new", "new\n")
    site.accept(made)
    commit(site.top, "other", "other\n")
    place = site.home.place()
    update_clone(place, site.home.repository, "main")
    (place.path / "new").write_text("slipped in\n")
    plain(place.path, "commit", "-q", "-a", "--amend", "--no-edit")
    with pytest.raises(NotMergeable, match="accepted at"):
        site.merge()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (TaskStatus.PENDING, "it is pending"),
        (TaskStatus.IN_PROGRESS, "it is in_progress"),
        (TaskStatus.NEEDS_REVIEW, "it is needs_review, and was not accepted"),
        (TaskStatus.ABANDONED, "it is abandoned"),
    ],
)
def test_what_is_neither_completed_nor_accepted_is_refused(site, state, words):
    site.work("new", "new\n", status=state)
    with pytest.raises(NotMergeable, match=words):
        site.merge()


def test_a_task_without_a_branch_is_refused(site):
    site.change(status=TaskStatus.COMPLETED)
    with pytest.raises(NotMergeable, match="neither a clone nor a branch sow/sign-in-0b5f4b7e/010"):
        site.merge()


def test_a_branch_without_a_clone_is_merged(site):
    plain(site.top, "switch", "-q", "-c", site.branch())
    made = commit(site.top, "new", "new\n")
    plain(site.top, "switch", "-q", "main")
    site.change(status=TaskStatus.COMPLETED)
    site.merge()
    assert site.task().merged.commit == made


def test_no_branch_to_merge_into(site, tmp_path):
    site.work("new", "new\n")
    text = site.home.workspace.project_state.read_text().replace("  branch: main\n", "")
    site.home.workspace.project_state.write_text(text)
    plain(site.top, "checkout", "-q", "--detach")
    with pytest.raises(NoProjectBranch):
        site.merge()


def test_several_are_merged_in_the_order_in_which_they_depend(site):
    site.work("a", "a\n", "020")
    site.work("b", "b\n", "010", depends_on=["020"])
    site.merge("010", "020")
    assert site.subjects()[:2] == ["Merge task 010: Task 0", "Merge task 020: Task 1"]


def test_a_task_is_not_merged_before_one_that_it_depends_on(site):
    site.work("a", "a\n", "020")
    site.work("b", "b\n", "010", depends_on=["020"])
    with pytest.raises(NotMergeable, match="it depends on task 020") as refused:
        site.merge("010")
    assert "sow merge 020 010" in refused.value.hint
    site.merge("020", way=MergeWay.SQUASH)
    site.merge("010")
    assert site.subjects()[:2] == ["Merge task 010: Task 0", "Task 1"]


def test_a_squash_is_one_commit_and_is_remembered(site):
    made = site.work("a", "a\n")
    made = site.work("b", "b\n")
    site.merge(way=MergeWay.SQUASH)
    assert site.subjects()[0] == "Task 0"
    merged = site.task().merged
    assert (merged.commit, merged.result) == (made, site.tip())
    assert not site.home.place().path.exists()
    before = site.tip()
    site.merge(way=MergeWay.SQUASH)
    assert site.tip() == before, "nothing is merged twice"


def test_a_conflict_names_files_and_tasks_and_changes_nothing(site):
    site.work("new", "one\n", "010")
    site.work("new", "two\n", "020")
    site.work("file", "three\n", "030")
    site.merge("010")
    before = site.tip()
    with pytest.raises(MergeConflict) as refused:
        site.merge("030", "020")
    words = refused.value.message + refused.value.hint
    assert "task 020 conflicts with task 010 in new (task 010)" in words
    for command in ("sow clone update 020", "sow task reopen 020", "sow agent spawn 020 --prompt"):
        assert command in words, "its session is over: a resume would be refused"
    assert site.tip() == before
    assert status(site) == ""
    assert site.task("030").merged is UNSET, "all that are named, or none"
    assert site.home.place("030").path.exists()


def test_a_conflict_between_two_that_are_named_says_to_merge_the_first(site):
    site.work("new", "one\n", "010")
    site.work("new", "two\n", "020")
    with pytest.raises(MergeConflict) as refused:
        site.merge("010", "020")
    assert "`sow merge 010`" in refused.value.hint


def test_a_changed_file_of_the_working_tree_refuses_the_merge(site):
    site.work("file", "theirs\n")
    (site.top / "file").write_text("mine\n")
    before = site.tip()
    with pytest.raises(DirtyFiles, match="file"):
        site.merge()
    assert (site.tip(), (site.top / "file").read_text()) == (before, "mine\n")
    assert site.task().merged is UNSET


@pytest.mark.parametrize("path", ["file", "new"], ids=["changed", "not known to git"])
def test_what_is_in_the_way_can_be_put_aside_and_brought_back(site, path):
    site.work("new", "theirs\n") if path == "new" else site.work("file", "theirs\n")
    (site.top / path).write_text("mine\n")
    (site.top / "other").write_text("mine too\n")
    with pytest.raises(DirtyFiles) as refused:
        site.merge()
    (words,) = re.findall(r"`(git stash [^`]*)`", refused.value.hint)
    plain(site.top, *shlex.split(words)[1:])
    site.merge()
    assert (site.top / path).read_text() == "theirs\n"
    assert "other" not in {each.name for each in site.top.iterdir()}
    assert (
        plain(site.top, "show", f"stash@{{0}}^3:{path}" if path == "new" else f"stash@{{0}}:{path}")
        == "mine"
    )


def test_a_red_check_moves_nothing(site):
    made = site.work("new", "new\n")
    before, judged = site.tip(), []

    def check(place, found):
        judged.append(found)
        raise RuntimeError("red")

    with pytest.raises(RuntimeError, match="red"):
        site.merge(check=check)
    assert (site.tip(), site.task().merged) == (before, UNSET)
    assert plain(site.top, "rev-parse", f"{judged[0]}^2") == made, "it judges the result"


def test_nobody_else_merges_while_the_branch_moves_and_anybody_may_during_a_check(site):
    site.work("new", "new\n")
    folder = note_path(site.home.repository, KIND, "main").parent
    others = {}

    def step(name):
        try:
            with locked_folder(folder, timeout_seconds=0):
                others[name] = "may"
        except StateLocked:
            others[name] = "wait"

    site.merge(check=lambda *_: step("check"), step=step)
    waits = [name for name in others if others[name] == "wait"]
    assert waits == ["noted", "branch moved", "files written", "index written"]
    assert others["check"] == "may"


def test_a_branch_that_moves_meanwhile_is_merged_onto_anew(site):
    site.work("new", "new\n")
    judged = []

    def check(place, found):
        judged.append(found)
        if len(judged) == 1:
            commit(site.top, "other", "other\n")

    site.merge(check=check)
    assert len(judged) == 2
    assert (site.top / "other").exists()
    assert site.tip() == judged[1]


def test_a_branch_that_never_stands_still_ends_the_merge(site):
    site.work("new", "new\n")
    judged = []

    def check(place, found):
        judged.append(found)
        commit(site.top, "other", f"{len(judged)}\n")

    with pytest.raises(BranchMoved):
        site.merge(check=check)
    assert len(judged) == MOST_TRIES
    assert site.task().merged is UNSET


def test_a_clone_in_which_something_stands_is_left_and_told(site):
    site.work("new", "new\n")
    (site.home.place().path / "forgotten").write_text("x")
    done = site.merge()
    (note,) = done.notes
    assert "forgotten" in note
    assert site.home.place().path.exists()


def test_merging_again_changes_nothing(site):
    site.work("new", "new\n")
    site.merge()
    before, state = site.tip(), site.task()
    site.merge()
    assert (site.tip(), site.task()) == (before, state)


STEPS = (
    "branches brought in",
    "computed",
    "judged",
    "noted",
    "branch moved",
    "files written",
    "index written",
    "moved",
    "task 010 recorded",
    "task 020 recorded",
    "clone 010 removed",
    "clone 020 removed",
)


def test_these_are_all_the_steps(site):
    site.work("new", "new\n", "010")
    site.work("file", "two\n", "020")
    seen = []
    site.merge("010", "020", step=seen.append)
    assert tuple(seen) == STEPS


@pytest.mark.parametrize("step", drawn(*STEPS))
def test_killed_after_each_step(site, step):
    site.accept(site.work("new", "new\n", "010"), "010")
    site.work("file", "two\n", "020")
    killed_at(step, lambda at: site.merge("010", "020", step=at))

    site.merge("010", "020")

    assert site.subjects() == ["Merge task 020: Task 1", "Merge task 010: Task 0", "First"]
    assert ((site.top / "new").read_text(), (site.top / "file").read_text()) == ("new\n", "two\n")
    assert status(site) == ""
    assert plain(site.top, "fsck", "--no-dangling") == ""
    for task, result in (("010", "main~1"), ("020", "main")):
        assert site.task(task).status is TaskStatus.COMPLETED
        assert site.task(task).merged.result == plain(site.top, "rev-parse", result)
        assert not site.home.place(task).path.exists()
    folder = site.home.place().path.parent
    assert not folder.exists() or beside(site.home.place()) == []
