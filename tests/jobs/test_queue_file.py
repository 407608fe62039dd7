"""The queue's file: made once, never by halves, left untouched when it is not ours to use.

§10: "a full disk; a read-only folder; a queue file that is not one, or of
another version": exit 6, nothing written.
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from in_process import Ended, run_in_process
from own_queue import make_own
from queue_cases import NOW, insert, make_job, start_python

from sow.errors import ExitCode, QueueError
from sow.ids import JobId, ProjectId, TaskId, WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import (
    FORMAT,
    ConstraintFailed,
    Database,
    open_existing_queue,
    open_queue,
)
from sow.jobs.faults import QueueReplaced
from sow.jobs.queue_owner import names_here
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task

pytestmark = pytest.mark.queue_file

OPENER = Path(__file__).with_name("opening_process.py")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sow(workspace: Workspace, *words: str, without_powers: bool = False) -> Ended:
    """Run a command in the workspace, with a `claude` on PATH that does nothing.

    `without_powers`: root, too, may write only what its permissions allow.
    """
    claude = workspace.root / "bin/claude"
    claude.parent.mkdir(exist_ok=True)
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    environ = {**os.environ, "PATH": f"{claude.parent}:{os.environ['PATH']}"}
    if not (without_powers and os.geteuid() == 0):
        return run_in_process(*words, env=environ, cwd=workspace.root)
    if shutil.which("setpriv") is None:
        skip_or_fail("running as root, without setpriv to lay its powers down")
    powers = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--")
    done = subprocess.run(
        [*powers, sys.executable, "-P", "-m", "sow", *words],
        cwd=workspace.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def add_task_010(workspace: Workspace) -> None:
    project_id = ProjectId(str(uuid.uuid4()))
    new_project(workspace, name="project", project_id=project_id, now=NOW)
    add_task(workspace, name="Task", agent="implementer", now=NOW, task_id=TaskId("010"))


def test_the_file_is_for_its_owner_alone(workspace: Workspace) -> None:
    """§4: "run/ … 0700, never committed"."""
    before = os.umask(0)
    try:
        open_queue(workspace).close()
    finally:
        os.umask(before)
    modes = {p: p.stat().st_mode & 0o777 for p in (workspace.run, workspace.queue_db)}
    assert modes == {workspace.run: 0o700, workspace.queue_db: 0o600}


def test_making_leaves_no_draft_behind(workspace: Workspace) -> None:
    open_queue(workspace).close()
    names = {path.name for path in workspace.run.iterdir()}
    assert names == {"queue.db", "waiters", "workers", *names_here(workspace)}


def test_looking_makes_no_file(workspace: Workspace) -> None:
    assert open_existing_queue(workspace) is None
    assert not workspace.run.exists()


def test_a_number_that_fits_into_no_record_is_no_bug(database: Database) -> None:
    with pytest.raises(QueueError, match="too large to be stored"):
        jobs.get_job(database, JobId(99999999999999999999))


def test_commits_are_durable(database: Database) -> None:
    """facts/huey: "Keep FULL; never `fsync=False`"."""
    assert database.connection.execute("pragma journal_mode").fetchone()[0] == "wal"
    assert database.connection.execute("pragma synchronous").fetchone()[0] == 2


def test_only_what_may_be_undone_by_a_loss_of_power_is_not_waited_for(database: Database) -> None:
    def waits() -> bool:
        return bool(database.connection.execute("pragma synchronous").fetchone()[0] == 2)

    with database.transaction(durable=False):
        assert not waits()
        with database.transaction():
            assert not waits()
    with database.transaction():
        assert waits()
        with database.transaction(durable=False):
            assert waits()


def test_what_was_not_waited_for_can_be_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was committed is in the log, in its order."""
    synced: list[Path] = []
    monkeypatch.setattr(
        "sow.jobs.database.SYNC",
        lambda descriptor: synced.append(Path(f"/dev/fd/{descriptor}").resolve()),
    )
    with database.transaction(durable=False):
        database.note("a name", "a value")
    assert synced == []
    database.sync()
    assert synced == [database.path.with_name("queue.db-wal").resolve()]


