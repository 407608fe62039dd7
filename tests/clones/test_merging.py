"""A task's commit is merged without a working tree, and the result is moved into place."""

import os
from pathlib import Path
from threading import Timer

import pytest
from clones.clone_site import add_clone, make_site, plain
from clones.killed import killed_at
from msgspec.structs import replace

from sow.clones.branch_move import BranchMoved, DirtyFiles, IndexInUse, complete_move, move_branch
from sow.clones.bring_back import bring_back
from sow.clones.merging import TaskCommit, compute_merge, is_merged
from sow.git.git_errors import GitRefused
from sow.schema.job_terms import MergeWay

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def wanted(site, task="010", title="Sign in"):
    bring_back(site.facts, site.repository)
    return TaskCommit(task, title, site.tip, site.facts)


def main_tip(site):
    return plain(site.main, "rev-parse", "refs/heads/main")


def merge(site, task="010", *, way=MergeWay.MERGE, step=lambda name: None):
    old = main_tip(site)
    done = compute_merge(site.repository, old, wanted(site, task), way=way)
    assert done.commit, done
    return move_branch(site.repository, "main", old, done.commit, step=step)


def status(site):
    return plain(site.main, "status", "--porcelain").splitlines()


def test_a_merge_goes_into_branch_and_working_tree(site):
    site.commit("new/file", "x\n")
    plain(site.clone, "mv", "src/code.py", "moved.py")
    plain(site.clone, "commit", "-q", "-m", "Moved")
    site.commit("theirs", "x\n", where=site.main)
    old = main_tip(site)
    (site.main / "untracked").write_text("kept\n")
    (site.main / "file").write_text("edited\n")

    done = merge(site)

    assert done.commit == main_tip(site)
    assert plain(site.main, "log", "-1", "--format=%P") == f"{old} {site.tip}"
    message = plain(site.main, "log", "-1", "--format=%B")
    assert message.splitlines() == [
        "Merge task 010: Sign in",
        "",
        "Sow-Task: sign-in-1f2e3d4c/010",
        f"Sow-Commit: {site.tip}",
    ]
    assert (site.main / "new" / "file").read_text() == "x\n"
    assert (site.main / "moved.py").exists()
    assert not (site.main / "src").exists()
    assert status(site) == [" M file", "?? untracked"]
    assert is_merged(site.repository, "main", site.tip)
    again = compute_merge(site.repository, main_tip(site), wanted(site))
    assert again.commit == main_tip(site)
    plain(site.main, "fsck", "--strict")


def test_computing_changes_nothing(site):
    site.commit("file", "x\n")
    before = plain(site.main, "for-each-ref"), status(site)
    old = main_tip(site)
    compute_merge(site.repository, old, replace(wanted(site), title="a\n\nSow-Commit: b"))
    assert plain(site.main, "for-each-ref", "refs/heads/main") in before[0]
    assert status(site) == before[1]


def test_a_title_adds_no_line_to_the_message(site):
    site.commit("file", "x\n")
    item = replace(wanted(site), title="a\n\nSow-Commit: b\n")
    done = compute_merge(site.repository, main_tip(site), item)
    first = plain(site.main, "log", "-1", "--format=%s", done.commit)
    assert first == "Merge task 010: a Sow-Commit: b"
    marks = plain(site.main, "log", "-1", "--format=%(trailers:key=Sow-Commit)", done.commit)
    assert marks.strip() == f"Sow-Commit: {site.tip}"


def test_the_tasks_own_project_state_is_left_out(site):
    site.commit(".sow/project/state.yaml", "mine: {}\n")
    site.commit("mine", "x\n")
    site.commit(".sow/project/state.yaml", "theirs: {}\n", where=site.main)
    merge(site)
    assert plain(site.main, "show", "main:.sow/project/state.yaml") == "theirs: {}"
    assert (site.main / ".sow/project/state.yaml").read_text() == "theirs: {}\n"
    assert plain(site.main, "show", "main:mine") == "x"


