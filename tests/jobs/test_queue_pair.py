"""A write-ahead log is told from that of another file, and one of its own never refused."""

import os
import shutil
import sqlite3
import struct
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from own_queue import make_own
from queue_cases import insert, start_python

from sow.errors import QueueError
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.jobs.faults import QueueChanged, QueueReplaced
from sow.jobs.queue_files import COUNT_AT, MOST_COMMITS, refuse_foreign_log
from sow.paths import Workspace

pytestmark = pytest.mark.queue_file

WRITER = Path(__file__).with_name("writing_process.py")
KILLS = 25


def log_of(workspace: Workspace) -> Path:
    return workspace.queue_db.with_name("queue.db-wal")


def count_of(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[COUNT_AT : COUNT_AT + 4], "big")


@pytest.fixture
def left(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A copy of a queue as a kill leaves it: its log holds what the file does not."""
    with closing(open_queue(workspace)) as database:
        shutil.copy(workspace.queue_db, tmp_path / "before.db")
        for task in ("010", "020"):
            insert(database, task)
        database.connection.execute("pragma wal_checkpoint(full)")
        for task in ("030", "040"):
            insert(database, task)
        shutil.copy(workspace.queue_db, tmp_path / "killed.db")
        shutil.copy(log_of(workspace), tmp_path / "killed.db-wal")
    shutil.copy(tmp_path / "killed.db", workspace.queue_db)
    shutil.copy(tmp_path / "killed.db-wal", log_of(workspace))
    make_own(workspace)
    return workspace


def test_what_a_kill_leaves_is_opened_with_all_that_was_committed(left: Workspace) -> None:
    with closing(open_queue(left)) as database:
        assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020", "030", "040"]


@pytest.mark.parametrize("how", ["cp", "mv"])
def test_an_older_copy_of_the_file_is_not_continued_by_the_log(
    left: Workspace, tmp_path: Path, how: str
) -> None:
    if how == "cp":
        left.queue_db.write_bytes((tmp_path / "before.db").read_bytes())
    else:
        (tmp_path / "before.db").rename(left.queue_db)
        make_own(left)
    before = left.queue_db.read_bytes(), log_of(left).read_bytes()
    with pytest.raises(
        QueueChanged, match="and the write-ahead log beside it do not belong"
    ) as caught:
        open_queue(left)
    assert "do not belong together" in caught.value.message
    assert "mv $(ls -d queue.db-wal queue.db-shm 2>/dev/null) aside/1/" in caught.value.hint
    assert (left.queue_db.read_bytes(), log_of(left).read_bytes()) == before


def test_the_file_of_another_queue_is_not_continued_by_the_log(left: Workspace) -> None:
    """Each new file begins its count somewhere else."""
    other = Workspace(left.root / "third")
    other.sow.mkdir(parents=True)
    open_queue(other).close()
    shutil.copy(other.queue_db, left.queue_db)
    with pytest.raises(QueueChanged, match="and the write-ahead log beside it do not belong"):
        open_queue(left)


def test_half_a_page_at_the_end_of_the_log_is_no_sign(left: Workspace) -> None:
    """A writer that was killed has written the head of a page, and not yet the page itself."""
    data = bytearray(log_of(left).read_bytes())
    assert struct.unpack_from(">I", data, 32)[0] == 1, "the first page of the log is the header"
    at = 32 + 24 + COUNT_AT
    data[at : at + 4] = struct.pack(">I", 12345)
    log_of(left).write_bytes(data)
    with closing(open_queue(left)) as database:
        assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020"]


def test_the_count_goes_on_from_its_end(workspace: Workspace) -> None:
    open_queue(workspace).close()
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        file.execute(f"pragma application_id = {MOST_COMMITS}")
    with closing(open_queue(workspace)) as database:
        for task in ("010", "020"):
            insert(database, task)
        refuse_foreign_log(workspace.queue_db)
        database.connection.execute("pragma wal_checkpoint(full)")
        insert(database, "030")
        refuse_foreign_log(workspace.queue_db)
    assert count_of(workspace.queue_db) == 3


def test_only_commits_are_counted(database: Database) -> None:
    def count() -> int:
        return int(database.connection.execute("pragma application_id").fetchone()[0])

    before = count()
    jobs.active_jobs(database)
    with database.transaction():
        pass
    with pytest.raises(KeyError), database.transaction():
        {}[insert(database, "010")]
    assert count() == before
    insert(database, "010")
    assert count() == before % MOST_COMMITS + 1


@pytest.mark.slow
def test_no_kill_makes_a_log_look_like_another_s(workspace: Workspace) -> None:
    """The log begins anew every few pages, and its writer is killed wherever it is."""
    sound = 0
    for _ in range(KILLS):
        writer = start_python(WRITER, workspace.root)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        try:
            while log_of(workspace).stat().st_size < 4096:
                pass
            for _ in range(20):
                refuse_foreign_log(workspace.queue_db)  # while it is being written
        finally:
            writer.kill()
            writer.communicate()
        with closing(open_queue(workspace)) as database:
            assert database.rows("pragma quick_check")[0][0] == "ok"
            sound += 1
    assert sound == KILLS


@pytest.mark.parametrize("name", ["queue.db", "queue.db-wal", "queue.db-shm"])
@pytest.mark.parametrize("then", ["nothing", "another"])
def test_an_open_connection_leaves_files_that_are_not_its_own(
    database: Database, workspace: Workspace, name: str, then: str
) -> None:
    insert(database, "010")
    path = workspace.run / name
    data = path.read_bytes()
    path.unlink()
    if then == "another":
        path.write_bytes(data)
    for use in (
        lambda: database.row("select 1"),
        lambda: database.run("delete from job"),
        lambda: insert(database, "020"),
    ):
        with pytest.raises(QueueReplaced, match="was removed or replaced"):
            use()
    assert (path.exists() and path.read_bytes()) == (data if then == "another" else False)


def test_an_open_connection_leaves_a_file_that_was_written_over(
    database: Database, workspace: Workspace, tmp_path: Path
) -> None:
    insert(database, "010")
    database.connection.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(workspace.queue_db, tmp_path / "older.db")
    for task in ("020", "030"):
        insert(database, task)
    database.connection.execute("pragma wal_checkpoint(full)")
    insert(database, "040")
    workspace.queue_db.write_bytes((tmp_path / "older.db").read_bytes())
    with pytest.raises(QueueChanged, match="and the write-ahead log beside it do not belong"):
        insert(database, "050")
    with pytest.raises(QueueChanged, match="and the write-ahead log beside it do not belong"):
        database.row("select 1")


@pytest.mark.parametrize("name", ["queue.db", "queue.db-wal", "queue.db-shm"])
@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_refused_without_being_opened(
    workspace: Workspace, name: str, kind: str
) -> None:
    open_queue(workspace).close()
    path = workspace.run / name
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    if name == "queue.db":  # our own takes its place again
        open_queue(workspace).close()
        assert os.path.lexists(workspace.run / "aside/unproven-1/queue.db")
        return
    with pytest.raises(QueueError, match="not a regular file") as caught:
        open_queue(workspace)
    subprocess.run(caught.value.hint.splitlines()[1], shell=True, check=True)
    open_queue(workspace).close()


def test_files_that_may_not_be_looked_at_are_no_bug_and_not_called_removed(
    workspace: Workspace,
) -> None:
    with closing(open_queue(workspace)) as database:
        run = workspace.run
        run.rename(run.with_name("aside"))
        run.symlink_to(run)  # refused to root as well
        with pytest.raises(QueueError, match="cannot be used: Too many levels") as refused:
            jobs.active_jobs(database)
        assert not isinstance(refused.value, QueueChanged)
        run.unlink()
        run.with_name("aside").rename(run)
        assert jobs.active_jobs(database) == []
