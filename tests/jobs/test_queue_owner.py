"""Whose a queue's file is: what somebody else has made is put aside or refused, and never read."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from own_queue import outdate
from queue_cases import insert

from sow.errors import ExitCode, QueueError
from sow.ids import JobId
from sow.jobs import jobs, user_secret
from sow.jobs.database import FORMAT, open_existing_queue, open_queue
from sow.jobs.queue_files import format_of
from sow.jobs.queue_owner import PREFIX, ROW, is_own
from sow.jobs.unproven_queue import put_place
from sow.jobs.user_secret import NoSecret, secret_path
from sow.paths import Workspace
from sow.state.kept import keeper_hooks

GOLDEN = Path(__file__).with_name("golden")
OPENINGS = (open_queue, open_existing_queue)
HOLDER = """
import sys
from pathlib import Path
from sow.jobs.database import open_queue
from sow.paths import Workspace

database = open_queue(Workspace(Path(sys.argv[1])))
for number in range(40):
    database.run("insert into control values (?, ?)", (f"more-{number}", "x" * 3000))
print("open", flush=True)
sys.stdin.read()
"""
"""Has the queue's file open, with a log of its own, until its input ends."""


@pytest.fixture
def reports() -> Iterator[list[str]]:
    messages: list[str] = []
    with keeper_hooks.answering(keeper_hooks.OURS.witness, messages.append):
        yield messages


@pytest.fixture
def original(tmp_path: Path) -> Workspace:
    return made(tmp_path / "original")


def made(root: Path) -> Workspace:
    """Make a queue with one job that waits."""
    workspace = Workspace(root)
    workspace.sow.mkdir(parents=True)
    with closing(open_queue(workspace)) as database:
        insert(database, "010")
    return workspace


