"""What proves a worker dead, and what proves nothing."""

import os
from pathlib import Path

import msgspec
import pytest

from sow.errors import QueueError
from sow.ids import WorkerId
from sow.jobs import doorbell, workers
from sow.jobs.doorbell import Bell
from sow.jobs.store import Database
from sow.paths import Workspace
from sow.processes import process_facts
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity, WorkerRecord

NAME = WorkerId("w9-abcdef")


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.workers.mkdir(parents=True)
    return workspace


def me() -> ProcessIdentity:
    identity = process_facts.identify(os.getpid())
    assert identity is not None
    return identity


def record(process: str) -> WorkerRecord | None:
    """Return the record of a worker whose process is alive, dead, of another place, or unknown."""
    if process == "unknown":
        return None
    changes = {
        "alive": {},
        "dead": {"start_ticks": "1"},
        "of another namespace": {"pid_namespace": "1"},
        "of another machine": {"boot_id": "another", "machine": "f" * 32},
    }[process]
    return WorkerRecord(
        id=NAME,
        process=msgspec.structs.replace(me(), **changes),
        concurrency=1,
        version="0",
        background=True,
        started_at=0.0,
    )


PROCESSES = ("alive", "dead", "of another namespace", "of another machine", "unknown")
ELSEWHERE = ("of another namespace", "of another machine")


@pytest.mark.parametrize("process", PROCESSES)
def test_a_held_lock_proves_life(place: Workspace, process: str) -> None:
    bell = Bell(place.worker_lock(NAME))
    assert workers.life_of(Database(place.run), place, NAME, record(process)) is Life.ALIVE
    bell.close()


@pytest.mark.parametrize("process", PROCESSES)
def test_a_free_lock_on_a_disk_of_ours_proves_death(place: Workspace, process: str) -> None:
    place.worker_lock(NAME).touch()
    assert workers.life_of(Database(place.run), place, NAME, record(process)) is Life.DEAD


@pytest.mark.parametrize("process", PROCESSES)
def test_a_free_lock_on_a_shared_disk_proves_nothing(
    place: Workspace, process: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "is_on_shared_disk", lambda _: True)
    place.worker_lock(NAME).touch()
    expected = Life.DEAD if process == "dead" else Life.UNVERIFIABLE
    assert workers.life_of(Database(place.run), place, NAME, record(process)) is expected


@pytest.mark.parametrize("process", PROCESSES)
def test_behind_a_missing_file_only_what_was_seen_elsewhere_is_unknown(
    place: Workspace, process: str
) -> None:
    """One of this place leaves when it looks; one without a record has struck itself off."""
    expected = Life.UNVERIFIABLE if process in ELSEWHERE else Life.DEAD
    assert workers.life_of(Database(place.run), place, NAME, record(process)) is expected


@pytest.mark.parametrize("process", PROCESSES)
def test_behind_a_file_that_may_not_be_opened_only_a_dead_process_is_dead(
    place: Workspace, process: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise QueueError(f"{path} cannot be opened")

    monkeypatch.setattr(doorbell, "is_held", refuse)
    place.worker_lock(NAME).touch()
    expected = Life.DEAD if process == "dead" else Life.UNVERIFIABLE
    assert workers.life_of(Database(place.run), place, NAME, record(process)) is expected
