"""An older queue file is brought up to date by whoever opens it first: whole, or not at all."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from own_queue import make_own
from proving import one_in
from queue_cases import NOW, insert, make_job, start_python

from sow import __version__
from sow.errors import ExitCode, QueueError
from sow.ids import TaskId
from sow.jobs import jobs, leases
from sow.jobs.database import FIRST_FORMAT, FORMAT, Database, open_queue
from sow.jobs.faults import NewerQueue, QueueReplaced
from sow.jobs.migrations import FORMS, statements, take_step
from sow.jobs.queue_owner import ROW
from sow.paths import Workspace

pytestmark = pytest.mark.queue_file

UPGRADER = Path(__file__).with_name("upgrading_process.py")


@pytest.fixture
def older(workspace: Workspace) -> Workspace:
    """A workspace with a file of the first form that holds two jobs."""
    from huey.storage import SqliteStorage

    for folder in (workspace.run, workspace.workers, workspace.waiters):
        folder.mkdir(mode=0o700)
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        file.execute("pragma journal_mode=wal")
        for statement in SqliteStorage.ddl:
            file.execute(statement)
        take_step(file, FIRST_FORMAT)
        fill(workspace, file)
    workspace.queue_db.chmod(0o600)
    make_own(workspace)
    return workspace


def fill(workspace: Workspace, file: sqlite3.Connection) -> None:
    """Put jobs into it as they were written then: without the columns that came later."""
    other = Workspace(workspace.root / "other")
    other.sow.mkdir(parents=True)
    with closing(open_queue(other)) as made:
        for task in ("010", "020"):
            leases.enqueue(made, insert(made, task).id, now=NOW)
        columns = [row[1] for row in file.execute("pragma table_info(job)")]
        for row in made.rows(f"select {', '.join(columns)} from job"):
            file.execute(f"insert into job values ({', '.join('?' * len(columns))})", tuple(row))
        for row in made.rows("select id, queue, data, priority from task"):
            file.execute("insert into task values (?, ?, ?, ?)", tuple(row))


def form(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("pragma user_version").fetchone()[0])


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return list(file.iterdump())


def copies(workspace: Workspace) -> list[str]:
    """Return all that lies beside the file, but for its log and folders."""
    return sorted(
        path.name for path in workspace.run.iterdir() if path.name.startswith("queue.db.")
    )


def is_whole(workspace: Workspace) -> None:
    """Fail unless the file is in today's form, says by whom, and its jobs are to be claimed."""
    with closing(open_queue(workspace)) as database:
        assert form(workspace.queue_db) == FORMAT
        assert database.rows("pragma integrity_check")[0][0] == "ok"
        row = database.row("select value from control where name = 'made_by'")
        assert row is not None
        assert row["value"] == __version__
        assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020"]
        assert jobs.insert_job(database, make_job(TaskId("030"))).id == 3


def test_today_s_form_is_the_one_that_the_last_step_leads_to() -> None:
    assert sorted(path.name for path in FORMS.iterdir()) == [
        f"{number}.sql" for number in range(FIRST_FORMAT, FORMAT + 1)
    ]


def test_an_older_file_has_today_s_form_and_a_copy_beside_it(older: Workspace) -> None:
    before = dump(older.queue_db)
    is_whole(older)
    assert copies(older) == [f"queue.db.format-{FIRST_FORMAT}"]
    copy = older.run / f"queue.db.format-{FIRST_FORMAT}"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert dump(copy) == before
    assert form(copy) == FIRST_FORMAT


def test_a_file_brought_up_to_date_is_as_one_made_today(older: Workspace) -> None:
    open_queue(older).close()
    new = Workspace(older.root / "new")
    new.sow.mkdir(parents=True)
    open_queue(new).close()
    schemas = []
    for workspace in (older, new):
        with closing(open_queue(workspace)) as database:
            schemas.append(
                {
                    row["name"]: [
                        tuple(each) for each in database.rows(f"pragma table_info({row['name']})")
                    ]
                    for row in database.rows("select name from sqlite_master where type = 'table'")
                }
            )
    assert schemas[0] == schemas[1]


def test_the_copy_is_never_written_over(older: Workspace) -> None:
    kept = older.run / f"queue.db.format-{FIRST_FORMAT}"
    kept.write_text("a copy of another day")
    is_whole(older)
    assert kept.read_text() == "a copy of another day"
    assert copies(older) == [kept.name, f"{kept.name}-2"]
    assert form(older.run / f"{kept.name}-2") == FIRST_FORMAT