def test_a_log_that_is_gone_is_no_log_that_is_on_disk(database: Database) -> None:
    database.note("a name", "a value")
    database.path.with_name("queue.db-wal").unlink()
    with pytest.raises(QueueReplaced):
        database.sync()


def test_a_claim_is_not_waited_for_and_what_follows_is(database: Database) -> None:
    """The attempt's record, which the next commit writes, makes both durable."""
    run: list[str] = []
    database.connection.set_trace_callback(run.append)
    leases.claim(database, WorkerId("w"), total=1, own=1, now=0)
    with database.transaction():
        pass
    modes = [sql for sql in run if sql.startswith("pragma sync")]
    assert modes == ["pragma synchronous = normal", "pragma synchronous = full"]


def test_the_tables_of_huey_are_huey_s_own(database: Database) -> None:
    """§8: huey's tables and indexes as huey makes them, but for a column of ours at one's end."""
    from huey.storage import SqliteStorage

    made = sqlite3.connect(":memory:")
    for statement in SqliteStorage.ddl:
        made.execute(statement)
    wanted = {row[0] for row in made.execute("select sql from sqlite_master where sql is not null")}
    ours = ", job_id integer)"
    rows = database.rows("select sql from sqlite_master where sql is not null")
    held = {str(row["sql"]).removesuffix(ours) for row in rows}
    made.close()
    assert {sql.removesuffix(")") for sql in wanted} <= {sql.removesuffix(")") for sql in held}


@pytest.mark.slow
def test_several_processes_that_make_the_queue_at_once_share_one(workspace: Workspace) -> None:
    openers = [start_python(OPENER, workspace.root, f"{n:03}") for n in range(4)]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    answers = [opener.communicate("go\n", timeout=240) for opener in openers]
    assert [error for _, error in answers] == [""] * 4
    database = open_queue(workspace)
    tasks = {job.task_id for job in jobs.active_jobs(database)}
    database.close()
    assert tasks == {"000", "001", "002", "003"}
    assert sorted(int(out) for out, _ in answers) == [1, 2, 3, 4]


def test_numbers_of_jobs_whose_output_lies_about_are_not_given_again(workspace: Workspace) -> None:
    for name in ("3", "17", "notes"):
        (workspace.run / "jobs" / name).mkdir(parents=True)
    database = open_queue(workspace)
    assert insert(database).id == 18
    database.close()


def test_numbers_are_not_given_again_after_a_deletion(database: Database) -> None:
    first = insert(database, "010")
    database.run("delete from job where id = ?", (first.id,))
    assert insert(database, "010").id == first.id + 1


# files that are no queue


def write_garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever its name says" * 100)


def write_empty(path: Path) -> None:
    path.write_bytes(b"")


def write_later_format(path: Path) -> None:
    made = sqlite3.connect(path)
    made.execute("create table something (else_ integer)")
    made.execute(f"pragma user_version = {FORMAT + 1}")
    made.commit()
    made.close()


def write_damaged(path: Path) -> None:
    """Write a queue whose pages, all but the first, are noise."""
    root = path.parent / "whole"
    (root / ".sow").mkdir(parents=True)
    whole = Workspace(root)
    open_queue(whole).close()
    data = whole.queue_db.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    shutil.rmtree(root)


BAD_FILES = [write_garbage, write_empty, write_later_format, write_damaged]


@pytest.fixture(params=BAD_FILES, ids=[write.__name__[6:] for write in BAD_FILES])
def bad_file(request: pytest.FixtureRequest, workspace: Workspace) -> Path:
    write: Callable[[Path], None] = request.param
    for folder in (workspace.run, workspace.workers, workspace.waiters):
        folder.mkdir()
    write(workspace.queue_db)
    make_own(workspace)
    return workspace.queue_db


def test_what_is_no_queue_of_ours_is_refused_and_left_untouched(
    workspace: Workspace, bad_file: Path
) -> None:
    """§5: "6 | queue: unavailable, not a database (left untouched)"."""
    before = digest(bad_file)
    with pytest.raises(QueueError) as caught:
        jobs.insert_job(open_queue(workspace), make_job())
    assert caught.value.exit_code == ExitCode.QUEUE
    assert str(bad_file) in caught.value.message
    assert caught.value.hint
    assert digest(bad_file) == before