@pytest.mark.parametrize("way", list(MergeWay))
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_machines_records_never_come_in(site, way, kind):
    """`git add -f .sow/run/queue.db` in a clone, or a link in the place of the folder."""
    site.commit("mine", "x\n")
    if kind == "file":
        site.commit(".sow/run/queue.db", "a foreign queue\n")
    else:
        (site.clone / ".sow").mkdir(exist_ok=True)
        (site.clone / ".sow/run").symlink_to("../trap")
        plain(site.clone, "add", "-f", ".sow/run")
        plain(site.clone, "commit", "-qm", "A link")
    merge(site, way=way)
    assert plain(site.main, "show", "main:mine") == "x"
    assert plain(site.main, "ls-tree", "-r", "--name-only", "main", ".sow/run") == ""
    assert not os.path.lexists(site.main / ".sow/run")


def test_what_the_project_has_there_stays(site):
    site.commit(".sow/run/queue.db", "the project's\n", where=site.main)
    site.commit(".sow/run/queue.db", "a foreign queue\n")
    merge(site)
    assert plain(site.main, "show", "main:.sow/run/queue.db") == "the project's"


def test_a_squash_is_one_commit_and_is_remembered(site):
    site.commit("file", "one\n2\nthree\n")
    first = site.commit("more", "x\n")
    done = merge(site, way=MergeWay.SQUASH)
    assert plain(site.main, "log", "-1", "--format=%P|%s") == f"{site.facts.base}|Sign in"
    assert not plain(site.main, "merge-base", "--is-ancestor", first, "main", accepted=(1,))
    assert is_merged(site.repository, "main", first)
    plain(site.main, "commit", "-q", "--allow-empty", "--amend", "-m", "Other words")
    assert not is_merged(site.repository, "main", first)
    assert is_merged(site.repository, "main", first, main_tip(site))
    assert not is_merged(site.repository, "main", first, done.commit)


def test_further_work_after_a_squash_is_no_conflict(site):
    site.commit("file", "one\n2\nthree\n")
    merge(site, way=MergeWay.SQUASH)
    second = site.commit("file", "one\n2 and more\nthree\n")
    assert not is_merged(site.repository, "main", second)
    merge(site, way=MergeWay.SQUASH)
    assert (site.main / "file").read_text() == "one\n2 and more\nthree\n"
    third = site.commit("file", "one\n3\nthree\n")
    merge(site)
    assert plain(site.main, "merge-base", "--is-ancestor", third, "main") == ""


def test_a_mark_in_an_agents_own_commit_counts_for_nothing(site, tmp_path):
    site.commit("file", "x\n")
    other = add_clone(site.main, tmp_path / "other", "sow/sign-in-1f2e3d4c/020")
    text = f"More\n\nSow-Task: sign-in-1f2e3d4c/010\nSow-Commit: {site.tip}"
    other.commit("other", "x\n", text)
    merge(other, "020")
    bring_back(site.facts, site.repository)
    assert not is_merged(site.repository, "main", site.tip)


def test_a_conflict_changes_nothing_and_names_files_and_tasks(site, tmp_path):
    other = add_clone(site.main, tmp_path / "other", "sow/sign-in-1f2e3d4c/020")
    third = add_clone(site.main, tmp_path / "third", "sow/sign-in-1f2e3d4c/030")
    site.commit("file", "one\nmine\nthree\n")
    site.commit("src/code.py", "print('mine')\n")
    other.commit("file", "one\nother\nthree\n")
    third.commit("third", "x\n")
    merge(other, "020")
    merge(third, "030")
    site.commit("src/code.py", "print('a person')\n", where=site.main)
    before = plain(site.main, "rev-parse", "main")
    done = compute_merge(site.repository, before, wanted(site))
    assert done.commit is None
    assert [(file.path, file.tasks) for file in done.conflicts] == [
        ("file", ("020",)),
        ("src/code.py", ()),
    ]
    assert "CONFLICT" in done.words
    assert plain(site.main, "rev-parse", "main") == before
    assert status(site) == []