@pytest.mark.few(6)
@pytest.mark.slow
@pytest.mark.parametrize("statement", one_in(4, range(len(list(statements(2))) + 1)))
def test_killed_in_the_middle_the_next_one_does_it(older: Workspace, statement: int) -> None:
    before = dump(older.queue_db)
    process = start_python(UPGRADER, older.root, str(statement))
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.kill()
    process.communicate()
    assert dump(older.queue_db) == before
    is_whole(older)
    assert copies(older) == [f"queue.db.format-{FIRST_FORMAT}"]


@pytest.mark.slow
def test_two_at_once_do_it_once(older: Workspace) -> None:
    first = start_python(UPGRADER, older.root, "2")
    assert first.stdout is not None
    assert first.stdout.readline() == "here\n"
    second = start_python(UPGRADER, older.root, "99")
    out, err = first.communicate("go\n", timeout=240)
    assert (out, err) == ("opened\n", "")
    out, err = second.communicate("", timeout=240)
    assert (out, err) == ("opened\n", "")
    is_whole(older)
    assert copies(older) == [f"queue.db.format-{FIRST_FORMAT}"]


def test_a_file_that_is_locked_is_told_and_left(
    older: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sow.jobs.database.BUSY_SECONDS", 0.05)
    before = dump(older.queue_db)
    with closing(sqlite3.connect(older.queue_db, isolation_level=None)) as holder:
        holder.execute("begin immediate")
        with pytest.raises(QueueError, match="is locked") as caught:
            open_queue(older)
    assert caught.value.exit_code == ExitCode.QUEUE
    assert (
        f"{older.queue_db} could not be upgraded from format 1 to {FORMAT}" in caught.value.message
    )
    assert "run the command again" in caught.value.hint
    assert (dump(older.queue_db), copies(older)) == (before, [])
    is_whole(older)


OPEN = (
    "import sys; from pathlib import Path; from sow.jobs.database import open_queue; "
    "from sow.paths import Workspace; open_queue(Workspace(Path(sys.argv[1])))"
)


@pytest.mark.slow
@pytest.mark.parametrize("kib", [0, 4, 16, 64])
def test_without_room_for_the_copy_nothing_is_changed(older: Workspace, kib: int) -> None:
    before = dump(older.queue_db)
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({kib * 1024}, -1)); {OPEN}"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(older.root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "QueueError" in done.stderr.splitlines()[-1], done.stderr
    assert (dump(older.queue_db), copies(older)) == (before, [])
    is_whole(older)


def test_a_newer_file_is_refused_by_name_and_left_alone(workspace: Workspace) -> None:
    open_queue(workspace).close()
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        file.execute("insert or replace into control values ('made_by', '0.9')")
        file.execute(f"pragma user_version = {FORMAT + 1}")
    before = workspace.queue_db.read_bytes()
    with pytest.raises(NewerQueue) as caught:
        open_queue(workspace)
    assert caught.value.message == (
        f"the queue file {workspace.queue_db} has format {FORMAT + 1}, made by sow 0.9; "
        f"this sow {__version__} reads up to {FORMAT}"
    )
    assert caught.value.hint.startswith("Use sow 0.9 or newer.")
    assert workspace.queue_db.read_bytes() == before


@pytest.mark.parametrize("reads", [True, False])
def test_a_connection_that_has_worked_notices_a_change_of_the_form(
    database: Database, workspace: Workspace, reads: bool
) -> None:
    """It goes by what it has seen until somebody else commits, whose pages lie in the log alone."""
    kept = insert(database)
    database.row("select * from job")
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        file.execute(f"pragma user_version = {FORMAT + 1}")
        with pytest.raises(NewerQueue):
            database.row("select * from job") if reads else insert(database, "020")
        assert [row[0] for row in file.execute("select id from job")] == [kept.id]
        file.execute(f"pragma user_version = {FORMAT}")
        database.row("select * from job")
        file.execute("delete from control where name = ?", (ROW,))
        with pytest.raises(QueueReplaced):
            database.row("select * from job") if reads else insert(database, "020")
        assert [row[0] for row in file.execute("select id from job")] == [kept.id]


def test_an_open_connection_writes_nothing_into_a_newer_file(
    database: Database, workspace: Workspace
) -> None:
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        file.execute(f"pragma user_version = {FORMAT + 1}")
    with pytest.raises(NewerQueue, match="made by sow"):
        insert(database)
    with pytest.raises(NewerQueue):
        database.run("insert into control values ('x', 'y')")
    with pytest.raises(NewerQueue):
        database.row("select * from job")
    with closing(sqlite3.connect(workspace.queue_db)) as file:
        assert file.execute("select count(*) from job").fetchone()[0] == 0
