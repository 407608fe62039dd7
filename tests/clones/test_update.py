"""The project's branch is brought into a task's clone; a conflict is left there to be solved."""

import subprocess

import pytest
from clones.clone_site import make_hostile, make_site, plain, traces
from clones.killed import killed_at, steps_of

from sow.clones.leftovers import commit_leftovers
from sow.clones.update import CannotUpdate, is_as_left, update_clone

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def update(site, **more):
    return update_clone(site.facts, site.repository, "main", **more)


def status(site):
    return plain(site.clone, "status", "--porcelain").splitlines()


def test_a_clean_merge_is_committed_and_touches_no_untracked_file(site):
    mine = site.commit("mine", "x\n")
    theirs = site.commit("theirs/new", "x\n", where=site.main)
    theirs = site.commit("file", "one\ntwo\n3\n", where=site.main)
    (site.clone / "untracked").write_text("kept\n")
    (site.clone / "x.log").write_text("kept\n")
    plain(site.clone, "gc", "-q", "--prune=now")

    done = update(site, withheld=["untracked"])

    assert (done.merged, done.conflicts) == (theirs, ())
    assert done.commit == site.tip
    assert plain(site.clone, "log", "-1", "--format=%P") == f"{mine} {theirs}"
    assert (site.clone / "file").read_text() == "one\ntwo\n3\n"
    assert (site.clone / "theirs" / "new").read_text() == "x\n"
    assert status(site) == ["?? untracked"]
    plain(site.clone, "fsck", "--strict", "--connectivity-only")
    assert not (site.clone / ".sow" / "project").exists()
    assert update(site, withheld=["untracked"]).merged is None


def test_files_that_went_or_became_folders_follow(site):
    plain(site.main, "mv", "src/code.py", "moved.py")
    plain(site.main, "rm", "-q", "file")
    site.commit("file/inner", "x\n", where=site.main)
    update(site)
    assert status(site) == []
    assert not (site.clone / "src").exists()
    assert (site.clone / "file" / "inner").read_text() == "x\n"


def test_the_projects_state_is_never_in_conflict(site):
    site.commit(".sow/project/state.yaml", "mine: {}\n")
    site.commit(".sow/project/state.yaml", "theirs: {}\n", where=site.main)
    done = update(site)
    assert done.conflicts == ()
    assert plain(site.clone, "show", f"{site.tip}:.sow/project/state.yaml") == "theirs: {}"


@pytest.mark.parametrize(
    "words",
    [
        "printf 'one\nboth\nthree\n' >file",
        "git add file",
        "echo x >>file",
        "echo y >clean",
        "rm clean",
        "echo z >new",
        "git checkout -q -f HEAD && git merge --abort || true",
    ],
)
def test_a_conflict_that_somebody_has_touched_is_not_as_it_was_left(site, words):
    site.commit("file", "one\nmine\nthree\n")
    site.commit("clean", "x\n", where=site.main)
    site.commit("file", "one\ntheirs\nthree\n", where=site.main)
    (site.clone / "copied").write_text("by sow\n")
    assert not is_as_left(site.facts, site.repository, "main", ["copied"])
    update(site, withheld=["copied"])
    assert is_as_left(site.facts, site.repository, "main", ["copied"])
    site.commit("later", "x\n", where=site.main)
    assert is_as_left(site.facts, site.repository, "main", ["copied"]), "the branch went on"
    subprocess.run(["sh", "-c", words], cwd=site.clone, check=True)
    if words == "git add file":  # nothing was changed in any file
        assert is_as_left(site.facts, site.repository, "main", ["copied"])
    else:
        assert not is_as_left(site.facts, site.repository, "main", ["copied"])


def test_a_conflict_is_left_in_the_clone_with_its_marks(site):
    mine = site.commit("file", "one\nmine\nthree\n")
    site.commit("clean", "x\n", where=site.main)
    theirs = site.commit("file", "one\ntheirs\nthree\n", where=site.main)

    done = update(site)

    assert done.conflicts == ("file",)
    assert "file" in done.words
    assert done.commit == site.tip == mine
    text = (site.clone / "file").read_text()
    assert f"<<<<<<< heads/{site.facts.branch}\nmine\n=======\ntheirs\n>>>>>>> heads/main" in text
    assert status(site) == ["A  clean", "UU file"]
    with pytest.raises(CannotUpdate, match="a merge is in progress"):
        update(site)
    # unsolved, it is not committed; solved by the agent, it is the merge
    left = commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert left.untaken[0].paths == ("file",)
    (site.clone / "file").write_text("one\nboth\nthree\n")
    plain(site.clone, "add", "file")
    plain(site.clone, "commit", "-q", "--no-edit")
    assert plain(site.clone, "log", "-1", "--format=%P") == f"{mine} {theirs}"
    assert update(site).merged is None


def test_a_file_changed_here_and_removed_there_is_a_conflict(site):
    site.commit("file", "mine\n")
    plain(site.main, "rm", "-q", "file")
    plain(site.main, "commit", "-q", "-m", "Removed")
    assert update(site).conflicts == ("file",)
    assert status(site) == ["UD file"]
    left = commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert left.untaken[0].paths == ("file",)
    (site.clone / "file").unlink()
    left = commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert left.untaken == ()
    assert "file" not in site.files_of(site.tip)


