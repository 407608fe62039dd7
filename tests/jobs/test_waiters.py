"""Who waits, what is owed, what is lent."""

from pathlib import Path

import pytest
from queue_cases import NOW, insert, leased_job

from sow.ids import JobId
from sow.jobs import control, leases, waiters
from sow.jobs.database import Database
from sow.jobs.doorbell import Bell
from sow.paths import Workspace


def hang(workspace: Workspace, waiter: str) -> Bell:
    return Bell(waiters.bell_path(workspace, waiter))


def begin(database: Database, waiter: str, job: JobId, on_behalf_of: JobId | None = None) -> None:
    waiters.begin(database, waiter, job, on_behalf_of=on_behalf_of, now=NOW)


def test_everyone_who_waits_for_a_job_is_rung_and_nobody_else(
    database: Database, workspace: Workspace
) -> None:
    mine, other = insert(database, "010").id, insert(database, "020").id
    bells = {name: hang(workspace, name) for name in ("c1", "c2", "c3")}
    for name, job in (("c1", mine), ("c2", mine), ("c3", other)):
        begin(database, name, job)
    waiters.ring_job(database, workspace, mine)
    assert {n: bell.wait(0.0) for n, bell in bells.items()} == {"c1": True, "c2": True, "c3": False}
    for bell in bells.values():
        bell.close()


def test_one_bell_serves_several_jobs(database: Database, workspace: Workspace) -> None:
    first, second = insert(database, "010").id, insert(database, "020").id
    begin(database, "c1", first)
    begin(database, "c1", second)
    waiters.end(database, "c1", first)
    assert waiters.of_job(database, first) == []
    assert waiters.of_job(database, second) == ["c1"]


def test_a_caller_that_waits_still_is_owed_nothing(
    database: Database, workspace: Workspace
) -> None:
    job = insert(database).id
    bell = hang(workspace, "c1")
    begin(database, "c1", job)
    assert not waiters.take_owed(database, workspace, job)
    assert waiters.of_job(database, job) == ["c1"]
    bell.close()


@pytest.mark.parametrize("how", ["closed its bell", "was killed"])
def test_a_caller_that_went_away_is_owed_its_outcome_once(
    database: Database, workspace: Workspace, how: str
) -> None:
    """§5: "An outcome is *owed* to a caller that waited and went away"."""
    job = insert(database).id
    bell = hang(workspace, "c1")
    begin(database, "c1", job)
    bell.close()
    if how == "was killed":
        Path(bell.path).touch()
    assert waiters.take_owed(database, workspace, job)
    assert not waiters.take_owed(database, workspace, job)
    assert not bell.path.exists()


def test_who_waited_in_passing_is_owed_nothing_however_it_went(
    database: Database, workspace: Workspace
) -> None:
    job = insert(database).id
    begin(database, "p1", job)
    assert not waiters.is_owed(database, workspace, job)
    assert not waiters.take_owed(database, workspace, job)
    begin(database, "c1", job)
    assert waiters.take_owed(database, workspace, job)
    assert waiters.of_job(database, job) == ["p1"]
    waiters.forget(database, "p1")
    assert waiters.of_job(database, job) == []


def test_each_of_two_callers_that_went_away_is_owed_one(
    database: Database, workspace: Workspace
) -> None:
    job = insert(database).id
    for name in ("c1", "c2"):
        begin(database, name, job)
    taken = [waiters.take_owed(database, workspace, job) for _ in range(3)]
    assert taken == [True, True, False]


def test_what_is_owed_lapses(database: Database, workspace: Workspace) -> None:
    job = insert(database).id
    begin(database, "c1", job)
    waiters.lapse(database, workspace, job)
    assert not waiters.take_owed(database, workspace, job)


def test_a_killed_caller_lends_nothing_for_ever(database: Database, workspace: Workspace) -> None:
    """§5: "that job lends its slot": while its agent waits, not longer."""
    parent = leased_job(database, "010")
    child = insert(database, "020").id
    alive, dead = hang(workspace, "c1"), hang(workspace, "c2")
    begin(database, "c1", child, parent.job_id)
    begin(database, "c2", child, parent.job_id)
    dead.close()
    waiters.reclaim_lent(database, workspace)
    lenders = database.rows("select id from waiter where on_behalf_of = ?", (parent.job_id,))
    assert [row["id"] for row in lenders] == ["c1"]
    assert sorted(waiters.of_job(database, child)) == ["c1", "c2"]
    alive.close()


def test_a_worker_and_the_queue_count_slots_alike(database: Database, workspace: Workspace) -> None:
    parent, other = leased_job(database, "010"), leased_job(database, "030")
    child = insert(database, "020").id
    assert leases.slots_of(database, parent.worker_id) == 2
    alive = hang(workspace, "c1")
    begin(database, "c1", child, parent.job_id)
    assert other.worker_id == parent.worker_id
    assert leases.slots_of(database, parent.worker_id) == 1
    assert sum(control.running_by_executor(database).values()) == 1
    alive.close()


def test_who_stops_lending_is_owed_still(database: Database, workspace: Workspace) -> None:
    child = insert(database, "020").id
    begin(database, "c1", child, JobId(99))
    waiters.stop_lending(database, "c1")
    assert waiters.take_owed(database, workspace, child)


ESCROW = "m1-0123abcd"


def test_what_is_put_into_an_escrow_is_owed_when_its_server_has_gone(
    database: Database, workspace: Workspace
) -> None:
    job = insert(database).id
    bell = hang(workspace, ESCROW)
    for _ in range(2):  # by who waited for it, and by who was owed it
        waiters.put_into(database, ESCROW, job, now=NOW)
    assert waiters.in_escrow(database, ESCROW) == [job]
    assert not waiters.is_owed(database, workspace, job)
    bell.close()
    assert waiters.take_owed(database, workspace, job)
    assert not waiters.take_owed(database, workspace, job)


@pytest.mark.parametrize("owed", [True, False])
def test_what_was_owed_and_shown_to_a_server_lies_in_its_escrow(
    database: Database, workspace: Workspace, *, owed: bool
) -> None:
    job = insert(database).id
    if owed:
        begin(database, "c1", job)
    bell = hang(workspace, ESCROW)
    waiters.strike_gone(database, workspace, job, escrow=ESCROW, now=NOW)
    assert waiters.of_job(database, job) == [ESCROW] * owed
    bell.close()


def test_what_was_told_is_owed_again_unless_a_later_job_has_made_it_old(
    database: Database, workspace: Workspace
) -> None:
    job = insert(database, "010").id
    insert(database, "020")
    waiters.owe_again(database, ESCROW, job, now=NOW)
    assert waiters.take_owed(database, workspace, job)
    database.run("update job set state = 'done'")
    insert(database, "010")
    waiters.owe_again(database, ESCROW, job, now=NOW)
    assert waiters.of_job(database, job) == []


@pytest.mark.parametrize("value", ["", "c1-0123abcd", "m1-0123abcd/../x", "m1-0123abcd\n", "m-1"])
def test_what_is_no_id_of_an_escrow_is_none(value: str) -> None:
    assert waiters.escrow_in({"SOW_ESCROW": value}) is None
    assert waiters.escrow_in({"SOW_ESCROW": ESCROW}) == ESCROW
