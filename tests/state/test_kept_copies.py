"""Which bytes are an earlier version, which an edit; and where the copies lie."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sow.files import NotAFile, append_whole
from sow.paths import Workspace
from sow.schema.task import TaskStatus
from sow.state import log_writing
from sow.state.kept import copies, keeper_hooks, putback
from sow.state.kept.copies import PAGE, read, versions
from sow.state.kept.guard import restore_project
from sow.state.kept.history import added_since
from sow.state.kept.putback import adopt, differing_names, kept_names
from sow.state.kept.store import Checkout, kept_at
from sow.state.log_writing import LogEntry, format_entry, write_entry
from sow.state.projects import read_project
from sow.state.task_log import append_entry, read_entries
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.transitions import enter

NOON = 1_769_860_800.0


def entry(action: str, second: int = 0) -> LogEntry:
    return LogEntry(f"2026-01-31T12:00:{second:02}Z", "implementer", action)


def text(action: str, second: int = 0) -> bytes:
    return format_entry(entry(action, second)).encode()


A, B, C = (text(name, second) for second, name in enumerate("ABC"))


@pytest.fixture
def alive(monkeypatch) -> list[str]:
    """Have job 7 live, and collect what is told; emptied, nobody lives."""
    messages: list[str] = []
    monkeypatch.setattr(keeper_hooks.OURS, "witness", lambda _root, _project: "job 7")
    monkeypatch.setattr(keeper_hooks.OURS, "tell", messages.append)
    return messages


@pytest.fixture
def task(workspace: Workspace):
    add_task(workspace, name="A task", agent="implementer", now=NOON)
    return find_task(workspace, "010")


def begin(workspace: Workspace) -> None:
    change_task(workspace, "010", lambda it: enter(it, TaskStatus.IN_PROGRESS, now=NOON), now=NOON)


def test_what_was_added_to_an_earlier_log_is_told_from_an_edit():
    later = A + b"\n" + B
    assert added_since(later, A + b"\n" + C) == C
    assert added_since(later, A + b"\na line of a person\n") == b"a line of a person\n"
    assert added_since(later, A + b"\n" + B.replace(b"action: B", b"action: mended")) == b""
    assert added_since(later, A.replace(b"action: A", b"action: mended") + b"\n" + B) == b""


def test_a_log_that_was_taken_back_and_added_to_loses_neither(workspace, task, alive):
    append_entry(task.folder, entry("A"))
    begun = task.log.read_bytes()
    append_entry(task.folder, entry("B", 1))
    task.log.write_bytes(begun + b"\n" + C)
    append_entry(task.folder, entry("D", 3))
    actions = [each.action for each in read_entries(task.log)]
    assert [name for name in actions if len(name) == 1] == ["A", "B", "C", "D"]
    assert sum(action.startswith("Put back: log.md") for action in actions) == 1


def test_a_version_that_sow_replaced_but_never_wrote_is_known_too(workspace, task, alive):
    """A clone's first state was written by somebody else's sow."""
    kept = kept_at(workspace.root)
    for path in (kept.copy(kept.name(task.state)), kept.versions(kept.name(task.state))):
        Path(path).unlink()
    foreign = task.state.read_bytes()
    begin(workspace)
    task.state.write_bytes(foreign)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    assert len(alive) == 1


def test_an_edit_is_kept_and_a_broken_file_is_not(workspace, task, alive):
    begin(workspace)
    edited = task.state.read_bytes().replace(b"A task", b"Edited")
    task.state.write_bytes(edited)
    assert read_task(workspace, "010").name == "Edited"
    task.state.write_bytes(b"task: [")
    with pytest.raises(Exception, match=r"state\.yaml"):
        read_task(workspace, "010")
    assert task.state.read_bytes() == b"task: ["
    kept = kept_at(workspace.root)
    assert read(kept.copy(kept.name(task.state))) == edited
    assert alive == []


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """Collect the names of the files that are read to be compared, a while after their change."""
    names: list[str] = []
    whole = putback.read

    def noted(path: str) -> object:
        names.append(path.rpartition("/")[2])
        return whole(path)

    monkeypatch.setattr(putback, "read", noted)
    later = copies.time.time_ns() + 10 * 10**9
    monkeypatch.setattr(copies.time, "time_ns", lambda: later)
    return names


def test_a_file_that_was_found_to_agree_is_read_again_once_it_has_changed(
    workspace, task, looked_at
):
    kept = kept_at(workspace.root)
    assert differing_names(kept) == []
    assert sorted(looked_at) == sorted(name.rpartition("/")[2] for name in kept_names(kept))
    looked_at.clear()
    assert (differing_names(kept), looked_at) == ([], [])
    edited = task.state.read_bytes().replace(b"A task", b"Edited")
    task.state.write_bytes(edited)
    assert differing_names(kept) == [kept.name(task.state)]
    assert looked_at == ["state.yaml"]
    task.log.unlink()
    assert differing_names(kept) == [kept.name(task.log), kept.name(task.state)]


def test_a_file_that_sow_has_written_since_is_compared_anew(workspace, task, looked_at):
    kept = kept_at(workspace.root)
    differing_names(kept)
    begin(workspace)
    append_entry(task.folder, entry("A"))
    looked_at.clear()
    assert (differing_names(kept), sorted(looked_at)) == ([], ["log.md", "state.yaml"])
    looked_at.clear()
    assert (differing_names(kept), looked_at) == ([], [])


def test_a_file_that_was_changed_a_moment_ago_is_read_at_each_look(workspace, task, monkeypatch):
    """A change in the same tick of the file system's clock could not be told from it."""
    kept = kept_at(workspace.root)
    copy = Path(kept.copy(kept.name(task.state)))
    written, changed = copy.stat().st_mtime_ns, task.state.stat().st_ctime_ns
    for seconds, is_marked in ((1, False), (10, True)):
        now = changed + seconds * 10**9
        monkeypatch.setattr(copies.time, "time_ns", lambda now=now: now)
        differing_names(kept)
        assert (copy.stat().st_mtime_ns != written) is is_marked