def test_what_stands_in_the_way_is_named_and_nothing_changes(site):
    site.commit("new", "theirs\n", where=site.main)
    site.commit("x.log", "theirs\n", where=site.main)
    (site.clone / "x.log").write_text("ignored, and kept\n")
    before = site.tip
    with pytest.raises(CannotUpdate) as caught:
        update(site)
    assert caught.value.paths == ("x.log",)
    assert site.tip == before
    assert not (site.clone / "new").exists()
    (site.clone / "file").write_text("uncommitted\n")
    with pytest.raises(CannotUpdate, match="not committed: file"):
        update(site)
    plain(site.clone, "checkout", "-q", "--detach")
    with pytest.raises(CannotUpdate, match="no branch"):
        update(site)
    with pytest.raises(CannotUpdate, match="no branch nowhere"):
        update_clone(site.facts, site.repository, "nowhere")


def test_nothing_of_a_hostile_clone_acts(site, tmp_path):
    site.commit("a.txt", "x\n")
    site.commit("b.txt", "x\n", where=site.main)
    folder = make_hostile(site, tmp_path / "traps")
    commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert update(site).merged
    assert (site.clone / "b.txt").read_text() == "x\n"
    assert traces(folder) == []


WINDOWS = ("objects fetched", "noted", "files written", "index written", "branch moved")
OF_A_CONFLICT = (*WINDOWS[:-1], "merge begun", "branch moved")


def diverge(site, *, conflict):
    """Commit on both sides; return the last commit of each."""
    mine = site.commit("file" if conflict else "mine", "one\nmine\nthree\n")
    site.commit("new", "x\n", where=site.main)
    return mine, site.commit("file", "one\ntheirs\nthree\n", where=site.main)


@pytest.mark.parametrize(("conflict", "windows"), [(False, WINDOWS), (True, OF_A_CONFLICT)])
def test_these_are_all_the_windows(site, conflict, windows):
    diverge(site, conflict=conflict)
    assert steps_of(lambda step: update(site, step=step)) == windows


@pytest.mark.few(4)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("second", ["update", "leftovers"])
def test_a_kill_at_any_step_is_completed(site, window, second):
    mine, theirs = diverge(site, conflict=False)
    killed_at(window, lambda step: update(site, step=step))
    if second == "leftovers":
        commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    update(site)
    assert plain(site.clone, "log", "-1", "--format=%P") == f"{mine} {theirs}"
    assert plain(site.clone, "rev-list", "--count", f"^{mine}", f"^{theirs}", "HEAD") == "1"
    assert status(site) == []
    assert_nothing_is_left(site)


@pytest.mark.few(3)
@pytest.mark.parametrize("window", OF_A_CONFLICT)
def test_a_kill_while_a_conflict_is_laid_into_the_clone_is_completed(site, window):
    mine, theirs = diverge(site, conflict=True)
    killed_at(window, lambda step: update(site, step=step))
    if window == "objects fetched":
        assert update(site).conflicts == ("file",)
    else:
        with pytest.raises(CannotUpdate, match="merge is in progress"):
            update(site)
    assert site.tip == mine
    assert status(site) == ["UU file", "A  new"]
    assert_nothing_is_left(site)
    site.commit("file", "one\nboth\nthree\n", "Solved")
    assert plain(site.clone, "log", "-1", "--format=%P") == f"{mine} {theirs}"


def assert_nothing_is_left(site):
    assert not list((site.main / ".git" / "sow").rglob("*.json"))
    assert not (site.clone / ".git" / "sow-draft").exists()
    plain(site.clone, "fsck", "--strict")
    plain(site.main, "fsck", "--strict")


def test_an_edit_between_a_kill_and_the_next_try_is_not_lost(site):
    site.commit("file", "one\ntheirs\nthree\n", where=site.main)
    killed_at("noted", lambda step: update(site, step=step))
    (site.clone / "file").write_text("a person's\n")
    with pytest.raises(CannotUpdate, match="changed since then: file"):
        update(site)
    assert (site.clone / "file").read_text() == "a person's\n"


def test_an_edit_after_an_update_that_only_its_note_survives_is_work_like_any_other(site):
    site.commit("file", "one\ntheirs\nthree\n", where=site.main)
    killed_at("branch moved", lambda step: update(site, step=step))
    (site.clone / "file").write_text("an agent's\n")
    left = commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert left.files == ("file",)
    assert_nothing_is_left(site)


def test_a_conflict_that_is_solved_after_the_kill_is_not_laid_again(site):
    mine, theirs = diverge(site, conflict=True)
    killed_at("branch moved", lambda step: update(site, step=step))
    (site.clone / "file").write_text("one\nboth\nthree\n")
    left = commit_leftovers(site.facts, site.repository, task="010", name="Add it")
    assert plain(site.clone, "log", "-1", "--format=%P", left.made) == f"{mine} {theirs}"
    assert status(site) == []
    assert_nothing_is_left(site)


def test_a_link_in_the_place_of_the_drafts_leads_nowhere(site, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept\n")
    (site.clone / ".git" / "sow-draft").symlink_to(outside)
    site.commit("theirs", "x\n", where=site.main)
    assert update(site).merged
    assert (site.clone / "theirs").read_text() == "x\n"
    assert [path.name for path in outside.iterdir()] == ["kept"]
