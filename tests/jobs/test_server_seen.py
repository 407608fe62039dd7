"""How a checkout notices that its queue's server was restored from an older backup."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from queue_cases import insert

from sow.errors import ExitCode
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.jobs.server_faults import ServerRestored
from sow.jobs.server_seen import SEEN_NAME, SURE_SECONDS, SeenChanges
from sow.paths import Workspace

pytestmark = pytest.mark.slow
QUEUE = "abcdefabcdef"


class Clock:
    """The time, which a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("sow.jobs.server_seen.time", clock)
    return clock


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / SEEN_NAME


def looks(clock: Clock, seen: SeenChanges, *newest: int) -> None:
    """Look so often, each time when the last look has become sure."""
    for number in newest:
        clock.now += SURE_SECONDS
        seen.look(number)


def begun(note: Path, newest: int) -> SeenChanges:
    seen = SeenChanges("db/sow", note)
    seen.open(QUEUE, newest)
    return seen


def test_fewer_changes_than_were_seen_twice_are_a_backup(clock: Clock, note: Path) -> None:
    seen = begun(note, 10)
    looks(clock, seen, 20, 30)
    with pytest.raises(ServerRestored):
        seen.look(19)
    with pytest.raises(ServerRestored):
        seen.refuse_restored()


def test_what_a_crash_of_the_server_may_lose_is_no_backup(clock: Clock, note: Path) -> None:
    seen = begun(note, 10)
    looks(clock, seen, 20)
    seen.look(29)
    seen.look(20)
    seen.look(12)
    with pytest.raises(ServerRestored):
        seen.look(9)


def test_the_next_process_knows_it_and_is_told_once(clock: Clock, note: Path) -> None:
    first = begun(note, 10)
    looks(clock, first, 20, 30)
    first.note()
    with pytest.raises(ServerRestored) as caught:
        begun(note, 15)
    assert caught.value.exit_code == ExitCode.QUEUE
    begun(note, 15).look(15)


def test_commands_that_only_look_once_know_it_too(clock: Clock, note: Path) -> None:
    for newest in (10, 20, 30):
        begun(note, newest).note()
        clock.now += SURE_SECONDS
    with pytest.raises(ServerRestored):
        begun(note, 19)


@pytest.mark.parametrize("text", ["", "x", "abcdefabcdef 1 2", "abcdefabcdef a b c", "\0" * 999])
def test_a_damaged_note_says_nothing(clock: Clock, note: Path, text: str) -> None:
    note.write_text(text)
    begun(note, 5).look(5)


def test_another_queue_has_numbers_of_its_own(clock: Clock, note: Path) -> None:
    first = begun(note, 100)
    looks(clock, first, 100, 100)
    first.note()
    other = SeenChanges("db/sow", note)
    other.open("fedcbafedcba", 1)


@pytest.fixture
def database(on_server: Any) -> Any:
    return on_server


def test_a_process_that_lives_through_it_and_the_next_one_are_told(
    workspace: Workspace, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sow.jobs.server_seen.SURE_SECONDS", 0.0)
    for task in ("010", "020", "030"):
        insert(database, task)
        open_queue(workspace).close()
    with closing(open_queue(workspace)) as other:
        insert(other, "040")
        database.connection.execute("update sqlite_sequence set seq = 1 where name = 'change'")
        with pytest.raises(ServerRestored):
            insert(other, "050")
        with pytest.raises(ServerRestored):
            jobs.newest_id(other)
    with pytest.raises(ServerRestored):
        open_queue(workspace)
    open_queue(workspace).close()