def test_a_copy_that_a_crash_has_cut_is_not_put_back(workspace, task, alive):
    before = task.state.read_bytes()
    begin(workspace)
    kept = kept_at(workspace.root)
    copy = Path(kept.copy(kept.name(task.state)))
    copy.write_bytes(copy.read_bytes()[:50])
    task.state.write_bytes(before)
    assert read_task(workspace, "010").status is TaskStatus.PENDING
    assert alive == []


def test_while_git_holds_its_lock_nothing_is_decided(workspace, task, alive, monkeypatch):
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    before = task.state.read_bytes()
    begin(workspace)
    monkeypatch.setattr("sow.state.kept.putback.PATIENCE_SECONDS", 0.05)
    with (git / "index.lock").open("w"):
        task.state.write_bytes(before)
        assert read_task(workspace, "010").status is TaskStatus.PENDING
    (git / "index.lock").unlink()
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


@pytest.mark.skipif(sys.platform != "linux", reason="who has a file open is asked of /proc")
def test_a_lock_that_a_killed_git_has_left_keeps_nobody_from_the_state(
    workspace, task, alive, monkeypatch
):
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    before = task.state.read_bytes()
    begin(workspace)
    monkeypatch.setattr("sow.state.kept.putback.PATIENCE_SECONDS", 0.05)
    (git / "index.lock").touch()
    task.state.write_bytes(before)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


@pytest.mark.parametrize("head", ["main", "other"])
def test_a_git_that_never_rests_keeps_nobody_from_the_state(
    workspace, task, alive, monkeypatch, head
):
    """Its commands stay on one branch; where HEAD tells of another, nothing is decided."""
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "index").touch()
    before = task.state.read_bytes()
    begin(workspace)
    written = iter(range(10**6))

    def write_index(_seconds):
        now = time.time()
        os.utime(git / "index", (now, now + next(written) / 1e6))
        (git / "HEAD").write_text(f"ref: refs/heads/{head}\n")

    monkeypatch.setattr("sow.state.kept.putback.MANY_SECONDS", 0.05)
    monkeypatch.setattr("sow.state.kept.putback.time.sleep", write_index)
    task.state.write_bytes(before)
    expected = TaskStatus.IN_PROGRESS if head == "main" else TaskStatus.PENDING
    assert read_task(workspace, "010").status is expected


def test_entries_that_follow_a_log_which_git_has_just_taken_cost_no_other(workspace, task, alive):
    """Git may take it between the look at it and the append, and all in the same second."""
    begin(workspace)
    log = append_entry(task.folder, entry("one"))
    beginning = log.read_bytes()
    append_entry(task.folder, entry("two"))
    log.write_bytes(beginning)
    write_entry(task.folder, entry("three"))
    write_entry(task.folder, entry("four"))
    append_entry(task.folder, entry("five"))
    actions = [each.action for each in read_entries(log)]
    messages = ["Status: pending to in_progress", "one", "two", "three", "four", "five"]
    assert [each for each in actions if "Put back" not in each] == messages


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("head", [b"", A, None], ids=["empty", "one entry", "missing"])
def test_a_log_that_git_takes_while_an_entry_is_written_loses_none(
    workspace, task, alive, monkeypatch, moment, head
):
    """Its size was asked for before: git puts another file in its place in between."""
    if head is not None:
        task.log.write_bytes(head)
    append_entry(task.folder, entry("B", 1))
    append_entry(task.folder, entry("C", 2))

    def append(path: Path, data: bytes, *, durable: bool) -> None:
        if moment == "after":
            append_whole(path, data, durable=durable)
        path.unlink()
        if head is not None:
            path.write_bytes(head)
        if moment == "before":
            append_whole(path, data, durable=durable)

    with monkeypatch.context() as patch:
        patch.setattr(log_writing, "append_whole", append)
        write_entry(task.folder, entry("D", 3))
    append_entry(task.folder, entry("E", 4))
    actions = [each.action for each in read_entries(task.log)]
    expected = [*("A" if head else ""), "B", "C", "D", "E"]
    assert [name for name in actions if len(name) == 1] == expected


