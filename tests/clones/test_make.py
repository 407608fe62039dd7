"""A task's clone is made: what is in it, what is not, and what it says of itself."""

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from clones.clone_site import name_author, plain
from clones.making_site import beside, bring, commit, make_home

from sow.clone_mark import read_mark
from sow.clones.base import Dependency, DependencyConflict
from sow.clones.main_checkout import ProjectBranchGone, main_checkout
from sow.clones.make import POINTERS, SUBMODULES, PlaceTaken
from sow.clones.mark import Stage
from sow.clones.place import BranchInPlaceOfFolder, FolderInRepository
from sow.clones.taken_over import PUSHING_IS_OFF
from sow.clones.throw_away_clone import checked_out
from sow.config.clones import CloneSettings
from sow.errors import ExitCode, StateError
from sow.git.git_errors import GitMissing, GitRefused, GitTooOld, NoRepository
from sow.paths import find_workspace
from sow.state.tasks import change_task

pytestmark = pytest.mark.slow  # process after process

NOON = 1_769_860_800.0
ANY_FILE = ("-c", "protocol.file.allow=always")


@pytest.fixture
def home(tmp_path):
    return make_home(tmp_path)


def listed(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    )


def test_the_clone_of_a_task(home, poisoned_home):
    made = home.make()
    place = home.place()
    state = poisoned_home / ".local/state/sow/clones"
    assert place.path == state / f"a-shop-{place.checkout}" / "0b5f4b7e" / "010"
    assert place.branch == "sow/sign-in-0b5f4b7e/010"
    ours = [f".sow/{name}" for name in (".gitattributes", ".gitignore", ".version", "config.yaml")]
    assert listed(place.path) == [".gitignore", *ours, "file", "src/code.py"]
    assert plain(place.path, "status", "--porcelain") == ""
    assert plain(place.path, "symbolic-ref", "--short", "HEAD") == place.branch
    assert plain(place.path, "rev-parse", "HEAD") == home.repository.commit
    assert plain(place.path, "for-each-ref", "--format=%(refname)") == f"refs/heads/{place.branch}"
    plain(place.path, "fsck", "--strict")
    assert made.is_new
    assert made.is_whole
    assert made.notes == ()
    mark = read_mark(str(place.path))
    assert mark == made.mark
    assert (mark.task, mark.stage, mark.base) == ("010", Stage.WHOLE, home.repository.commit)
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o700
    assert find_workspace(place.path / "src", {}).root == home.workspace.root


def test_the_main_repository_is_left_as_it_is(home):
    home.place()  # the checkout's id is the one file that is written there
    before = everything(home.top)
    home.make()
    assert everything(home.top) == before


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "lock" not in path.name
    }


def test_objects_are_linked_and_the_clone_lives_without_the_repository(home):
    plain(home.top, "gc", "-q")
    pack = next((home.top / ".git/objects/pack").glob("*.pack"))
    home.make()
    place = home.place()
    assert (place.path / ".git/objects/pack" / pack.name).stat().st_ino == pack.stat().st_ino
    assert not (place.path / ".git/objects/info/alternates").exists()
    place_path = place.path
    home.top.rename(home.top.with_name("gone"))
    plain(place_path, "fsck", "--strict")
    assert plain(place_path, "log", "--format=%s") == "First"