def forged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that somebody else has made elsewhere, with a job that waits."""
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(tmp_path / "somebody"))
        file = made(tmp_path / "elsewhere").queue_db
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("update job set prompt = 'foreign'")
        connection.commit()
    return file


def prompts(workspace: Workspace) -> list[str]:
    with closing(open_queue(workspace)) as database:
        return [row["prompt"] for row in database.rows("select prompt from job order by id")]


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=N", "-c", "user.email=e@example.org", "-c", "gc.auto=0")
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("had_one", [False, True])
def test_a_file_of_somebody_else_is_put_aside_and_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reports: list[str],
    opening: object,
    had_one: bool,
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    mine = made(tmp_path / "mine") if had_one else Workspace(tmp_path / "mine")
    mine.run.mkdir(parents=True, exist_ok=True)
    mine.queue_db.unlink(missing_ok=True)  # as git does before it writes another one
    shutil.copyfile(theirs, mine.queue_db)
    database = opening(mine)  # type: ignore[operator]
    if database is not None:
        database.close()
    (words,) = reports
    aside = mine.run / "aside/unproven-1"
    assert str(aside) in words
    assert (aside / "queue.db").read_bytes() == theirs.read_bytes()
    assert ("your own file was put back" in words) is had_one
    assert prompts(mine) == ([""] if had_one else [])
    assert is_own(mine)
    assert len(reports) == 1


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("is_open", [False, True], ids=["at rest", "while it is open"])
def test_a_file_that_was_copied_over_ours_is_put_aside_and_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    original: Workspace,
    reports: list[str],
    opening: object,
    is_open: bool,
) -> None:
    """As `cp -r` and `unzip -o` write: the file has all its names, and what is in it is foreign."""
    theirs = forged(tmp_path, monkeypatch)
    with closing(open_queue(original)) as database:
        if not is_open:
            database.close()
        original.queue_db.write_bytes(theirs.read_bytes())
        for suffix in ("-wal", "-shm"):
            original.queue_db.with_name(f"queue.db{suffix}").unlink(missing_ok=True)
        if is_open:
            with pytest.raises(QueueError):
                database.rows("select * from job")
    assert is_own(original)
    found = opening(original)  # type: ignore[operator]
    if found is not None:
        found.close()
    (words,) = reports
    aside = original.run / "aside/unproven-1"
    assert f"It was moved to {aside}, and sow created a new queue" in words
    assert (aside / "queue.db").read_bytes() == theirs.read_bytes()
    assert prompts(original) == []
    assert is_own(original)


def test_a_file_of_another_checkout_of_the_users_own_is_put_aside(
    tmp_path: Path, original: Workspace, reports: list[str]
) -> None:
    other = Workspace(tmp_path / "other")
    other.sow.mkdir(parents=True)
    with closing(open_queue(other)) as database:
        insert(database, "040")
    original.queue_db.write_bytes(other.queue_db.read_bytes())
    assert prompts(original) == []
    (words,) = reports
    assert "It was moved to" in words
    assert prompts(other) != []


def test_whoever_has_the_file_open_mixes_nothing_into_one_that_was_copied_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Workspace, reports: list[str]
) -> None:
    """SQLite writes its log into the file as the last one closes it: half ours, half foreign."""
    theirs = forged(tmp_path, monkeypatch)
    with closing(open_queue(original)) as database:
        insert(database, "020")
        original.queue_db.write_bytes(theirs.read_bytes())
    assert original.queue_db.read_bytes() == theirs.read_bytes()
    with pytest.raises(QueueError, match="do not belong together") as refused:
        open_queue(original)
    subprocess.run(["sh", "-c", refused.value.hint.splitlines()[1]], check=True)
    assert prompts(original) == []
    assert "was not made by you" in reports[0]


def test_a_folder_of_what_was_put_aside_that_leads_out_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Workspace
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    original.queue_db.unlink()
    shutil.copyfile(theirs, original.queue_db)
    (original.run / "aside").symlink_to(tmp_path)
    with pytest.raises(QueueError, match="leads out of the repository") as refused:
        open_queue(original)
    assert refused.value.exit_code == ExitCode.STATE
    assert original.queue_db.read_bytes() == theirs.read_bytes()


def test_what_lies_in_the_place_of_that_folder_is_named_and_the_remedy_works(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    original: Workspace,
    reports: list[str],
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    original.queue_db.unlink()
    shutil.copyfile(theirs, original.queue_db)
    (original.run / "aside").write_text("mine\n")
    with pytest.raises(QueueError, match="aside: it is not a folder") as refused:
        open_queue(original)
    assert refused.value.exit_code == ExitCode.QUEUE
    assert original.queue_db.read_bytes() == theirs.read_bytes()
    _, _, command = refused.value.hint.partition("\n")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert (original.run / "aside.old").read_text() == "mine\n"
    assert prompts(original) == [""]
    assert len(reports) == 1


def test_a_backup_of_the_own_file_may_be_copied_over_it(
    tmp_path: Path, original: Workspace, reports: list[str]
) -> None:
    backup = shutil.copyfile(original.queue_db, tmp_path / "backup")
    with closing(open_queue(original)) as database:
        insert(database, "020")
    original.queue_db.write_bytes(backup.read_bytes())
    assert prompts(original) == [""]
    assert reports == []


def test_a_log_that_came_with_it_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Workspace, reports: list[str]
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    with closing(sqlite3.connect(theirs)) as writer:
        writer.execute("update job set prompt = 'in the log'")
        writer.commit()
        original.queue_db.unlink()
        for suffix in ("", "-wal", "-shm"):
            shutil.copyfile(f"{theirs}{suffix}", f"{original.queue_db}{suffix}")
    assert prompts(original) == [""]
    left = sorted(path.name for path in (original.run / "aside").rglob("queue.db*"))
    assert left == ["queue.db", "queue.db-shm", "queue.db-wal"]


def test_a_log_alone_is_refused_and_its_remedies_run_nothing_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Workspace
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    with closing(sqlite3.connect(theirs)) as writer:
        writer.execute("update job set prompt = 'in the log'")
        writer.commit()
        shutil.copyfile(f"{theirs}-wal", f"{original.queue_db}-wal")
    with pytest.raises(QueueError, match="do not belong together") as refused:
        open_queue(original)
    remedies = [line for line in refused.value.hint.splitlines() if line.startswith("    ")]
    subprocess.run(["sh", "-c", remedies[0]], check=True)
    assert prompts(original) == [""]
    subprocess.run(["sh", "-c", remedies[1]], check=True)
    assert prompts(original) == []


def test_a_rollback_journal_is_not_played_back(
    tmp_path: Path, original: Workspace, reports: list[str]
) -> None:
    """SQLite would write its pages into our file before anything of that is read."""
    file = tmp_path / "other.db"
    shutil.copyfile(original.queue_db, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("update job set prompt = 'foreign'")
        other.execute("pragma journal_mode = delete")
        other.execute("begin")
        other.execute("pragma cache_size = 1")  # so that the journal is on disk before its end
        other.execute("update job set prompt = 'changed'")
        other.execute(
            "insert into aside (data, reason, set_aside_at) values (zeroblob(1e6), '', 0)"
        )
        shutil.copyfile(f"{file}-journal", f"{original.queue_db}-journal")
    assert prompts(original) == [""]
    assert (original.run / "aside/unproven-1/queue.db-journal").exists()
    assert "queue.db-journal does not belong to sow" in reports[0]


def test_what_was_moved_is_used(original: Workspace, tmp_path: Path) -> None:
    moved = Workspace(original.root.rename(tmp_path / "moved"))
    assert prompts(moved) == [""]


def test_another_name_of_the_same_folder_is_no_copy(original: Workspace, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(original.root)
    assert prompts(Workspace(link)) == [""]


def test_a_device_may_have_another_number_after_a_restart(
    original: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated: the name that bears the device's number is gone."""
    from sow.jobs import queue_owner

    monkeypatch.setattr(queue_owner, "_by_folder", lambda *_: f"{PREFIX}of-the-new-device")
    assert prompts(original) == [""]
    assert is_own(original)


