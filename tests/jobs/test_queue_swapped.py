"""The queue's files are swapped between two steps: nothing foreign is read, nothing lost untold."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from queue_cases import insert

from sow.errors import QueueError
from sow.jobs import database as database_module
from sow.jobs import giving_back, unproven_queue
from sow.jobs.database import OPENINGS, Database, open_existing_queue, open_queue
from sow.jobs.faults import QueueReplaced
from sow.jobs.queue_files import Marks, are_same, marks_of
from sow.paths import Workspace
from sow.state.kept import keeper_hooks

HOLDER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from queue_cases import insert
from sow.jobs.database import open_queue
from sow.paths import Workspace

database = open_queue(Workspace(Path(sys.argv[1])))
insert(database, "020", prompt="in the log")
print("open", flush=True)
sys.stdin.read()
"""
"""Has the queue's file open, and a job in its log, until its input ends."""


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    messages: list[str] = []
    monkeypatch.setattr(keeper_hooks.OURS, "tell", messages.append)
    return messages


@pytest.fixture
def mine(tmp_path: Path) -> Workspace:
    return made(tmp_path / "mine", "own")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(tmp_path / "somebody"))
        return made(tmp_path / "theirs", "foreign").queue_db


def made(root: Path, prompt: str) -> Workspace:
    workspace = Workspace(root)
    workspace.sow.mkdir(parents=True)
    with closing(open_queue(workspace)) as database:
        insert(database, "010", prompt=prompt)
    return workspace


def prompts(database: Database) -> list[str]:
    return [row["prompt"] for row in database.rows("select prompt from job order by id")]


def left(workspace: Workspace) -> list[str]:
    with closing(open_queue(workspace)) as database:
        assert [row[0] for row in database.rows("pragma integrity_check")] == ["ok"]
        return prompts(database)


def rename_over(theirs: Path, mine: Workspace) -> None:
    draft = shutil.copyfile(theirs, mine.root / "draft.db")
    draft.replace(mine.queue_db)


def remove_log(mine: Workspace) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{mine.queue_db}{suffix}").unlink()


@contextmanager
def holder(workspace: Workspace) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-c", HOLDER, str(workspace.root), str(Path(__file__).parent)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


def test_pages_that_are_remembered_prove_no_file_that_was_written_over(
    mine: Workspace, theirs: Path
) -> None:
    with closing(open_queue(mine)) as database:
        assert prompts(database) == ["own"]
        mine.queue_db.write_bytes(theirs.read_bytes())
        with pytest.raises(QueueError):
            prompts(database)
        with pytest.raises(QueueError):
            insert(database, "020")


def test_a_file_that_is_swapped_while_it_is_read_is_not_believed(
    mine: Workspace, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_queue(mine)) as database:
        look = database._look_at_files
        swaps: list[Callable[[], object]] = [
            lambda: mine.queue_db.write_bytes(theirs.read_bytes()),
        ]

        def look_and_swap() -> None:
            look()
            while swaps:
                swaps.pop()()

        monkeypatch.setattr(database, "_look_at_files", look_and_swap)
        with pytest.raises(QueueError):
            prompts(database)


def test_who_commits_while_the_log_is_removed_is_told(mine: Workspace) -> None:
    def commit_and_remove(database: Database) -> None:
        with database.transaction():
            insert(database, "020")
            remove_log(mine)

    with closing(open_queue(mine)) as database, pytest.raises(QueueReplaced):
        commit_and_remove(database)