def test_waiting_on_it_is_exit_6(workspace: Workspace, bad_file: Path) -> None:
    add_task_010(workspace)
    before = digest(bad_file)
    done = sow(workspace, "agent", "wait", "010")
    assert (done.code, done.out) == (6, "")
    assert done.err.startswith(f"Error: the queue file {bad_file} ")
    assert digest(bad_file) == before


@pytest.mark.parametrize(
    "words", [("worker", "--drain"), ("worker", "list"), ("agent", "spawn", "implementer", "010")]
)
@pytest.mark.parametrize("bad_file", [write_garbage], indirect=True, ids=["garbage"])
def test_every_command_that_needs_the_queue_says_so(
    workspace: Workspace, bad_file: Path, words: tuple[str, ...]
) -> None:
    add_task_010(workspace)
    before = digest(bad_file)
    done = sow(workspace, *words)
    assert (done.code, done.out) == (6, "")
    assert "is not a SQLite database; sow did not change it" in done.err
    assert digest(bad_file) == before


def test_a_queue_that_another_process_keeps_locked_is_unavailable(
    database: Database, workspace: Workspace
) -> None:
    """§10: two writers at once; who waits too long is told, and nothing is half written."""
    database.connection.execute("pragma busy_timeout = 50")
    holder = open_queue(workspace)
    with holder.transaction():
        insert(holder, "010")
        with pytest.raises(QueueError, match="locked"):
            insert(database, "020")
        with pytest.raises(QueueError, match="locked"), database.transaction():
            pytest.fail("two writers at once")
    insert(database, "020")
    holder.close()
    assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020"]


def test_a_full_disk_is_told_and_leaves_nothing_by_halves(database: Database) -> None:
    """SQLite is given no further page, which is how it meets a full disk."""
    pages = database.connection.execute("pragma page_count").fetchone()[0]
    database.connection.execute(f"pragma max_page_count = {pages}")

    @database.transaction()
    def write_too_much() -> None:
        leases.enqueue(database, insert(database, "010").id, now=NOW)
        insert(database, "020", prompt="x" * 1_000_000)

    with pytest.raises(QueueError, match="full"):
        write_too_much()
    assert not jobs.has_active_jobs(database)
    database.connection.execute(f"pragma max_page_count = {pages + 1000}")
    assert insert(database).id == JobId(1)


def test_a_commit_that_fails_is_rolled_back(database: Database) -> None:
    """A deferred constraint is what makes SQLite refuse at the commit itself."""
    database.connection.execute("pragma foreign_keys = on")
    database.run("create table parent (id integer primary key)")
    database.run(
        "create table child (id integer references parent (id) deferrable initially deferred)"
    )
    with pytest.raises(ConstraintFailed), database.transaction():
        database.run("insert into child values (7)")
    insert(database)
    assert database.rows("select * from child") == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["file", "folder", "no file yet"])
def test_a_read_only_queue_is_told_with_exit_6(workspace: Workspace, what: str) -> None:
    add_task_010(workspace)
    if what == "no file yet":
        workspace.run.mkdir(mode=0o700)
    else:
        open_queue(workspace).close()
    target = workspace.queue_db if what == "file" else workspace.run
    target.chmod(0o400 if what == "file" else 0o500)
    done = sow(workspace, "agent", "spawn", "implementer", "010", without_powers=True)
    target.chmod(0o700)
    assert done.code == 6, done.err
    assert "queue file" in done.err
    database = open_existing_queue(workspace)
    if database is not None:
        assert not jobs.has_active_jobs(database)
        database.close()


@pytest.mark.slow
def test_a_task_is_shown_without_its_costs_where_the_records_are_somebody_elses(
    workspace: Workspace,
) -> None:
    add_task_010(workspace)
    open_queue(workspace).close()
    workspace.run.chmod(0o000)
    shown = sow(workspace, "task", "show", "010", without_powers=True)
    as_json = sow(workspace, "task", "show", "010", "--json", without_powers=True)
    workspace.run.chmod(0o700)
    assert (shown.code, shown.err) == (0, "")
    assert "implementer" in shown.out
    assert as_json.code == 0