def test_where_no_links_can_be_made_git_copies(home, tmp_path, monkeypatch):
    others = [folder for folder in map(Path, ("/dev/shm", "/var/tmp", "/tmp")) if folder.is_dir()]
    elsewhere = [other for other in others if other.stat().st_dev != tmp_path.stat().st_dev]
    if not elsewhere:
        skip_or_fail("there is no second file system here")
    folder = elsewhere[0] / f"sow-test-{os.getpid()}"
    try:
        apart = home.with_settings(folder=str(folder))
        apart.make()
        path = apart.place().path
        assert path.is_relative_to(folder)
        plain(path, "fsck", "--strict")
        assert (path / "file").read_text() == "one\ntwo\nthree\n"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_workspace_in_a_part_of_the_repository(tmp_path):
    home = make_home(tmp_path, inside="pa*rt [1]/api")
    (home.top / "part [1]" / "api" / ".sow" / "project").mkdir(parents=True)
    commit(home.top, "pa*rt [1]/api/main.py", "x")
    commit(home.top, "part [1]/api/.sow/project/other", "not this project's")
    commit(home.top, ".sow/project/x", "nor this one")
    home.make()
    place = home.place()
    found = listed(place.path)
    assert "pa*rt [1]/api/main.py" in found
    assert ".sow/project/x" in found
    assert "part [1]/api/.sow/project/other" in found
    assert "pa*rt [1]/api/.sow/config.yaml" in found
    assert [name for name in found if name.startswith("pa*rt [1]/api/.sow/project")] == []
    assert place.root == place.path / "pa*rt [1]/api"
    assert find_workspace(place.root, {}).root == home.workspace.root


def test_a_second_call_finds_it_and_changes_nothing(home):
    home.make()
    place = home.place()
    (place.path / "file").write_text("an agent's work\n")
    made = home.make()
    assert not made.is_new
    assert (place.path / "file").read_text() == "an agent's work\n"


def test_what_is_not_whole_is_made_again_unless_a_session_has_begun(home):
    home.make(whole=False)
    place = home.place()
    (place.path / "half").write_text("half a setup\n")
    made = home.make(whole=False, is_begun=True)
    assert (made.is_new, made.is_whole) == (False, False)
    assert (place.path / "half").exists()
    made = home.make(whole=False)
    assert made.is_new
    assert not (place.path / "half").exists()
    assert beside(place) == [".lock-010", "010"]


def test_a_removed_clone_is_made_again_at_its_path_from_its_branch(home, tmp_path):
    home.make()
    place = home.place()
    base = home.repository.commit
    record = {"path": str(place.path), "branch": place.branch, "base": base}
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    tip = commit(place.path, "file", "the agent's work\n")
    bring(home)
    commit(home.top, "other", "the project goes on\n")
    shutil.rmtree(place.path)

    moved = home.with_settings(folder=str(tmp_path / "elsewhere"))
    made = moved.make()

    assert made.is_new
    assert moved.place().path == place.path
    assert plain(place.path, "rev-parse", "HEAD") == tip
    assert made.mark.base == base
    assert not (place.path / "other").exists()


def test_a_removed_clone_whose_branch_was_never_brought_begins_at_its_base(home):
    home.make()
    place = home.place()
    base = home.repository.commit
    record = {"path": str(place.path), "branch": place.branch, "base": base}
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    commit(home.top, "other", "the project goes on\n")
    shutil.rmtree(place.path)
    assert home.make().mark.base == base
    assert plain(place.path, "rev-parse", "HEAD") == base


def test_a_task_that_was_merged_begins_anew_at_the_end_of_its_branch(home):
    """So what was merged is no part of what it changes from now on."""
    home.make()
    place = home.place()
    record = {"path": str(place.path), "branch": place.branch, "base": home.repository.commit}
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    tip = commit(place.path, "file", "the agent's work\n")
    plain(home.top, "merge", "-q", "--no-ff", "--no-edit", bring(home))
    shutil.rmtree(place.path)
    assert home.make().mark.base == tip


def test_a_branch_without_a_record_is_gone_on_with(home):
    home.make()
    place = home.place()
    tip = commit(place.path, "file", "the agent's work\n")
    base = home.repository.commit
    bring(home)
    commit(home.top, "other", "the project goes on\n")
    shutil.rmtree(place.path)
    assert home.make().mark.base == base
    assert plain(place.path, "rev-parse", "HEAD") == tip


def test_the_branch_of_another_task_or_of_a_person_is_never_taken(home):
    for branch in ("main", "sow/x-0b5f4b7e/020", "sow/../../heads/main", "sow/x-ffffffff/010"):
        record = {"path": "/tmp/x", "branch": branch, "base": "a" * 40}
        change_task(home.workspace, "010", lambda _, r=record: {"clone": r}, now=NOON)
        assert home.place().branch == "sow/sign-in-0b5f4b7e/010"
    record = {"path": "/tmp/x", "branch": "sow/old-name-0b5f4b7e/010", "base": "a" * 40}
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    assert home.place().branch == "sow/old-name-0b5f4b7e/010"
    assert home.place().path != Path("/tmp/x")


