"""What a store promises, kept by a file and by a server alike."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from queue_cases import insert, make_job

from sow.errors import QueueError
from sow.jobs import batches, jobs
from sow.jobs.database import ConstraintFailed, Database, open_existing_queue, open_queue
from sow.paths import Workspace
from sow.schema.batch import Batch, Selection
from sow.schema.batch_policy import BatchPolicy


@pytest.fixture
def other(workspace: Workspace, database: Database) -> Iterator[Database]:
    """Open the same queue as another process would."""
    with closing(open_queue(workspace)) as found:
        yield found


def noted(database: Database) -> list[str]:
    rows = database.rows("select value from control where name like 'x%' order by name")
    return [row["value"] for row in rows]


def note_two_and_fail(database: Database) -> None:
    with database.transaction():
        database.note("x1", 1)
        with database.transaction():
            database.note("x2", 2)
        raise ZeroDivisionError


def test_a_row_is_read_by_name_by_place_and_whole(database: Database) -> None:
    row = database.row("select 1 as number, 'a' as word, null as blank, 1.5 as part")
    assert row is not None
    assert (row["number"], row["word"], row["blank"], row["part"]) == (1, "a", None, 1.5)
    assert (row[0], row[-1]) == (1, 1.5)
    assert tuple(row) == (1, "a", None, 1.5)
    assert list(row.keys()) == ["number", "word", "blank", "part"]
    assert len(row) == 4
    with pytest.raises((KeyError, IndexError)):
        row["other"]


def test_values_are_given_by_place_by_number_and_by_name(database: Database) -> None:
    assert database.value("select cast(? as bigint) + cast(? as bigint)", (1, 2)) == 3
    numbered = "select cast(?1 as bigint) + cast(?2 as bigint) * cast(?1 as bigint)"
    assert database.value(numbered, (2, 3)) == 8
    named = "select cast(:b as bigint) - cast(:a as bigint)"
    assert database.value(named, {"a": 1, "b": 5, "more": 0}) == 4


def test_no_row_is_none(database: Database) -> None:
    nothing = "select 1 as number from control where name = 'nobody'"
    assert database.row(nothing) is None
    assert database.value(nothing) is None
    assert database.rows(nothing) == []


@pytest.mark.parametrize(
    "value", [0, 2**62, -1, 1.5, 1_700_000_000.123456, "", "ä ␀ '?:%", b"\0\xff"], ids=repr
)
def test_what_is_stored_comes_back(database: Database, value: object) -> None:
    column = {int: "id", float: "set_aside_at", str: "reason", bytes: "data"}[type(value)]
    fields: dict[str, object] = {"id": 1, "data": b"", "reason": "", "set_aside_at": 0.0}
    fields[column] = value
    names, marks = ", ".join(fields), ", ".join("?" * len(fields))
    database.run(f"insert into aside ({names}) values ({marks})", tuple(fields.values()))
    assert database.value(f"select {column} from aside") == value


def test_a_statement_tells_how_many_rows_it_has_changed(database: Database) -> None:
    database.note("x1", "a")
    database.note("x2", "b")
    changed = "update control set value = 'c' where name like 'x%'"
    assert database.run(changed) == 2
    assert database.run("delete from control where name = 'x3'") == 0
    assert noted(database) == ["c", "c"]


def test_a_new_row_tells_its_number(database: Database) -> None:
    sql = "insert into task (queue, data, priority) values ('sow', ?, 0)"
    first = database.insert(sql, (b"a",))
    assert database.insert(sql, (b"b",)) > first
    assert database.value("select data from task where id = ?", (first,)) == b"a"


def test_a_note_is_written_over(database: Database) -> None:
    database.note("x1", 1)
    database.note("x1", 2)
    assert database.noted("x1") == "2"
    assert database.noted("x2") is None
    assert database.noted_for_good("x1") == "2"
    database.note("x1", 3)
    assert database.noted_for_good("x1") == "2"


def test_a_transaction_is_kept_whole_or_not_at_all(database: Database, other: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        note_two_and_fail(database)
    assert noted(database) == noted(other) == []
    with database.transaction(), database.transaction():
        database.note("x1", 1)
        assert noted(database) == ["1"]
        assert noted(other) == []
    assert noted(other) == ["1"]


def test_what_a_transaction_reads_stays_so_until_it_ends(
    database: Database, other: Database
) -> None:
    """Two that add to what they have read lose nothing."""
    database.note("x1", 0)

    def add(through: Database) -> None:
        for _ in range(20):
            with through.transaction():
                through.note("x1", int(through.noted("x1") or 0) + 1)

    threads = [threading.Thread(target=add, args=(each,)) for each in (database, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.noted("x1") == "40"


def test_threads_of_a_process_share_a_queue(database: Database) -> None:
    def add(task: str) -> None:
        insert(database, task)

    threads = [threading.Thread(target=add, args=(f"{n:03}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(job.id for job in jobs.active_jobs(database)) == list(range(1, 9))


def test_what_is_not_durable_is_there_at_once(database: Database, other: Database) -> None:
    with database.transaction(durable=False):
        database.note("x1", 1)
    assert noted(other) == ["1"]
    database.sync()
    assert noted(other) == ["1"]


def test_who_is_in_a_hurry_waits_no_longer_than_it_says(
    database: Database, other: Database
) -> None:
    with database.transaction():
        with pytest.raises(QueueError), other.hurried(0.05):
            other.note("x1", 1)
        with pytest.raises(QueueError), other.hurried(0.0):
            other.note("x1", 1)
    with other.hurried(1.0):
        other.note("x1", 2)
    assert noted(database) == ["2"]


def test_a_forbidden_change_is_told_and_the_rest_goes_on(database: Database) -> None:
    insert(database)
    with pytest.raises(ConstraintFailed):
        database.run("insert into fence values (1, 7)")
    with pytest.raises(ConstraintFailed):
        database.run("insert into fence values (2, 7)")
    with database.transaction():
        insert(database, "020")
        with pytest.raises(jobs.TaskIsTaken):
            jobs.insert_job(database, make_job("010"))
        insert(database, "030")
    assert [job.task_id for job in jobs.active_jobs(database)] == ["010", "020", "030"]


def test_two_calls_make_one_batch(database: Database, other: Database) -> None:
    batch = Batch(
        id=batches.BatchId(0),
        project_id=make_job().project_id,
        name="",
        selection=Selection(),
        policy=BatchPolicy(),
        path_variable="",
        made_at=0.0,
    )
    assert batches.insert_batch(database, batch).id == 1
    with other.transaction():
        with pytest.raises(batches.SameBatchGoesOn):
            batches.insert_batch(other, batch)
        insert(other)
    assert jobs.newest_id(database) == 1


def test_a_sign_changes_with_what_anybody_writes_and_with_nothing_else(
    database: Database, other: Database
) -> None:
    before = database.sign()
    noted(database)
    assert database.sign() == before
    other.note("x1", 1)
    after = database.sign()
    assert after != before
    database.note("x1", 2)
    assert database.sign() != after


def test_reading_may_be_nested_and_sees_what_is_committed_meanwhile(
    database: Database, other: Database
) -> None:
    with database.reading(), database.reading():
        assert noted(database) == []
        other.note("x1", 1)
        assert noted(database) == ["1"]
    with database.transaction(), database.reading():
        assert noted(database) == ["1"]


def test_a_number_that_is_too_large_is_told(database: Database) -> None:
    with pytest.raises(QueueError, match="too large"):
        database.run("insert into aside values (?, ?, ?, ?)", (2**70, b"", "", 0.0))


def test_a_sound_queue_has_no_damage(database: Database) -> None:
    assert database.damage() == ""


def test_the_same_queue_is_opened_again(workspace: Workspace, database: Database) -> None:
    job = insert(database)
    found = open_existing_queue(workspace)
    assert found is not None
    with closing(found):
        assert jobs.get_job(found, job.id) == job