@pytest.mark.parametrize("read_by_somebody", [False, True])
def test_a_pipe_among_the_copies_holds_up_nobody(workspace, task, read_by_somebody):
    begin(workspace)
    append_entry(task.folder, entry("one"))
    kept = kept_at(workspace.root)
    pipes = [Path(at(kept.name(task.state))) for at in (kept.copy, kept.versions)]
    pipes.append(Path(kept.copy(kept.name(task.folder / "log.md"))))
    readers = []
    for pipe in pipes:
        pipe.unlink()
        os.mkfifo(pipe)
        if read_by_somebody:
            readers.append(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    moved = change_task(
        workspace, "010", lambda it: enter(it, TaskStatus.NEEDS_REVIEW, now=NOON), now=NOON
    )
    append_entry(task.folder, entry("two"))
    for reader in readers:
        os.close(reader)
    assert moved.status is TaskStatus.NEEDS_REVIEW
    assert read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW


def test_a_log_that_is_taken_again_and_again_holds_up_nobody(workspace, task, alive, monkeypatch):
    begin(workspace)
    log = append_entry(task.folder, entry("one", 1))
    beginning = log.read_bytes()
    append_entry(task.folder, entry("two", 2))
    monkeypatch.setattr("sow.state.kept.putback.write_atomically", lambda *_: None)
    log.write_bytes(beginning)
    append_entry(task.folder, entry("three", 3))
    assert [each.action for each in read_entries(log)][-1] == "three"


def test_another_branch_has_copies_of_its_own(workspace, task, alive):
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    before = task.state.read_bytes()
    begin(workspace)
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    task.state.write_bytes(before)
    assert read_task(workspace, "010").status is TaskStatus.PENDING
    assert Checkout(workspace.root).branch_folder == f"{git}/sow/kept/@refs%2Fheads%2Ffeature%2Fx"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_git_folder_of_another_user_is_not_trusted(workspace, poisoned_home):
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    os.chown(git, 12345, 12345)
    assert Checkout(workspace.root).branch_folder.startswith(f"{poisoned_home}/.local/state/sow/")


def test_the_copies_of_many_branches_do_not_pile_up(workspace, task):
    git = workspace.root / ".git"
    git.mkdir()
    for number in range(40):
        (git / "HEAD").write_text(f"ref: refs/heads/b{number}\n")
        change_task(workspace, "010", lambda _, to=number: {"name": f"N{to}"}, now=NOON)
    assert len(list((git / "sow/kept").iterdir())) == 24
    assert (git / "sow/kept/@refs%2Fheads%2Fb39").is_dir()


def git(workspace: Workspace, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", *words],
        cwd=workspace.root,
        check=True,
        capture_output=True,
    )


def rename(task, old: str, new: str) -> None:
    task.state.write_text(task.state.read_text().replace(f"name: {old}", f"name: {new}"))


def test_a_version_that_git_alone_knows_is_one_of_before_only_if_it_is_older(
    workspace, task, alive
):
    """A commit is somebody's wish once it is newer than what sow wrote last."""
    git(workspace, "init", "-q")
    rename(task, "A task", "Committed")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    rename(task, "Committed", "Edited")
    begin(workspace)
    git(workspace, "checkout", "-q", "--", ".")
    assert "name: Committed" in task.state.read_text()
    read = read_task(workspace, "010")
    assert (read.name, read.status) == ("Edited", TaskStatus.IN_PROGRESS)
    assert len(alive) == 1
    rename(task, "Edited", "Newer")
    git(workspace, "commit", "-qam", "two")
    assert read_task(workspace, "010").name == "Newer"
    assert len(alive) == 1


@pytest.mark.parametrize("is_gits", [False, True])
def test_an_edit_with_the_bytes_of_an_earlier_version_is_one_where_git_never_had_them(
    workspace, task, alive, is_gits
):
    """Two runs report in one second: the second report is the first one's bytes."""
    git(workspace, "init", "-q")
    pending = task.state.read_text()
    begin(workspace)
    begun = task.state.read_text()
    reported = begun.replace("status: in_progress", "status: needs_review")
    task.state.write_text(reported)
    assert read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW
    if is_gits:
        git(workspace, "add", "-A")
    change_task(workspace, "010", lambda _: {"status": TaskStatus.IN_PROGRESS}, now=NOON)
    assert task.state.read_text() == begun != pending
    if is_gits:
        git(workspace, "checkout", "-q", "--", ".")
    else:
        task.state.write_text(reported)
    status = read_task(workspace, "010").status
    assert status is (TaskStatus.IN_PROGRESS if is_gits else TaskStatus.NEEDS_REVIEW)
    assert len(alive) == is_gits


def test_nothing_is_kept_for_the_first_time_while_git_is_at_work(workspace, task, monkeypatch):
    """Under main's name there may stand another branch's task in this moment."""
    folder = workspace.root / ".git"
    folder.mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    kept = kept_at(workspace.root)
    monkeypatch.setattr("sow.state.kept.putback.PATIENCE_SECONDS", 0.05)
    (folder / "index.lock").touch()
    adopt(kept)  # and be it a lock that a killed git has left
    assert not Path(kept.folder).exists()
    (folder / "index.lock").unlink()
    adopt(kept)
    assert read(kept.copy(kept.name(task.state))) == task.state.read_bytes()


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_the_project_s_own_state_is_put_back_where_something_else_lies(
    workspace: Workspace, alive: list[str], kind: str
) -> None:
    """Without it no job of the project can be settled, and no agent's report be written down."""
    state = workspace.project_state
    before = state.read_bytes()
    state.unlink()
    match kind:
        case "pipe":
            os.mkfifo(state)
        case "folder":
            state.mkdir()
        case _:
            state.symlink_to(state)
    restore_project(workspace.root)
    assert state.read_bytes() == before
    assert read_project(workspace).name
    aside = [path.name for path in state.parent.iterdir() if "aside" in path.name]
    assert len(aside) == (1 if kind == "folder" else 0)
    assert len(alive) == 1


def test_with_nobody_alive_it_is_left_to_a_person(workspace: Workspace) -> None:
    state = workspace.project_state
    state.unlink()
    os.mkfifo(state)
    restore_project(workspace.root)
    with pytest.raises(NotAFile):
        read_project(workspace)


def test_a_head_that_is_no_text_keeps_nobody_from_changing_a_task(workspace, task):
    """git is told of it elsewhere; the version is kept without a commit that anybody could name."""
    git = workspace.root / ".git"
    git.mkdir()
    (git / "HEAD").write_bytes(b"\xff\xfe\x80\n")
    begin(workspace)
    kept = kept_at(workspace.root)
    assert kept is not None
    name = kept.name(task.state)
    assert read(kept.copy(name)) == task.state.read_bytes()
    assert [commit for _, commit in versions(kept, name)][-1] == "???"


@pytest.mark.parametrize("name", ["Longer than before", "A task", "A"])
def test_a_copy_is_written_over_unless_it_becomes_shorter(workspace, task, alive, name):
    """One write(2) leaves the old text or the new one; cutting the rest off would be a second."""
    kept = kept_at(workspace.root)
    copy = Path(kept.copy(kept.name(task.state)))
    before = copy.stat()
    change_task(workspace, "010", lambda _: {"name": name}, now=NOON)
    after = copy.stat()
    assert copy.read_bytes() == task.state.read_bytes()
    assert (after.st_ino == before.st_ino) == (after.st_size >= before.st_size)
    assert (after.st_size < before.st_size) == (name == "A")


def test_a_link_in_the_place_of_a_copy_is_not_written_through(workspace, task, alive):
    kept = kept_at(workspace.root)
    copy, outside = Path(kept.copy(kept.name(task.state))), workspace.root / "outside"
    copy.rename(outside)
    copy.symlink_to(outside)
    was = outside.read_bytes()
    change_task(workspace, "010", lambda _: {"name": "Longer than before"}, now=NOON)
    assert outside.read_bytes() == was
    assert copy.read_bytes() == task.state.read_bytes()


def test_a_large_copy_is_put_in_place_by_a_rename(workspace, task, alive):
    kept = kept_at(workspace.root)
    copy = Path(kept.copy(kept.name(task.state)))
    change_task(workspace, "010", lambda _: {"name": "n" * PAGE}, now=NOON)
    before = copy.stat().st_ino
    change_task(workspace, "010", lambda _: {"name": "n" * PAGE + "n"}, now=NOON)
    assert copy.stat().st_ino != before
    assert copy.read_bytes() == task.state.read_bytes()