def test_it_begins_at_the_projects_branch_whatever_is_checked_out(home):
    base = home.repository.commit
    plain(home.top, "checkout", "-q", "-b", "side")
    commit(home.top, "side", "elsewhere\n")
    home.make()
    assert plain(home.place().path, "rev-parse", "HEAD") == base
    plain(home.top, "branch", "-m", "main", "trunk")
    with pytest.raises(ProjectBranchGone, match="names main, but") as caught:
        home.make("020")
    assert "git branch main" in caught.value.hint


def test_a_detached_head_and_a_worktree_are_main_checkouts_too(home, tmp_path):
    plain(home.top, "checkout", "-q", "--detach")
    home.make()
    plain(home.top, "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"), "main")
    commit(tmp_path / "two", "only-there", "x\n")
    other = replace(home, workspace=type(home.workspace)(tmp_path / "two"))
    assert other.repository.git_dir != other.repository.common_dir
    assert other.place().checkout != home.place().checkout
    order = other.order(base=other.repository.commit)
    assert other.make(base=order.base).is_new
    assert (other.place().path / "only-there").exists()
    assert (tmp_path / "two").is_dir()
    assert home.place().path.is_dir()


# dependencies


def completed(home, task: str, path: str, text: str, **more) -> Dependency:
    """Do a task in its clone and bring its branch."""
    home.make(task)
    commit(home.place(task).path, path, text)
    return Dependency(task, bring(home, task, **more))


def test_the_work_of_dependencies_is_there_and_no_part_of_the_tasks_change(home):
    first = completed(home, "020", "a", "from 020\n")
    second = completed(home, "030", "b", "from 030\n")
    commit(home.top, "c", "from the project\n")
    made = home.make("010", dependencies=(first, second))
    path = home.place("010").path
    assert {"a", "b", "c"} <= set(listed(path))
    assert plain(path, "rev-parse", "HEAD") == made.mark.base
    for commit_id in (first.commit, second.commit, home.repository.commit):
        plain(path, "merge-base", "--is-ancestor", commit_id, "HEAD")
    assert plain(path, "status", "--porcelain") == ""


def test_a_dependency_that_is_merged_already_adds_nothing(home):
    first = completed(home, "020", "a", "from 020\n")
    plain(home.top, "merge", "-q", "--ff-only", first.commit)
    assert home.make(dependencies=(first,)).mark.base == home.repository.commit


def test_what_a_dependency_did_to_the_projects_state_is_left_out(home):
    state = ".sow/project/state.yaml"
    before = (home.top / state).read_text()
    first = completed(home, "020", state, "an agent's idea of the state\n")
    home.make(dependencies=(first,))
    shown = plain(home.place().path, "show", f"HEAD:{state}")
    assert shown == before.removesuffix("\n")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_machines_records_are_not_checked_out(home, kind):
    """Neither in a clone nor where the result of a merge is checked."""
    if kind == "file":
        commit(home.top, ".sow/run/queue.db", "a foreign queue\n")
    else:
        (home.top / ".sow/run").symlink_to("../trap")
        plain(home.top, "add", "-f", ".sow/run")
        plain(home.top, "commit", "-qm", "A link")
    home.make()
    assert not os.path.lexists(home.place().path / ".sow/run")
    main = main_checkout(home.workspace, CloneSettings())
    with checked_out(main, home.place(), plain(home.top, "rev-parse", "HEAD")) as folder:
        assert (folder / ".sow/config.yaml").exists()
        assert not os.path.lexists(folder / ".sow/run")


