"""What an agent left uncommitted is committed on its task's branch, or it is told what was not."""

import os

import pytest
from clones.clone_site import make_hostile, make_site, plain, traces
from clones.killed import killed_at, steps_of

from sow.clones.bring_back import bring_back
from sow.clones.leftovers import MERGE_FILES, commit_leftovers
from sow.git.inert_refs import UnsafeClone
from sow.git.run import git

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path)


def leave(site, **more):
    return commit_leftovers(site.facts, site.repository, task="010", name="Add it", **more)


def status(site):
    return plain(site.clone, "status", "--porcelain").splitlines()


def test_what_is_uncommitted_is_committed_on_the_branch(site):
    (site.clone / "file").write_text("one\nchanged\nthree\n")
    (site.clone / "new").write_text("new\n")
    (site.clone / "staged").write_text("staged\n")
    plain(site.clone, "add", "staged")
    (site.clone / "src" / "code.py").unlink()
    (site.clone / "run.log").write_text("ignored\n")
    before = site.tip

    done = leave(site)

    assert done.made == done.commit == site.tip != before
    assert done.files == ("file", "new", "src/code.py", "staged")
    assert done.untaken == ()
    assert plain(site.clone, "rev-parse", f"{site.tip}^") == before
    tree = [".gitignore", ".sow/config.yaml", ".sow/project/state.yaml", "file", "new", "staged"]
    assert site.files_of(site.tip) == tree
    assert status(site) == []
    author_and_subject = plain(site.clone, "log", "-1", "--format=%an|%s")
    assert author_and_subject == "A Person|010: Add it"
    assert not (site.clone / ".sow" / "project").exists()


@pytest.mark.parametrize(
    ("name", "subject"),
    [("Add\nJWT  auth", "010: Add JWT auth"), ("x" * 300, f"010: {'x' * 95}")],
)
def test_the_commit_is_called_by_the_task(site, name, subject):
    (site.clone / "new").write_text("new\n")
    commit_leftovers(site.facts, site.repository, task="010", name=name)
    assert plain(site.clone, "log", "-1", "--format=%s") == subject


def test_nothing_uncommitted_makes_no_commit(site):
    before = site.tip
    assert leave(site).made is None
    site.commit("file", "committed\n")
    committed = site.tip
    done = leave(site)
    assert (done.made, done.commit) == (None, committed)
    assert site.tip == committed != before


def test_an_author_without_a_name_is_no_obstacle(site):
    plain(site.main, "config", "--unset", "user.email")
    (site.clone / "new").write_text("new\n")
    leave(site)
    assert plain(site.clone, "log", "-1", "--format=%an") == "sow"


