"""A queue on a server: made once, one writer at a time, and what is said when it cannot be used."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import psycopg
import pytest
from queue_cases import MANY, NOW, OTHER_WORKER, WORKER, insert, make_job, start_python
from stores import name_server, opened

from sow.errors import ExitCode, QueueError
from sow.ids import WorkerId
from sow.jobs import changes, jobs, leases
from sow.jobs.database import FORMAT, Database, open_existing_queue, open_queue
from sow.jobs.faults import QueueChanged
from sow.jobs.queue_server import ITS_NETWORK
from sow.jobs.server_faults import meant_by
from sow.paths import Workspace
from sow.schema.job import JobState

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


@pytest.fixture
def on_server(postgres_server: postgres.Server, poisoned_home: Path) -> None:
    name_server(poisoned_home, postgres_server)


@pytest.fixture
def database(
    workspace: Workspace, on_server: None, postgres_server: postgres.Server
) -> Iterator[Any]:
    with opened(workspace, postgres_server.url) as found:
        yield found


@pytest.fixture
def other(workspace: Workspace, database: Database) -> Iterator[Any]:
    """Open the same queue as another process would."""
    with closing(open_queue(workspace)) as found:
        yield found


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def named(workspace: Workspace, name: str) -> Workspace:
    (workspace.sow / ".queue").write_text(name)
    return workspace


def drop(database: Any) -> None:
    database.connection.execute(f'drop schema "{database.schema}" cascade')


def end_connection(database: Any, other: Any) -> None:
    pid = database.connection.info.backend_pid
    other.connection.execute("select pg_terminate_backend(%s, 5000)", (pid,))


def test_the_first_opening_names_the_queue_and_makes_it(
    workspace: Workspace, on_server: None
) -> None:
    assert open_existing_queue(workspace) is None
    assert not workspace.queue_name.exists(), "a reader makes none"
    with closing(open_queue(workspace)) as database:
        try:
            assert database.schema == f"sow_{workspace.queue_name.read_text().strip()}"
            assert database.noted("format") == str(FORMAT)
            assert insert(database).id == 1
            assert not workspace.queue_db.exists()
            found = open_existing_queue(workspace)
            assert found is not None
            assert jobs.newest_id(found) == 1
            found.close()
        finally:
            drop(database)


def test_another_branch_takes_no_queue_away(workspace: Workspace, database: Database) -> None:
    insert(database)
    workspace.queue_name.unlink()
    with closing(open_queue(workspace)) as again:
        assert jobs.newest_id(again) == 1
    workspace.queue_name.write_text("anotherone")
    with closing(open_queue(workspace)) as again:
        assert jobs.newest_id(again) == 1


def test_who_names_no_server_any_more_gets_no_file_in_its_place(
    workspace: Workspace, database: Database, poisoned_home: Path
) -> None:
    """An agent with a home of its own would queue jobs that nobody takes."""
    (poisoned_home / ".config/sow/config.yaml").unlink()
    for opening in (open_queue, open_existing_queue):
        with pytest.raises(QueueError, match="is on a server") as caught:
            opening(workspace)
        assert f"rm {workspace.queue_name_here}" in caught.value.hint
    assert not workspace.queue_db.exists()
    workspace.queue_name_here.unlink()
    open_queue(workspace).close()
    assert workspace.queue_db.exists()


def test_a_name_without_a_queue_is_none(workspace: Workspace, on_server: None) -> None:
    assert open_existing_queue(named(workspace, "nobodys")) is None


@pytest.mark.parametrize("text", ["", "Two Words", "<<<<<<< HEAD\na\n", "x" * 40, 'a"; drop'])
def test_what_is_no_name_is_refused(workspace: Workspace, on_server: None, text: str) -> None:
    with pytest.raises(QueueError, match="is no name of a queue"):
        open_queue(named(workspace, text))


@pytest.mark.slow
@pytest.mark.one_of("processes and a queue's server")
def test_processes_that_open_it_first_at_once_make_it_once(
    workspace: Workspace, on_server: None
) -> None:
    named(workspace, "atonce")
    script = HERE / "opening_process.py"
    openers = [start_python(script, workspace.root, f"{n:03}") for n in range(4)]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    for opener in openers:
        _, errors = opener.communicate(timeout=60)
        assert opener.returncode == 0, errors
    with closing(open_queue(workspace)) as database:
        assert [job.id for job in jobs.active_jobs(database)] == [1, 2, 3, 4]
        drop(database)


WAITING = "select count(*) from pg_locks where locktype = 'advisory' and not granted"


def test_writers_take_turns(database: Database, other: Database) -> None:
    order: list[str] = []

    def write() -> None:
        with other.transaction():
            order.append("second")

    thread = threading.Thread(target=write)
    with database.transaction():
        thread.start()
        wait_until(lambda: database.value(WAITING) == 1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_limit_holds_while_many_claim(workspace: Workspace, database: Database) -> None:
    """Without the lock each claim counts the leases before the others' have been committed."""
    for number in range(12):
        leases.enqueue(database, insert(database, f"{number:03}").id, now=NOW)
    taken: list[bytes] = []

    def claim(worker: str) -> None:
        with closing(open_queue(workspace)) as mine:
            for _ in range(4):
                found = leases.claim(mine, WorkerId(worker), total=5, own=MANY, now=NOW)
                taken.extend([found] if found is not None else [])

    threads = [threading.Thread(target=claim, args=(f"w{n}-aaaaaa",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 5
    assert database.value("select count(*) from lease") == 5


def test_no_change_appears_below_a_number_that_was_read(
    database: Database, other: Database
) -> None:
    """A number counts only once its transaction has ended: a reader passes over none."""
    with database.transaction():
        insert(database)
        assert changes.newest(other).seq == 0
        assert changes.newest(database).seq == 1
    assert changes.newest(other).seq == 1

    def fail() -> None:
        with database.transaction():
            insert(database, "020")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert changes.newest(other).seq == 1
    assert insert(other, "020").id == 2
    assert changes.newest(database).seq == 2


def test_a_refused_job_leaves_the_transaction_around_it_whole(database: Database) -> None:
    insert(database)
    with database.transaction():
        insert(database, "020")
        with pytest.raises(jobs.TaskIsTaken):
            jobs.insert_job(database, make_job())
        insert(database, "030")
    assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020", "030"]


def test_a_commit_that_waits_for_no_disk_is_there_and_sync_waits(
    database: Database, other: Database
) -> None:
    with database.transaction(durable=False):
        assert database.value("show synchronous_commit") == "off"
        insert(database)
    assert jobs.newest_id(other) == 1
    database.sync()
    with database.transaction():
        assert database.value("show synchronous_commit") == "on"


def test_a_sign_tells_of_what_others_have_written(database: Database, other: Database) -> None:
    before = database.sign()
    assert database.sign() == before
    insert(other)
    after = database.sign()
    assert after != before
    insert(database, "020")
    assert database.sign() != after


def test_a_read_goes_on_over_a_new_connection(database: Database, other: Database) -> None:
    insert(database)
    end_connection(database, other)
    assert jobs.newest_id(database) == 1
    end_connection(database, other)
    assert insert(database, "020").id == 2


@pytest.mark.parametrize("speaks_english", [True, False])
def test_a_changed_address_of_the_same_queue_is_read_anew(
    workspace: Workspace,
    poisoned_home: Path,
    database: Any,
    monkeypatch: pytest.MonkeyPatch,
    speaks_english: bool,
) -> None:
    """A worker outlives a password, whatever language the server refuses the old one in."""
    if not speaks_english:
        monkeypatch.setattr("sow.jobs.server_faults.TURNED_AWAY", ())
        monkeypatch.setattr("sow.jobs.queue_server.PATIENCE_SECONDS", 0.3)
    config = poisoned_home / ".config/sow/config.yaml"
    database.connection.execute("create role before superuser login")
    config.write_text(config.read_text().replace("//sow@", "//before@"))
    with closing(open_queue(workspace)) as mine:
        insert(mine)
        database.connection.execute("alter role before rename to after")
        end_connection(mine, database)
        with pytest.raises(QueueError, match="does not exist"):
            jobs.newest_id(mine)
        config.write_text(config.read_text().replace("//before@", "//after@"))
        assert jobs.newest_id(mine) == 1
    database.connection.execute("drop role after")


def test_a_transaction_ends_with_its_connection(database: Database, other: Database) -> None:
    def insert_two() -> None:
        with database.transaction():
            insert(database)
            end_connection(database, other)
            insert(database, "020")

    with pytest.raises(QueueError, match="cannot be used") as caught:
        insert_two()
    assert caught.value.passes
    assert jobs.newest_id(other) == 0
    assert insert(database).id == 1


@pytest.mark.slow
@pytest.mark.one_of("processes and a queue's server")
def test_a_server_that_is_away_for_a_moment_is_waited_for(
    workspace: Workspace, poisoned_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.running(*postgres.UNSAFE) as mine:
        name_server(poisoned_home, mine)
        with closing(open_queue(workspace)) as database:
            insert(database)
            mine.stop()
            start = threading.Timer(1.0, mine.start)
            start.start()
            assert jobs.newest_id(database) == 1
            start.join()
            assert insert(database, "020").id == 2
            mine.stop()
            monkeypatch.setattr("sow.jobs.queue_server.PATIENCE_SECONDS", 0.3)
            with pytest.raises(QueueError, match="cannot be used") as caught:
                insert(database, "030")
            assert caught.value.passes
            monkeypatch.setattr("sow.jobs.queue_server.PATIENCE_SECONDS", 3600.0)
            with pytest.raises(QueueError, match="cannot be used"):
                insert(database, "030")
            mine.start()
            assert insert(database, "030").id == 3


@pytest.mark.slow
@pytest.mark.one_of("processes and a queue's server")
def test_the_server_soon_forgets_a_host_that_is_gone(
    workspace: Workspace, poisoned_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setenv("PGPORT", str(free.getsockname()[1]))
    with postgres.running(*postgres.UNSAFE, "listen_addresses=127.0.0.1") as mine:
        mine.url = "postgresql://sow@127.0.0.1/postgres"
        name_server(poisoned_home, mine)
        with closing(open_queue(workspace)) as database:
            assert [database.value(f"show {name}") for name in ITS_NETWORK] == ["30", "10", "3"]


def test_no_plan_is_compiled(database: Any) -> None:
    """A claim would take 70 ms more, once many rows of leases lie about that are no more."""
    assert database.value("show jit") == "off"


def test_a_writer_that_rests_too_long_loses_its_turn(database: Any, other: Database) -> None:
    def rest() -> None:
        with database.transaction():
            database.connection.execute("set local idle_in_transaction_session_timeout = 50")
            assert insert(other, "020").id == 1
            insert(database)

    with pytest.raises(QueueError):
        rest()
    assert [job.task_id for job in jobs.active_jobs(database)] == ["020"]


def test_a_turn_that_does_not_come_is_told(database: Database, other: Any) -> None:
    other.connection.execute("set lock_timeout = 50")
    with database.transaction():
        with pytest.raises(QueueError, match="lock timeout") as caught:
            insert(other)
        assert caught.value.passes
        assert "Nothing was changed" in caught.value.hint
    assert insert(other).id == 1


def test_a_newer_form_is_refused_also_where_it_comes_meanwhile(
    workspace: Workspace, database: Database, other: Database
) -> None:
    other.connection.execute(f"update control set value = '{FORMAT + 1}' where name = 'format'")
    try:
        with pytest.raises(QueueChanged, match=f"has format {FORMAT + 1}"):
            insert(database)
        with pytest.raises(QueueChanged, match=f"has format {FORMAT + 1}") as caught:
            open_queue(workspace)
        assert caught.value.exit_code == ExitCode.QUEUE
    finally:
        other.connection.execute(f"update control set value = '{FORMAT}' where name = 'format'")


def test_a_queue_that_was_removed_is_told(workspace: Workspace, on_server: None) -> None:
    with closing(open_queue(named(workspace, "removed"))) as database:
        drop(database)
        with pytest.raises(QueueChanged, match="was removed or damaged"):
            jobs.active_jobs(database)
        with pytest.raises(QueueChanged, match="was removed or damaged"):
            insert(database)


def test_a_queue_that_was_there_is_not_made_anew_in_silence(
    workspace: Workspace, on_server: None
) -> None:
    """Another server is named, say, by a call, while a worker goes on with the first."""
    with closing(open_queue(named(workspace, "gone"))) as database:
        drop(database)
    for opening in (open_queue, open_existing_queue):
        with pytest.raises(QueueError, match="sow_gone, is not on") as caught:
            opening(workspace)
        assert f"rm {workspace.queue_name_here}" in caught.value.hint
    workspace.queue_name_here.unlink()
    assert open_existing_queue(workspace) is None
    with closing(open_queue(workspace)) as database:
        assert insert(database).id == 1
        drop(database)


def test_a_role_that_may_not_see_the_queue_is_not_shown_an_empty_one(
    workspace: Workspace, poisoned_home: Path, database: Any
) -> None:
    insert(database)
    database.connection.execute("create role stranger login")
    try:
        config = poisoned_home / ".config/sow/config.yaml"
        config.write_text(config.read_text().replace("//sow@", "//stranger@"))
        with pytest.raises(QueueError, match="role stranger may not use this queue"):
            open_existing_queue(workspace)
    finally:
        database.connection.execute("drop role stranger")


def test_a_database_that_cannot_hold_any_text_is_refused(
    workspace: Workspace, poisoned_home: Path, database: Any
) -> None:
    database.connection.execute(
        "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
    )
    config = poisoned_home / ".config/sow/config.yaml"
    config.write_text(config.read_text().replace("/postgres?", "/latin?"))
    workspace.queue_name_here.unlink()
    with pytest.raises(QueueError, match="keeps text in LATIN1") as caught:
        open_queue(workspace)
    assert "encoding 'UTF8'" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "says", "hint"),
    [
        ("postgresql://me:hush@127.0.0.1:1/sow", "127.0.0.1:1/sow cannot be used", "runs"),
        ("postgresql://nobody:hush@{host}/postgres", "does not exist", "Check role"),
        ("postgresql://sow:hush@{host}/nothing", "does not exist", "Check role"),
    ],
    ids=["no server", "no role", "no database"],
)
def test_a_server_that_cannot_be_used_is_told_without_the_password(
    workspace: Workspace,
    poisoned_home: Path,
    postgres_server: postgres.Server,
    url: str,
    says: str,
    hint: str,
) -> None:
    name_server(poisoned_home, postgres_server)
    host = str(postgres_server.folder).replace("/", "%2F")
    config = poisoned_home / ".config/sow/config.yaml"
    config.write_text(f"queue: {{url: '{url.format(host=host)}'}}\n")
    with pytest.raises(QueueError, match=says) as caught:
        open_queue(workspace)
    assert hint in caught.value.hint
    assert "hush" not in f"{caught.value.message}{caught.value.hint}"
    assert caught.value.exit_code == ExitCode.QUEUE


@pytest.fixture
def elsewhere(workspace: Workspace, tmp_path: Path, database: Database) -> Workspace:
    """A second checkout of the repository, with the same queue."""
    (tmp_path / "other/.sow").mkdir(parents=True)
    other = Workspace(tmp_path / "other")
    other.queue_name.write_text(workspace.queue_name.read_text())
    return other


@pytest.mark.parametrize(
    "words",
    ["sorry, too many clients already", "remaining connection slots are reserved for others"],
)
def test_a_server_that_takes_no_further_connection_is_told(words: str) -> None:
    found = meant_by(psycopg.OperationalError(f"connection failed: FATAL:  {words}"), "h/d")
    assert found is not None
    assert found.passes
    assert "max_connections" in found.hint


def test_another_checkout_is_refused_while_a_job_lives(
    workspace: Workspace, elsewhere: Workspace, database: Database
) -> None:
    """Its locks prove nothing there: it would call every worker dead, and run the jobs again."""
    job = insert(database)
    for opening in (open_queue, open_existing_queue):
        with pytest.raises(QueueError, match="is used from") as caught:
            opening(elsewhere)
        assert str(workspace.root.resolve()) in caught.value.message
        assert "no worker runs there" in caught.value.message
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    with closing(open_queue(elsewhere)) as other:
        assert insert(other).id == 2


def test_who_has_used_it_before_notices(
    workspace: Workspace, elsewhere: Workspace, database: Database
) -> None:
    """An idle worker there would take the jobs of the new checkout, with the files of its own."""
    with closing(open_queue(elsewhere)) as other:
        leases.enqueue(other, insert(other).id, now=NOW)
        with pytest.raises(QueueChanged, match="used from another checkout now"):
            leases.claim(database, WORKER, total=MANY, own=MANY, now=NOW)
        with pytest.raises(QueueError, match="is used from"):
            open_queue(workspace)
        assert leases.claim(other, WORKER, total=MANY, own=MANY, now=NOW) is not None


def test_a_batch_that_goes_on_and_an_unpaid_task_keep_the_queue(
    elsewhere: Workspace, database: Database
) -> None:
    job = insert(database, state=JobState.DONE, owes_task=True)
    with pytest.raises(QueueError, match="is used from"):
        open_queue(elsewhere)
    assert jobs.pay_task(database, job.id)
    open_queue(elsewhere).close()


@pytest.mark.parametrize("zone", ["Nowhere/Land", "posix/Europe/Berlin", "CET-1CEST", ":"])
def test_a_zone_that_the_server_does_not_know_keeps_nobody_out(
    workspace: Workspace, database: Any, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with closing(open_queue(workspace)) as other:
            shown = other.value("select strftime('%Y-%m-%d', ?, 'unixepoch', 'localtime')", (NOW,))
            assert shown == time.strftime("%Y-%m-%d", time.localtime(NOW))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_number_that_is_too_large_is_told(database: Database) -> None:
    with pytest.raises(QueueError, match="too large"):
        jobs.insert_job(database, make_job(priority=2**70))


def test_times_are_read_as_they_were_written(workspace: Workspace, database: Any) -> None:
    """A role or a server may be set to print fewer digits."""
    database.connection.execute("alter role sow set extra_float_digits = -3")
    try:
        with closing(open_queue(workspace)) as other:
            assert insert(other, created_at=NOW).created_at == NOW
    finally:
        database.connection.execute("alter role sow reset extra_float_digits")


def test_what_no_text_may_hold_is_shown(database: Database) -> None:
    assert insert(database, prompt="a\0b").prompt == "a␀b"


def test_two_workers_never_hold_one_lease(database: Database, other: Database) -> None:
    job = insert(database)
    leases.enqueue(database, job.id, now=NOW)
    assert leases.claim(database, WORKER, total=MANY, own=MANY, now=NOW) is not None
    assert leases.claim(other, OTHER_WORKER, total=MANY, own=MANY, now=NOW) is None