def test_dependencies_that_conflict_start_nothing_and_name_files_and_commands(home):
    first = completed(home, "020", "file", "020\n")
    second = completed(home, "030", "file", "030\n")
    with pytest.raises(DependencyConflict) as caught:
        home.make(dependencies=(first, second))
    assert caught.value.exit_code is ExitCode.STATE
    assert caught.value.files == ("file",)
    assert "task 030, which it depends on, conflicts with task 020 in file" in caught.value.message
    assert "sow merge 020" in caught.value.hint
    assert "sow clone update 030" in caught.value.hint
    assert beside(home.place()) == [".lock-010", ".lock-020", ".lock-030", "020", "030"]


def test_a_dependency_that_conflicts_with_the_project(home):
    first = completed(home, "020", "file", "020\n")
    commit(home.top, "file", "the project\n")
    with pytest.raises(DependencyConflict, match="with the project's branch in file"):
        home.make(dependencies=(first,))


# remote and settings


def test_origin_is_the_real_remote_and_pushing_is_off(home, tmp_path):
    plain(tmp_path, "init", "-q", "--bare", "upstream.git")
    plain(home.top, "remote", "add", "origin", "../upstream.git")
    plain(home.top, "push", "-q", "origin", "main")
    home.make()
    path = home.place().path
    assert plain(path, "config", "remote.origin.url") == str(tmp_path / "upstream.git")
    refused = plain(path, "push", "-q", "origin", "HEAD", accepted=(128,))
    assert refused == ""
    assert plain(path, "config", "remote.origin.pushurl") == PUSHING_IS_OFF
    assert plain(tmp_path / "upstream.git", "for-each-ref", "--format=%(refname)") == (
        "refs/heads/main"
    )
    assert plain(path, "rev-parse", "origin/main") == home.repository.commit
    plain(path, "fetch", "-q")


def test_a_users_own_settings_for_clones_are_no_obstacle(home, poisoned_home, tmp_path):
    (poisoned_home / ".gitconfig").write_text(
        "[clone]\n\tdefaultRemoteName = upstream\n\trejectShallow = true\n"
        '[protocol "file"]\n\tallow = never\n[protocol]\n\tversion = 0\n'
        "[init]\n\tdefaultBranch = sow\n[fetch]\n\tprune = true\n[core]\n\tautocrlf = input\n"
    )
    first = completed(home, "020", "a", "from 020\n", words=ANY_FILE)
    home.make(dependencies=(first,))
    assert plain(home.place().path, "remote") == ""
    url = f"file://{home.top}"
    plain(tmp_path, *ANY_FILE, "clone", "-q", "--no-reject-shallow", "--depth", "1", url, "shallow")
    shallow = replace(home, workspace=type(home.workspace)(tmp_path / "shallow"))
    name_author(shallow.top)
    second = completed(shallow, "030", "b", "from 030\n", words=ANY_FILE)
    assert shallow.make(dependencies=(second,)).is_new
    assert plain(shallow.place().path, "remote") == "origin"


def test_without_a_remote_there_is_none(home):
    home.make()
    assert plain(home.place().path, "remote") == ""


def test_settings_that_make_commands_work_go_along_and_hooks_do_not(home):
    hook = home.top / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    plain(home.top, "config", "core.autocrlf", "input")
    plain(home.top, "config", "alias.x", "!touch acted")
    plain(home.top, "config", "core.fsmonitor", "/bin/false")
    plain(home.top, "config", "diff.word.xfuncname", "a\nb")
    home.make()
    path = home.place().path
    assert plain(path, "config", "user.name") == "A Person"
    assert plain(path, "config", "core.autocrlf") == "input"
    assert plain(path, "config", "diff.word.xfuncname") == "a\nb"
    assert plain(path, "config", "alias.x", accepted=(1,)) == ""
    assert plain(path, "config", "core.fsmonitor", accepted=(1,)) == ""
    commit(path, "new", "x\n")


def test_filters_of_the_user_act_when_files_are_checked_out(home, tmp_path):
    plain(home.top, "config", "filter.upper.smudge", "tr a-z A-Z")
    plain(home.top, "config", "filter.upper.clean", "tr A-Z a-z")
    commit(home.top, ".gitattributes", "*.up filter=upper\n")
    commit(home.top, "text.up", "letters\n")
    home.make()
    assert (home.place().path / "text.up").read_text() == "LETTERS\n"
    assert plain(home.place().path, "status", "--porcelain") == ""