@pytest.mark.parametrize("how", ["edited", "staged", "removed", "untracked", "folder", "link"])
def test_changed_files_in_the_way_are_named_and_nothing_changes(site, how, tmp_path):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("src/new", "x\n")
    path = {"untracked": "src/new", "folder": "src/new/inner", "link": "src"}.get(how, "file")
    place = site.main / path
    match how:
        case "removed":
            place.unlink()
        case "link":
            (site.main / "src").rename(tmp_path / "moved")
            place.symlink_to(tmp_path / "moved")
        case _:
            place.parent.mkdir(exist_ok=True)
            place.write_text("a person's\n")
    if how == "staged":
        plain(site.main, "add", "file")
        place.write_text("one\ntwo\nthree\n")
    before = main_tip(site), status(site)
    with pytest.raises(DirtyFiles) as caught:
        merge(site)
    assert caught.value.paths == (path,)
    assert (main_tip(site), status(site)) == before
    assert not (tmp_path / "moved" / "new").exists()
    assert not list((site.main / ".git" / "sow").rglob("*.json"))


def test_a_file_that_is_already_as_it_will_be_is_no_obstacle(site):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("new", "x\n")
    (site.main / "file").write_text("one\nmine\nthree\n")
    (site.main / "new").write_text("x\n")
    merge(site)
    assert status(site) == []


def test_a_branch_that_is_not_checked_out_moves_alone(site):
    site.commit("file", "x\n")
    plain(site.main, "checkout", "-q", "-b", "elsewhere")
    (site.main / "file").write_text("edited\n")
    merge(site)
    assert (site.main / "file").read_text() == "edited\n"
    assert status(site) == [" M file"]


def test_a_working_tree_beside_has_the_branch(site, tmp_path):
    site.commit("file", "x\n")
    plain(site.main, "checkout", "-q", "-b", "elsewhere")
    plain(site.main, "worktree", "add", "-q", str(tmp_path / "beside"), "main")
    merge(site)
    assert (tmp_path / "beside" / "file").read_text() == "x\n"
    assert plain(tmp_path / "beside", "status", "--porcelain") == ""
    assert (site.main / "file").read_text() == "one\ntwo\nthree\n"


def test_a_branch_that_somebody_moved_is_left(site):
    site.commit("file", "x\n")
    old = main_tip(site)
    done = compute_merge(site.repository, old, wanted(site))
    theirs = site.commit("theirs", "x\n", where=site.main)
    with pytest.raises(BranchMoved):
        move_branch(site.repository, "main", old, done.commit)

    def step(name):
        if name == "noted":
            plain(site.main, "update-ref", "refs/heads/main", old)

    done = compute_merge(site.repository, theirs, wanted(site))
    with pytest.raises(BranchMoved):
        move_branch(site.repository, "main", theirs, done.commit, step=step)
    assert main_tip(site) == old


def test_another_git_at_work_is_told_before_anything_moves(site):
    site.commit("file", "x\n")
    old = main_tip(site)
    (site.main / ".git" / "index.lock").write_text("")
    with pytest.raises(IndexInUse, match=r"index\.lock"):
        merge(site)
    assert main_tip(site) == old


def test_another_git_at_work_is_waited_for(site):
    site.commit("file", "x\n")
    lock = site.main / ".git" / "index.lock"
    lock.write_text("")
    Timer(0.2, lock.unlink).start()
    old = main_tip(site)
    done = compute_merge(site.repository, old, wanted(site))
    move_branch(site.repository, "main", old, done.commit, patience=30.0)
    assert (main_tip(site), status(site)) == (done.commit, [])


def test_a_branch_that_a_lock_holds_was_moved_by_nobody(site):
    site.commit("file", "x\n")
    (site.main / ".git" / "refs" / "heads" / "main.lock").write_text("")
    with pytest.raises(GitRefused, match=r"main\.lock") as caught:
        merge(site)
    assert caught.value.passes
    (site.main / ".git" / "refs" / "heads" / "main.lock").unlink()
    merge(site)


def merge_killed_at(site, window):
    """Merge, and be killed at a step; return where the branch was."""
    old = main_tip(site)
    done = compute_merge(site.repository, old, wanted(site))
    killed_at(
        window, lambda step: move_branch(site.repository, "main", old, done.commit, step=step)
    )
    return old