def test_nothing_of_a_hostile_clone_acts_while_its_work_is_committed(site, tmp_path):
    (site.clone / "a.txt").write_text("text\n")
    (site.clone / "src" / "code.py").write_text("print(2)\n")
    folder = make_hostile(site, tmp_path / "traps")
    (site.clone / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\0" * 40)
    done = leave(site)
    assert traces(folder) == []
    assert done.files == (".gitattributes", "a.txt", "src/code.py")
    assert (site.clone / ".git" / "index").read_bytes()[8:12] == b"\0\0\0\7"


def test_changes_that_the_index_hides_are_found(site):
    plain(site.clone, "update-index", "--assume-unchanged", "file")
    plain(site.clone, "update-index", "--skip-worktree", "src/code.py")
    (site.clone / "file").write_text("hidden\n")
    (site.clone / "src/code.py").write_text("hidden\n")
    assert leave(site).files == ("file", "src/code.py")


def test_an_ignored_file_that_was_added_is_taken(site):
    (site.clone / "run.log").write_text("wanted\n")
    plain(site.clone, "add", "-f", "run.log")
    assert leave(site).files == ("run.log",)
    assert status(site) == []


def test_names_of_any_kind_are_taken(site):
    names = [b"-n", b"--help", b":(glob)*", b":!file", b"a\nb", b"\xff\xfe", b"a b", b'"q"', b"*"]
    for name in names:
        (site.clone / os.fsdecode(name)).write_text("x")
    done = leave(site)
    assert sorted(os.fsencode(name) for name in done.files) == sorted(names)
    assert status(site) == []


def test_the_projects_state_is_never_taken(site):
    state = site.clone / ".sow" / "project" / "state.yaml"
    state.parent.mkdir()
    state.write_text("project: {taken: true}\n")
    (state.parent / "new.md").write_text("new\n")
    (site.clone / "file").write_text("changed\n")
    done = leave(site)
    assert done.files == ("file",)
    assert plain(site.clone, "show", f"{site.tip}:.sow/project/state.yaml") == "project: {}"
    assert [note.paths for note in done.untaken] == [
        (".sow/project/new.md", ".sow/project/state.yaml")
    ]


def test_a_clone_without_the_state_of_a_workspace_deeper_inside(tmp_path):
    from msgspec.structs import replace

    site = make_site(tmp_path, sparse=False)
    facts = replace(site.facts, inside="src")
    state = site.clone / "src" / ".sow" / "project" / "state.yaml"
    state.parent.mkdir(parents=True)
    state.write_text("x\n")
    (site.clone / "src" / ".sow" / "config.yaml").write_text("x\n")
    done = commit_leftovers(facts, site.repository, task="010", name="Add it")
    assert done.files == ("src/.sow/config.yaml",)


def test_a_part_that_an_agent_does_not_check_out_is_not_removed(site):
    plain(site.clone, "sparse-checkout", "set", "--no-cone", "/file", "/.gitignore")
    assert not (site.clone / "src").exists()
    (site.clone / "file").unlink()
    (site.clone / "other").write_text("x\n")
    done = leave(site)
    assert done.files == ("file", "other")
    assert "src/code.py" in site.files_of(site.tip)
    assert not (site.clone / "src").exists()
    assert status(site) == []


def test_a_full_checkout_by_the_agent_loses_no_removal(site):
    plain(site.clone, "sparse-checkout", "disable")
    (site.clone / "src" / "code.py").unlink()
    assert leave(site).files == ("src/code.py",)


def test_copied_files_and_special_ones_stay_out(site):
    (site.clone / ".env").write_text("SECRET=1\n")
    (site.clone / "secrets").mkdir()
    (site.clone / "secrets" / "key").write_text("1\n")
    (site.clone / "file").unlink()
    os.mkfifo(site.clone / "file")
    (site.clone / "link").symlink_to("/etc/passwd")
    done = leave(site, withheld=[".env", "secrets/"])
    assert done.files == ("link",)
    assert plain(site.clone, "ls-tree", site.tip, "link").startswith("120000")
    assert sorted(path for note in done.untaken for path in note.paths) == [
        ".env",
        "file",
        "secrets/key",
    ]


def test_a_folder_replaced_by_a_link_or_a_file_is_taken_as_it_is(site):
    (site.clone / "src" / "code.py").unlink()
    (site.clone / "src").rmdir()
    (site.clone / "src").symlink_to("/etc")
    (site.clone / "file").unlink()
    (site.clone / "file").mkdir()
    (site.clone / "file" / "inner").write_text("x\n")
    done = leave(site)
    assert done.files == ("file/inner", "src", "src/code.py")
    assert status(site) == []


def test_repositories_inside_are_told_and_never_entered(site, tmp_path):
    inner = site.clone / "inner"
    plain(site.clone, "init", "-q", "inner")
    plain(inner, "config", "user.name", "x")
    plain(inner, "config", "user.email", "x@example.org")
    site.commit("deep", "x\n", where=inner)
    plain(site.clone, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    plain(site.clone, "commit", "-q", "-m", "A link to a repository")
    site.commit("deep", "y\n", where=inner)
    (inner / "deep").write_text("z\n")
    folder = tmp_path / "traps"
    folder.mkdir()
    from clones.clone_site import trap

    plain(inner, "config", "core.fsmonitor", str(trap(folder, "inner-monitor")))
    plain(site.clone, "init", "-q", "another")
    (site.clone / "another" / "new").write_text("x\n")
    (site.clone / "file").write_text("changed\n")

    done = leave(site)

    assert traces(folder) == []
    assert done.files == ("file",)
    assert [note.paths for note in done.untaken] == [("another/", "inner")]
    # git itself enters it, and lets it act
    plain(site.clone, "status")
    assert traces(folder) == ["acted-inner-monitor"]


def test_work_on_another_branch_that_goes_on_is_put_on_the_tasks(site):
    plain(site.clone, "checkout", "-q", "-b", "fix")
    committed = site.commit("file", "fixed\n")
    (site.clone / "new").write_text("new\n")
    done = leave(site)
    assert done.files == ("new",)
    assert plain(site.clone, "rev-parse", f"{site.tip}^") == committed
    assert plain(site.clone, "symbolic-ref", "--short", "HEAD") == site.facts.branch
    assert plain(site.clone, "rev-parse", "fix") == committed
    assert "fix was checked out" in done.notes[0]
    assert status(site) == []


def test_work_on_no_branch_that_goes_on_is_put_on_the_tasks(site):
    plain(site.clone, "checkout", "-q", "--detach")
    committed = site.commit("file", "fixed\n")
    done = leave(site)
    assert (done.made, done.commit, site.tip) == (None, committed, committed)
    assert plain(site.clone, "symbolic-ref", "--short", "HEAD") == site.facts.branch


def test_work_that_does_not_go_on_from_the_branch_is_told(site):
    mine = site.commit("file", "mine\n")
    plain(site.clone, "checkout", "-q", "-b", "side", site.facts.base)
    site.commit("side", "x\n")
    (site.clone / "new").write_text("new\n")
    done = leave(site)
    assert (done.made, done.commit, site.tip) == (None, mine, mine)
    assert "1 commits on" in done.untaken[0].reason
    assert done.untaken[1].paths == ("new",)
    assert status(site) == ["?? new"]


def test_an_older_commit_that_was_only_looked_at_is_no_loss(site):
    mine = site.commit("file", "mine\n")
    plain(site.clone, "checkout", "-q", "--detach", site.facts.base)
    done = leave(site)
    assert (done.made, done.commit, done.untaken) == (None, mine, ())


def test_a_branch_that_was_removed_or_names_nothing_is_made_again(site):
    plain(site.clone, "checkout", "-q", "--detach")
    plain(site.clone, "branch", "-D", site.facts.branch)
    (site.clone / "new").write_text("new\n")
    done = leave(site)
    assert done.commit == site.tip == done.made
    assert "was missing" in done.notes[0]
    plain(site.clone, "checkout", "-q", "--detach")
    path = site.clone / ".git" / "refs" / "heads" / site.facts.branch
    path.write_text("0" * 39 + "1\n")
    assert leave(site).commit == done.commit == site.tip


def test_no_commit_checked_out_is_told(site):
    plain(site.clone, "checkout", "-q", "--orphan", "new")
    assert "no commit" in leave(site).untaken[0].reason


@pytest.mark.parametrize("name", ["rebase-merge", "CHERRY_PICK_HEAD", "BISECT_LOG"])
def test_an_operation_under_way_is_left_and_told(site, name):
    (site.clone / ".git" / name).write_text(f"{site.tip}\n")
    (site.clone / "new").write_text("x\n")
    before = site.tip
    done = leave(site)
    assert done.commit == site.tip == before
    assert "is in progress" in done.untaken[0].reason


def conflicting(site):
    site.commit("file", "one\nmine\nthree\n")
    plain(site.clone, "checkout", "-q", "-b", "theirs", site.facts.base)
    theirs = site.commit("file", "one\ntheirs\nthree\n")
    plain(site.clone, "checkout", "-q", site.facts.branch)
    plain(site.clone, "merge", "theirs", accepted=(1,))
    return theirs


def test_a_conflict_that_is_not_solved_is_told(site):
    conflicting(site)
    before = site.tip
    done = leave(site)
    assert done.untaken[0].paths == ("file",)
    assert site.tip == before
    assert (site.clone / ".git" / "MERGE_HEAD").exists()


def test_a_removed_file_solves_a_conflict_too(site):
    conflicting(site)
    (site.clone / "file").unlink()
    assert leave(site).untaken == ()
    assert "file" not in site.files_of(site.tip)


WINDOWS = ("commit made", "index written", "branch moved")
OF_A_MERGE = (
    *WINDOWS,
    "MERGE_MSG removed",
    "MERGE_MODE removed",
    "AUTO_MERGE removed",
    "MERGE_HEAD removed",
)
ELSEWHERE = (*WINDOWS, "branch checked out")


def edited(site):
    (site.clone / "file").write_text("changed\n")
    (site.clone / "new").write_text("new\n")
    (site.clone / "src" / "code.py").unlink()


def solved(site):
    conflicting(site)
    (site.clone / "file").write_text("solved\n")


def on_another_branch(site):
    """Have an agent commit on a branch of its own, and leave work there."""
    plain(site.clone, "switch", "-q", "-c", "own")
    site.commit("own", "own\n")
    edited(site)


CASES = [
    *((edited, window) for window in (*WINDOWS, *OF_A_MERGE[len(WINDOWS) :])),
    *((solved, window) for window in OF_A_MERGE),
    *((on_another_branch, window) for window in ELSEWHERE),
]


@pytest.mark.parametrize(
    ("make", "windows"),
    [
        (edited, OF_A_MERGE),
        (solved, OF_A_MERGE),
        (on_another_branch, (*ELSEWHERE, *OF_A_MERGE[len(WINDOWS) :])),
    ],
)
def test_these_are_all_the_windows(site, make, windows):
    make(site)
    assert steps_of(lambda step: leave(site, step=step)) == windows


@pytest.mark.few(6)
@pytest.mark.parametrize(("make", "window"), CASES)
def test_a_kill_at_any_step_is_followed_by_a_clean_second_try(site, make, window):
    make(site)
    here = plain(site.clone, "rev-parse", "HEAD")
    merged = plain(site.clone, "rev-parse", "-q", "--verify", "MERGE_HEAD", accepted=(0, 1))
    work = {path: (site.clone / path).read_text() for path in ("file", ".gitignore")}

    killed_at(window, lambda step: leave(site, step=step))
    done = leave(site)

    assert done.untaken == ()
    parents = f"{here} {merged}".strip()
    assert plain(site.clone, "log", "-1", "--format=%P", site.tip) == parents, "once, not twice"
    assert plain(site.clone, "symbolic-ref", "HEAD") == f"refs/heads/{site.facts.branch}"
    assert {path: plain(site.clone, "show", f"HEAD:{path}") + "\n" for path in work} == work
    assert status(site) == []
    assert not [name for name in MERGE_FILES if (site.clone / ".git" / name).exists()]
    assert steps_of(lambda step: leave(site, step=step)) == ("commit made",)
    assert bring_back(site.facts, site.repository).commit == site.tip
    plain(site.clone, "fsck", "--strict")
    plain(site.main, "fsck", "--strict")


def test_a_commit_before_the_branchs_that_is_checked_out_with_other_files_stays(site):
    """Only where the files are as the branch has them, HEAD alone was missing."""
    site.commit("more", "more\n")
    plain(site.clone, "checkout", "-q", "--detach", "HEAD~1")
    tip = site.tip
    assert leave(site).commit == tip
    assert plain(site.clone, "rev-parse", "HEAD") == site.facts.base
    assert status(site) == []


def test_a_lock_that_a_killed_git_left_is_removed(site):
    (site.clone / ".git" / "index.lock").write_text("")
    (site.clone / "new").write_text("x\n")
    leave(site)
    plain(site.clone, "commit", "--allow-empty", "-q", "-m", "The next")


def test_a_clone_that_is_a_link_is_not_touched(site, tmp_path):
    (site.clone / ".git").rename(tmp_path / "moved")
    (site.clone / ".git").symlink_to(tmp_path / "moved")
    with pytest.raises(UnsafeClone):
        leave(site)


def test_the_clone_holds_all_that_is_committed_though_the_main_repository_has_it_too(site):
    """Else its commits could not be brought back, and a clone would need another repository."""
    (site.clone / "same").write_text("the same in both\n")
    git(site.repository.top, "hash-object", "-w", "--stdin", stdin=b"the same in both\n")
    left = leave(site)
    assert left.files == ("same",)
    assert git(site.clone, "fsck", "--connectivity-only") == ""
    assert bring_back(site.facts, site.repository).commit == left.commit


def test_files_are_stored_as_the_main_repository_stores_them(tmp_path):
    site = make_site(tmp_path)
    settings = {
        "core.autocrlf": "true",
        'filter.odd "name".clean': "cat",
    }
    for name, value in settings.items():
        plain(site.main, "config", name, value)
        plain(site.clone, "config", name, value)
    plain(site.main, "config", "filter.one.clean", "tr a-z A-Z")
    (site.main / ".git" / "info" / "attributes").write_text("*.up filter=one\n")
    plain(site.clone, "rm", "-q", "--cached", "-r", "file", "src")
    plain(site.clone, "reset", "-q", "--hard")
    assert (site.clone / "file").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    (site.clone / "new").write_bytes(b"a\r\nb\r\n")
    (site.clone / "a.up").write_bytes(b"text\r\n")
    done = leave(site)
    assert done.files == ("a.up", "new")
    assert plain(site.clone, "cat-file", "blob", f"{site.tip}:new") == "a\nb"
    assert plain(site.clone, "cat-file", "blob", f"{site.tip}:a.up") == "TEXT"