def test_large_files_that_cannot_be_loaded_stay_pointers_and_are_told(home, tmp_path):
    program = tmp_path / "lfs-smudge"
    program.write_text(
        '#!/bin/sh\n[ "$GIT_LFS_SKIP_SMUDGE" = 1 ] && exec cat\n'
        "echo 'git-lfs: object is not here' >&2\nexit 2\n"
    )
    program.chmod(0o755)
    plain(home.top, "config", "filter.lfs.clean", "cat")
    commit(home.top, "big.bin", "pointer\n")
    commit(home.top, ".gitattributes", "*.bin filter=lfs\n")
    plain(home.top, "config", "filter.lfs.smudge", str(program))
    plain(home.top, "config", "filter.lfs.required", "true")
    stored = home.top / ".git/lfs/objects/ab/cd/abcd"
    stored.parent.mkdir(parents=True)
    stored.write_text("content")
    assert home.make().notes == (POINTERS,)
    path = home.place().path
    assert (path / "big.bin").read_text() == "pointer\n"
    assert (path / ".git/lfs/objects/ab/cd/abcd").stat().st_ino == stored.stat().st_ino


def test_submodules_are_not_initialised_and_told(home, tmp_path):
    inner = tmp_path / "library"
    inner.mkdir()
    plain(inner, "init", "-q")
    plain(inner, "config", "user.name", "x")
    plain(inner, "config", "user.email", "x@y")
    commit(inner, "code", "x\n")
    words = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib")
    plain(home.top, *words)
    plain(home.top, "commit", "-q", "-m", "With a library")
    assert home.make().notes == (SUBMODULES,)
    assert list((home.place().path / "lib").iterdir()) == []
    assert plain(home.place().path, "status", "--porcelain") == ""


def test_a_repository_that_borrows_objects_gives_a_clone_that_does_not(home, tmp_path):
    store = home.top
    plain(tmp_path, "clone", "-q", "--shared", str(store), "borrower")
    borrower = replace(home, workspace=type(home.workspace)(tmp_path / "borrower"))
    borrower.make()
    path = borrower.place().path
    assert not (path / ".git/objects/info/alternates").exists()
    store.rename(tmp_path / "away")
    plain(path, "fsck", "--strict")


def test_a_shallow_repository(home, tmp_path):
    commit(home.top, "more", "x\n")
    plain(tmp_path, "clone", "-q", "--depth", "1", f"file://{home.top}", "shallow")
    shallow = replace(home, workspace=type(home.workspace)(tmp_path / "shallow"))
    assert shallow.repository.is_shallow
    name_author(shallow.top)
    first = completed(shallow, "020", "a", "from 020\n")
    shallow.make(dependencies=(first,))
    path = shallow.place().path
    assert (path / "a").read_text() == "from 020\n"
    commit(path, "b", "work\n")
    assert bring(shallow)


# what cannot be


@pytest.mark.parametrize("above", ["sow", "sow/sign-in-0b5f4b7e"])
def test_a_branch_in_the_place_of_a_folder_is_named(home, above):
    plain(home.top, "branch", above)
    with pytest.raises(BranchInPlaceOfFolder) as caught:
        home.make()
    assert f"a branch {above} exists," in caught.value.message
    assert f"git branch -m {above}" in caught.value.hint


def test_clones_inside_the_repository_are_refused(home):
    for folder in ("clones", ".", str(home.top / "x/y")):
        with pytest.raises(FolderInRepository) as caught:
            home.with_settings(folder=folder).place()
        assert caught.value.exit_code is ExitCode.CONFIGURATION
        assert "config.yaml: clones.folder" in caught.value.message
    (home.top.parent / "link").symlink_to(home.top / "src")
    with pytest.raises(FolderInRepository):
        home.with_settings(folder=str(home.top.parent / "link")).place()
    outside = home.with_settings(folder="../clones").place().path
    assert outside.is_relative_to(home.top.parent / "clones")
    at_home = home.with_settings(folder="~/clones").place().path
    assert at_home.is_relative_to(Path.home() / "clones")