WINDOWS = ["noted", "branch moved", "files written", "index written"]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_kill_at_any_step_is_completed_and_nothing_is_merged_twice(site, window):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("file2", "x\n")
    plain(site.clone, "rm", "-q", "src/code.py")
    plain(site.clone, "commit", "-q", "-m", "Removed")
    old = merge_killed_at(site, window)

    assert complete_move(site.repository, "main") == ()
    if not is_merged(site.repository, "main", site.tip):
        assert window == "noted"
        merge(site)

    assert plain(site.main, "rev-list", "--count", "--first-parent", f"{old}..main") == "1"
    assert status(site) == []
    assert (site.main / "file").read_text() == "one\nmine\nthree\n"
    assert not (site.main / "src").exists()
    assert not list((site.main / ".git" / "sow").rglob("*.json"))
    plain(site.main, "fsck", "--strict")


def test_the_next_move_completes_one_that_was_killed(site):
    site.commit("file", "one\nmine\nthree\n")
    merge_killed_at(site, "branch moved")
    site.commit("new", "x\n")
    merge(site)
    assert (site.main / "file").read_text() == "one\nmine\nthree\n"
    assert (site.main / "new").read_text() == "x\n"
    assert status(site) == []


def test_an_edit_between_a_kill_and_the_next_try_is_kept_and_named(site):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("new", "x\n")
    merge_killed_at(site, "branch moved")
    (site.main / "file").write_text("a person's\n")
    assert complete_move(site.repository, "main") == ("file",)
    assert (site.main / "file").read_text() == "a person's\n"
    assert status(site) == [" M file"]


def test_what_is_staged_between_a_kill_and_the_next_try_stays_staged(site):
    site.commit("file", "one\nmine\nthree\n")
    merge_killed_at(site, "branch moved")
    (site.main / "file").write_text("a person's\n")
    plain(site.main, "add", "file")
    (site.main / "file").write_text("one\ntwo\nthree\n")
    assert complete_move(site.repository, "main") == ("file",)
    assert plain(site.main, "show", ":file") == "a person's"


def test_a_commit_between_a_kill_and_the_next_try_stays(site):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("new", "x\n")
    merge_killed_at(site, "files written")
    plain(site.main, "add", "-A")
    later = site.commit("file", "later\n", where=site.main)
    complete_move(site.repository, "main")
    assert main_tip(site) == later
    assert status(site) == []
    assert (site.main / "file").read_text() == "later\n"


def test_modes_links_and_filters_are_as_git_makes_them(site):
    plain(site.main, "config", "filter.upper.smudge", "tr a-z A-Z")
    plain(site.main, "config", "filter.upper.clean", "tr A-Z a-z")
    site.commit(".gitattributes", "*.up filter=upper\n")
    merge(site)
    site.commit("a.up", "text\n")
    (site.clone / "run").write_text("#!/bin/sh\n")
    (site.clone / "run").chmod(0o755)
    (site.clone / "link").symlink_to("file")
    plain(site.clone, "add", "-A")
    plain(site.clone, "commit", "-q", "-m", "More")
    merge(site)
    assert (site.main / "a.up").read_text() == "TEXT\n"
    assert os.access(site.main / "run", os.X_OK)
    assert (site.main / "link").readlink() == Path("file")
    assert status(site) == []


def test_names_of_any_kind_are_merged(site):
    names = [b"-n", b":(glob)*", b"a\nb", b"\xff\xfe", b'"q"', b"*"]
    for name in names:
        (site.clone / os.fsdecode(name)).write_text("x\n")
    plain(site.clone, "add", "-A")
    plain(site.clone, "commit", "-q", "-m", "Names")
    merge(site)
    assert all((site.main / os.fsdecode(name)).read_text() == "x\n" for name in names)
    assert status(site) == []


def test_what_a_person_does_not_check_out_stays_away(site):
    site.commit("src/code.py", "print(2)\n")
    site.commit("file", "x\n")
    plain(site.main, "sparse-checkout", "set", "--no-cone", "/*", "!/src/")
    assert not (site.main / "src").exists()
    merge(site)
    assert not (site.main / "src").exists()
    assert status(site) == []