@pytest.mark.parametrize("gone", [False, True], ids=["beside it", "original gone"])
def test_a_plain_copy_of_a_checkout_begins_a_queue_of_its_own(
    original: Workspace, reports: list[str], gone: bool
) -> None:
    copy = Workspace(original.root.with_name("copy"))
    shutil.copytree(original.root, copy.root)
    if gone:
        shutil.rmtree(original.root)
    assert prompts(copy) == []
    assert "was not made by you in this checkout" in reports[0]
    if not gone:
        assert prompts(original) == [""]


def test_a_copy_with_its_second_names_is_refused_and_the_remedy_works(original: Workspace) -> None:
    """A backup that was put back, an archive with links, or another HOME: only a person knows."""
    copy = Workspace(original.root.with_name("copy"))
    subprocess.run(["cp", "-a", original.root, copy.root], check=True)
    shutil.rmtree(original.root)
    for opening in OPENINGS:
        with pytest.raises(
            QueueError, match="was not made by you for this folder on this"
        ) as refused:
            opening(copy)
    subprocess.run(["sh", "-c", refused.value.hint.splitlines()[1]], check=True)
    assert prompts(copy) == []


def test_another_home_is_refused_and_moves_nothing(
    original: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        with pytest.raises(QueueError, match="XDG_STATE_HOME was different"):
            open_queue(original)
    assert prompts(original) == [""]


def test_a_file_of_another_user_is_left(
    original: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = os.geteuid()
    with monkeypatch.context() as patch:
        for name in original.run.glob(f"{PREFIX}*"):
            name.unlink()
        patch.setattr(os, "geteuid", lambda: uid + 1)
        with pytest.raises(QueueError, match=f"uid {uid}"):
            open_queue(original)
    assert original.queue_db.exists()


# The secret


@pytest.mark.parametrize("fault", ["a file in the way", "open to others", "cut off", "a link"])
def test_a_secret_that_cannot_be_used_is_told_with_a_remedy_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = Path(secret_path())
    if fault == "a file in the way":
        (tmp_path / "state").write_text("")
    else:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * (10 if fault == "cut off" else 32))
        path.chmod(0o644 if fault == "open to others" else 0o600)
    if fault == "a link":
        path.rename(path.with_name("other"))
        path.symlink_to("other")
    workspace = Workspace(tmp_path / "mine")
    workspace.sow.mkdir(parents=True)
    with pytest.raises(NoSecret) as refused:
        open_queue(workspace)
    assert str(path) in refused.value.message
    if fault == "a file in the way":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other-state"))
    else:
        command = refused.value.hint.split("`")[1]
        subprocess.run(["sh", "-c", command], check=True)
    assert prompts(workspace) == []


def test_the_secret_is_made_once_for_its_owner_alone(original: Workspace) -> None:
    path = Path(secret_path())
    path.unlink()
    user_secret._secret.cache_clear()
    made(original.root.with_name("first"))
    before = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    made(original.root.with_name("another"))
    assert (path.read_bytes(), list(path.parent.iterdir())) == (before, [path])


@pytest.mark.slow
@pytest.mark.parametrize("killed_after", [None, 0, 30], ids=["ends", "killed first", "killed"])
def test_who_lost_the_log_of_an_own_file_writes_over_nothing_that_came_after(
    original: Workspace, tmp_path: Path, reports: list[str], killed_after: int | None
) -> None:
    """SQLite writes the log into a file as it closes, if that has its name and inode again."""
    backup = shutil.copyfile(original.queue_db, tmp_path / "backup.db")
    program = [sys.executable, "-c", HOLDER, str(original.root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(program, text=True, **pipes) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        for suffix in ("", "-wal", "-shm"):
            Path(f"{original.queue_db}{suffix}").unlink()
        shutil.copyfile(backup, original.queue_db)
        for number in range(20, 80):
            if number - 20 == killed_after:
                holder.kill()
                holder.wait()
            with closing(open_queue(original)) as database:
                insert(database, f"{number:03}")
        holder.communicate()
    assert len(prompts(original)) == 61
    with closing(open_queue(original)) as database:
        assert [row[0] for row in database.rows("pragma integrity_check")] == ["ok"]
    (words,) = reports
    assert ("may be missing" in words) is (killed_after != 0), "nobody can tell of who has ended"


@pytest.mark.slow
def test_whose_log_was_replaced_by_a_copy_writes_over_nothing_that_came_after(
    original: Workspace, tmp_path: Path, reports: list[str]
) -> None:
    """As `cp -a` of a backup leaves it: log and index belong to the file, and are other files."""
    program = [sys.executable, "-c", HOLDER, str(original.root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(program, text=True, **pipes) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        names = ("queue.db", "queue.db-wal", "queue.db-shm")
        for name in names:
            shutil.copy2(original.run / name, tmp_path / name)
            (original.run / name).unlink()
            shutil.copy2(tmp_path / name, original.run / name)
        for number in range(20, 80):
            with closing(open_queue(original)) as database:
                insert(database, f"{number:03}")
        holder.communicate()
    assert len(prompts(original)) == 61
    with closing(open_queue(original)) as database:
        assert [row[0] for row in database.rows("pragma integrity_check")] == ["ok"]
    (words,) = reports
    assert "may be missing" in words


# Files of sows without proofs


def older(workspace: Workspace, place: bytes | str | None = "here") -> None:
    """Make the file one of a sow without proofs, older than the secret."""
    for name in workspace.run.glob(f"{PREFIX}*"):
        name.unlink()
    with closing(sqlite3.connect(workspace.queue_db)) as connection:
        connection.execute("delete from control where name = ?", (ROW,))
        if place is None:
            connection.execute("delete from control where name = 'place'")
        elif place != "here":
            connection.execute("update control set value = ? where name = 'place'", (place,))
        connection.commit()
    outdate(workspace.queue_db)


def test_an_older_file_of_this_folder_is_adopted_once(
    original: Workspace, reports: list[str]
) -> None:
    older(original)
    assert prompts(original) == [""]
    assert is_own(original)
    assert reports == []


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_a_file_of_an_earlier_form_is_adopted_once_and_upgraded(
    tmp_path: Path, reports: list[str], number: int
) -> None:
    """At its noted place; the same file, put there again afterwards, is anybody's."""
    workspace = Workspace(tmp_path / "repo")
    with tarfile.open(GOLDEN / f"format-{number}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    file, again = workspace.queue_db, tmp_path / "again.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        put_place(connection, workspace)
        jobs_before = connection.execute("select id, task_id from job order by id").fetchall()
    shutil.copyfile(file, again)
    outdate(file)
    owners = []
    for _ in range(2):
        with closing(open_queue(workspace)) as database:
            assert format_of(database.connection) == FORMAT
            found = database.rows("select id, task_id from job order by id")
            assert [tuple(row) for row in found] == jobs_before
            owners += [
                row["value"]
                for row in database.rows("select value from control where name = ?", (ROW,))
            ]
        assert is_own(workspace)
    assert owners[0] == owners[1], "it was adopted twice"
    assert [path.name for path in workspace.run.glob("queue.db.format-*")] == [
        f"queue.db.format-{number}"
    ]
    assert reports == []
    file.unlink()
    shutil.copyfile(again, file)
    with closing(open_queue(workspace)) as database:
        assert format_of(database.connection) == FORMAT
    assert "your own file was put back" in reports[0]
    assert (workspace.run / "aside/unproven-1/queue.db").read_bytes() == again.read_bytes()


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_a_file_of_an_earlier_form_that_comes_after_the_secret_is_put_aside(
    tmp_path: Path, reports: list[str], number: int
) -> None:
    workspace = Workspace(tmp_path / "repo")
    with tarfile.open(GOLDEN / f"format-{number}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as connection:
        put_place(connection, workspace)
    secret = Path(secret_path())
    while secret.stat().st_mtime_ns >= workspace.queue_db.stat().st_ctime_ns:
        os.utime(workspace.queue_db)
    with closing(open_queue(workspace)) as database:
        assert database.rows("select * from job") == []
    assert len(reports) == 1


@pytest.mark.parametrize("place", [None, b"", b"nonsense", b"0:0 /nowhere", b"1:1 \0", "text"])
def test_an_older_file_that_does_not_name_this_folder_is_put_aside(
    original: Workspace, reports: list[str], place: bytes | str | None
) -> None:
    older(original, place)
    assert prompts(original) == []
    assert len(reports) == 1


def test_one_that_names_no_folder_is_adopted_where_it_has_nothing_left_to_do(
    original: Workspace, reports: list[str]
) -> None:
    with closing(open_queue(original)) as database:
        database.run("update job set state = 'done'")
    older(original, None)
    assert prompts(original) == [""]
    assert reports == []


def test_an_older_file_that_changes_after_the_secret_was_made_is_put_aside(
    original: Workspace, reports: list[str]
) -> None:
    older(original)
    secret = Path(secret_path())
    while secret.stat().st_ctime_ns >= original.queue_db.stat().st_ctime_ns:
        os.utime(original.queue_db)
    assert prompts(original) == []
    assert len(reports) == 1


@pytest.mark.parametrize("is_committed", [False, True])
def test_an_older_file_that_git_tracks_is_put_aside(
    original: Workspace, reports: list[str], is_committed: bool
) -> None:
    git(original.root, "init", "-q")
    git(original.root, "add", "-f", ".sow/run/queue.db")
    if is_committed:
        git(original.root, "commit", "-qm", "A queue")
        git(original.root, "rm", "-rq", "--cached", ".sow/run")
    older(original)
    assert prompts(original) == []
    assert "git rm -r --cached .sow/run" in reports[0]


@pytest.mark.slow
def test_a_pull_over_an_own_file_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reports: list[str]
) -> None:
    """Git overwrites ignored files without a word: a true pull, with all that a repository has."""
    theirs = forged(tmp_path, monkeypatch)
    upstream = tmp_path / "upstream"
    (upstream / ".sow").mkdir(parents=True)
    (upstream / ".sow/.gitignore").write_text("run/\n")
    git(upstream, "init", "-qb", "main")
    git(upstream, "add", ".")
    git(upstream, "commit", "-qm", "Begin")
    git(tmp_path, "clone", "-q", str(upstream), "mine")
    mine = Workspace(tmp_path / "mine")
    with closing(open_queue(mine)) as database:
        job = insert(database, "010")
    for name in ("queue.db", "jobs/1/1/exit.json", "workers/w1-aaaaaa.lock"):
        file = upstream / ".sow/run" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(theirs, file)
    git(upstream, "add", "-f", ".sow/run")
    git(upstream, "commit", "-qm", "Trap")
    git(mine.root, "pull", "-q")
    assert mine.queue_db.read_bytes() == theirs.read_bytes()
    with closing(open_queue(mine)) as database:
        assert jobs.get_job(database, JobId(job.id)).prompt == ""
    assert "your own file was put back" in reports[0]
    assert "git rm -r --cached .sow/run" in reports[0]


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_pull_that_has_put_a_file_in_the_place_of_the_folder_is_told(
    tmp_path: Path, original: Workspace, opening: object
) -> None:
    """Git deletes an ignored folder for a file of its name (measured with 2.39)."""
    top = original.root
    git(top, "init", "-q", "-b", "main")
    (original.sow / ".gitignore").write_text("/run/\n")
    git(top, "add", ".sow/.gitignore")
    git(top, "commit", "-q", "-m", "Begin")
    git(tmp_path, "clone", "-q", str(top), "theirs")
    (tmp_path / "theirs/.sow/run").write_text("theirs\n")
    git(tmp_path / "theirs", "add", "-f", ".sow/run")
    git(tmp_path / "theirs", "commit", "-q", "-m", "A file")
    git(top, "pull", "-q", str(tmp_path / "theirs"), "main")
    assert original.run.is_file()
    with pytest.raises(QueueError, match="the job records in it are lost") as refused:
        opening(original)  # type: ignore[operator]
    command = refused.value.hint.split("\n")[1]
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert prompts(original) == []


def test_a_pull_under_an_open_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Workspace, reports: list[str]
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    with closing(open_queue(original)) as database:
        insert(database, "020")
        original.queue_db.unlink()
        shutil.copyfile(theirs, original.queue_db)
        with pytest.raises(QueueError, match="removed or replaced"):
            database.rows("select * from job")
        assert prompts(original) == ["", ""], "what its log held is lost"


def test_a_folder_that_is_a_link_holds_no_queue_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reports: list[str]
) -> None:
    theirs = forged(tmp_path, monkeypatch)
    mine = Workspace(tmp_path / "mine")
    mine.sow.mkdir(parents=True)
    (mine.root / "trap").mkdir()
    shutil.copyfile(theirs, mine.root / "trap/queue.db")
    mine.run.symlink_to("../trap")
    assert prompts(mine) == []
    assert len(reports) == 1