def test_who_waited_for_the_lock_while_the_file_was_replaced_writes_nothing(
    mine: Workspace, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_queue(mine)) as database:
        execute = database._execute

        def swap_and_execute(sql: str, *more: object) -> object:
            if sql == "begin immediate":
                rename_over(theirs, mine)
            return execute(sql, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(database, "_execute", swap_and_execute)
        with pytest.raises(QueueReplaced), database.transaction():
            pytest.fail("it went on")
    assert left(mine) == ["own"]


def test_who_is_killed_before_the_own_file_is_back_leaves_it_to_the_next(
    mine: Workspace, theirs: Path, monkeypatch: pytest.MonkeyPatch, reports: list[str]
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    rename_over(theirs, mine)
    for module, name in ((unproven_queue, "give_back"), (giving_back, "_rename")):
        remove_log_of_nobody(mine)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, die)
            with pytest.raises(Killed):
                open_queue(mine)
    assert left(mine) == ["own"]
    assert "your own file was put back" in reports[-1]
    assert {path.name for path in mine.run.iterdir() if path.name.startswith(".")} == set()


def remove_log_of_nobody(mine: Workspace) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{mine.queue_db}{suffix}").unlink(missing_ok=True)


def test_who_has_a_file_open_that_was_moved_and_brought_back_over_a_new_one_is_told(
    mine: Workspace, tmp_path: Path, reports: list[str]
) -> None:
    """Its name is there, and its second names are with the old proofs: the new one is the queue."""
    with closing(open_queue(mine)) as database:
        names = ("queue.db", "queue.db-wal", "queue.db-shm")
        for name in names:
            (mine.run / name).rename(tmp_path / name)
        assert left(mine) == []
        for name in names:
            (tmp_path / name).rename(mine.run / name)
        with pytest.raises(QueueReplaced):
            insert(database, "020")


def test_a_log_that_was_removed_beside_an_index_in_use_is_told_to_who_comes(
    mine: Workspace,
) -> None:
    """SQLite would take the index for one of its new log: what it commits there is lost."""
    with holder(mine) as process:
        Path(f"{mine.queue_db}-wal").unlink()
        with pytest.raises(QueueReplaced):
            open_queue(mine)
        process.kill()
        process.wait()
    with closing(open_queue(mine)) as database:
        insert(database, "030", prompt="later")
    assert left(mine) == ["own", "later"]


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_that_is_removed_while_the_file_is_opened_is_told(
    mine: Workspace, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    connect = database_module.connect

    def remove_and_connect(path: Path, **more: Any) -> sqlite3.Connection:
        Path(f"{path}{suffix}").unlink()
        return connect(path, **more)

    with holder(mine) as process:
        with monkeypatch.context() as patch:
            patch.setattr(database_module, "connect", remove_and_connect)
            with pytest.raises(QueueReplaced):
                open_queue(mine)
        if suffix == "-wal":
            with pytest.raises(QueueReplaced):
                open_queue(mine)
        process.kill()
        process.wait()
    assert left(mine) == ["own"] if suffix == "-wal" else ["own", "in the log"]


@pytest.mark.parametrize("is_made_anew", [True, False])
def test_a_log_that_is_removed_once_it_is_open_gets_no_commit(
    mine: Workspace, monkeypatch: pytest.MonkeyPatch, is_made_anew: bool
) -> None:
    """The marks of an opening are taken after it: they may be those of another log and index."""
    formats: list[int] = []
    format_of = database_module.format_of

    with ExitStack() as others:

        def read_and_lose(connection: sqlite3.Connection) -> int:
            formats.append(format_of(connection))
            if len(formats) == 1:
                remove_log(mine)
                if is_made_anew:
                    others.enter_context(holder(mine))
            return formats[-1]

        with monkeypatch.context() as patch:
            patch.setattr(database_module, "format_of", read_and_lose)
            database = open_queue(mine)
        with closing(database):
            insert(database, "030", prompt="later")
            assert prompts(database)[-1] == "later"
        earlier = ["own", "in the log"] if is_made_anew else ["own"]
        assert left(mine) == [*earlier, "later"]
        assert len(formats) > 1


def test_a_new_log_with_the_inode_of_the_last_one_goes_with_a_new_index() -> None:
    """The last who had the file open has closed it meanwhile, and another has opened it."""
    before = Marks((1, 1), (1, 2), (1, 3), (50, 4096), (60, 90_672))
    index_alone = before._replace(wal_index=(1, 4))
    assert not are_same(before, index_alone)
    assert are_same(before, index_alone._replace(log_written=(70, 0)))
    assert are_same(before, before)


@pytest.mark.parametrize("changes", [1, OPENINGS - 1, OPENINGS])
def test_a_file_whose_log_changes_while_it_is_opened_is_opened_anew(
    mine: Workspace, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    """Its index seems to stay: that cannot be told from a swapped log, but by the next opening."""
    looks: list[Marks] = []

    def look(path: Path) -> Marks:
        marks = marks_of(path)._replace(log=(1, 2), wal_index=(1, 3))
        looks.append(marks)
        is_after = len(looks) % 2 == 0
        return marks._replace(log=(1, 4)) if is_after and len(looks) <= 2 * changes else marks

    monkeypatch.setattr(database_module, "marks_of", look)
    monkeypatch.setattr(database_module, "has_opened", lambda _: True)
    if changes == OPENINGS:
        with pytest.raises(QueueReplaced):
            open_existing_queue(mine)
        return
    database = open_existing_queue(mine)
    assert database is not None
    database.connection.close()
    assert len(looks) == 2 * (changes + 1)


def test_a_foreign_file_takes_no_log_of_ours_away(
    mine: Workspace, theirs: Path, monkeypatch: pytest.MonkeyPatch, reports: list[str]
) -> None:
    """It comes just before SQLite opens it; as SQLite closes it again, no log is written in."""
    with holder(mine) as process:
        process.kill()
        process.wait()
    assert Path(f"{mine.queue_db}-wal").stat().st_size
    refuse = database_module.refuse_unfit

    def refuse_and_swap(path: Path) -> None:
        monkeypatch.setattr(database_module, "refuse_unfit", refuse)
        refuse(path)
        rename_over(theirs, mine)

    monkeypatch.setattr(database_module, "refuse_unfit", refuse_and_swap)
    with closing(open_queue(mine)) as database:
        assert prompts(database) == ["own", "in the log"]
    assert left(mine) == ["own", "in the log"]


def test_a_file_that_is_replaced_while_it_is_opened_is_not_used(
    mine: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of ours has the name as SQLite opens it, and ours is back when its name is proved."""
    own = mine.root / "own.db"
    refuse, connect = database_module.refuse_unfit, database_module.connect

    def swap_in_a_copy(path: Path) -> None:
        refuse(path)
        path.rename(own)
        shutil.copyfile(own, path)

    def connect_and_swap_back(path: Path, **more: Any) -> sqlite3.Connection:
        connection = connect(path, **more)
        connection.execute("pragma user_version").fetchone()
        own.replace(path)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(database_module, "refuse_unfit", swap_in_a_copy)
        patch.setattr(database_module, "connect", connect_and_swap_back)
        with pytest.raises(QueueReplaced):
            open_queue(mine)
    assert left(mine) == ["own"]


@pytest.mark.slow
@pytest.mark.parametrize("lacks_index", [False, True])
def test_what_the_log_holds_comes_back_with_the_file(
    mine: Workspace, theirs: Path, reports: list[str], lacks_index: bool
) -> None:
    with holder(mine) as process:
        process.kill()
        process.wait()
    if lacks_index:
        Path(f"{mine.queue_db}-shm").unlink()
    rename_over(theirs, mine)
    assert left(mine) == ["own", "in the log"]
    assert "your own file was put back" in reports[0]


def begin_to_write_over(mine: Workspace) -> None:
    """Leave the files as they are while a new file is only being written under the queue's name."""
    mine.queue_db.unlink()
    mine.queue_db.touch()


@pytest.mark.parametrize("is_opening", [False, True], ids=["in use", "opening"])
def test_who_closes_beside_an_empty_file_leaves_the_log(
    mine: Workspace, theirs: Path, monkeypatch: pytest.MonkeyPatch, is_opening: bool
) -> None:
    """SQLite removes the log beside an empty file as it opens that, whoever writes the log."""
    if is_opening:
        with holder(mine) as process:
            process.kill()
            process.wait()
        monkeypatch.setattr(database_module, "is_own", lambda _: False)
        monkeypatch.setattr(database_module, "_is_ours", lambda _: True)
        sign = database_module.is_signed

        def sign_and_swap(connection: sqlite3.Connection, run: Path) -> bool:
            is_signed = sign(connection, run)
            begin_to_write_over(mine)
            return is_signed

        monkeypatch.setattr(database_module, "is_signed", sign_and_swap)
        with pytest.raises(QueueReplaced):
            open_queue(mine)
        monkeypatch.undo()
    else:
        database = open_queue(mine)
        insert(database, "020", prompt="in the log")
        begin_to_write_over(mine)
        database.close()
    assert Path(f"{mine.queue_db}-wal").stat().st_size
    shutil.copyfile(theirs, mine.queue_db)
    assert left(mine) == ["own", "in the log"]


def test_a_log_whose_index_is_left_is_told_as_missing(
    mine: Workspace, theirs: Path, reports: list[str]
) -> None:
    """Nobody has the file open any more who could be asked."""
    with holder(mine) as process:
        process.kill()
        process.wait()
    Path(f"{mine.queue_db}-wal").unlink()
    rename_over(theirs, mine)
    assert left(mine) == ["own"]
    assert "may be missing" in reports[0]


@pytest.mark.slow
def test_a_new_log_beside_the_index_of_the_last_one_is_told_as_another(
    mine: Workspace, theirs: Path, reports: list[str]
) -> None:
    with holder(mine) as process:
        Path(f"{mine.queue_db}-wal").unlink()
        Path(f"{mine.queue_db}-wal").touch()
        rename_over(theirs, mine)
        assert left(mine) == ["own"]
        process.communicate()
    assert "may be missing" in reports[0]
    assert left(mine) == ["own"]


def test_a_removal_is_told_to_who_begins_a_new_queue(mine: Workspace, reports: list[str]) -> None:
    mine.queue_db.unlink()
    assert left(mine) == []
    (words,) = reports
    assert "queue.db was removed: what is left of it was moved to" in words
    assert str(mine.run / "aside/1") in words