def test_no_git_and_an_old_git_are_told(home, tmp_path, monkeypatch):
    order = home.order()
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    from sow.clones.make import make_clone

    with pytest.raises(GitMissing):
        make_clone(order)
    (programs / "git").write_text("#!/bin/sh\necho git version 2.37.9\n")
    (programs / "git").chmod(0o755)
    with pytest.raises(GitTooOld, match=r"2\.37\.9 is too old: sow needs git 2\.38"):
        make_clone(order)


def test_a_folder_without_a_repository_and_one_without_a_commit(tmp_path):
    from sow.git.repository import repository_of

    with pytest.raises(NoRepository, match="lies in no git repository"):
        repository_of(tmp_path)
    plain(tmp_path, "init", "-q", "empty")
    with pytest.raises(NoRepository, match="without a commit"):
        repository_of(tmp_path / "empty")
    plain(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(NoRepository, match="bare repository"):
        repository_of(tmp_path / "bare.git")


def test_a_path_that_git_refuses_is_told_in_gits_words(home):
    blob = plain(home.top, "hash-object", "-w", "--stdin", stdin=b"x")
    inner = plain(home.top, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    entry = f"040000 tree {inner}\t.git\n100644 blob {blob}\tfile\n"
    tree = plain(home.top, "mktree", stdin=entry.encode())
    bad = plain(home.top, "commit-tree", tree, stdin=b"bad")
    plain(home.top, "update-ref", "refs/heads/bad", bad)
    with pytest.raises(GitRefused, match=r"\.git"):
        home.make(base=bad)
    assert beside(home.place()) == [".lock-010"]


def test_what_lies_in_the_clones_place_is_not_touched(home, tmp_path):
    place = home.place()
    place.path.mkdir(parents=True)
    (place.path / "mine").write_text("mine\n")
    with pytest.raises(PlaceTaken) as caught:
        home.make()
    assert str(place.path) in caught.value.message
    assert (place.path / "mine").read_text() == "mine\n"
    (place.path / "mine").unlink()
    place.path.rmdir()
    (tmp_path / "target").mkdir()
    place.path.symlink_to(tmp_path / "target")
    with pytest.raises(PlaceTaken):
        home.make()
    assert place.path.is_symlink()


def test_a_clone_replaced_by_a_link_to_another_is_not_taken_for_it(home, tmp_path):
    home.make()
    place = home.place()
    place.path.rename(tmp_path / "moved")
    place.path.symlink_to(tmp_path / "moved")
    with pytest.raises(PlaceTaken):
        home.make()


def test_a_mark_of_another_task_is_not_ours(home):
    home.make()
    place = home.place()
    path = place.path / ".git/sow/clone.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "task": "020"}))
    with pytest.raises(PlaceTaken):
        home.make()


def test_folders_that_cannot_be_made_are_told(home, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="was not written"):
        home.with_settings(folder=str(tmp_path / "file" / "x")).make()


def test_a_moved_workspace_is_found_again_from_its_clones(home, tmp_path):
    home.make()
    place = home.place()
    record = {
        "path": str(place.path),
        "branch": place.branch,
        "base": home.repository.commit,
    }
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    home.top.rename(tmp_path / "renamed")
    moved = replace(home, workspace=type(home.workspace)(tmp_path / "renamed"))
    assert moved.place().path == place.path
    assert not moved.make().is_new
    assert find_workspace(place.path, {}).root == tmp_path / "renamed"


def test_a_copied_checkout_makes_clones_of_its_own(home, tmp_path):
    home.make()
    place = home.place()
    record = {"path": str(place.path), "branch": place.branch, "base": home.repository.commit}
    change_task(home.workspace, "010", lambda _: {"clone": record}, now=NOON)
    shutil.copytree(home.top, tmp_path / "copy", symlinks=True)
    copy = replace(home, workspace=type(home.workspace)(tmp_path / "copy"))
    assert copy.place().checkout != place.checkout
    assert copy.place().path != place.path
    assert copy.make().is_new
    assert not home.make().is_new
