"""Which faults pass, whatever they were wrapped in."""

import errno
import sqlite3
from pathlib import Path

import pytest
from own_queue import make_own

from sow.errors import QueueError, SowError, StateError
from sow.faults import OUT_OF_MEMORY, passing_fault, reason_of, what_is_short, words_of_bug
from sow.files import NotWritten, StateLocked
from sow.jobs.database import open_queue
from sow.paths import Workspace

SHORTAGES = {
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.EAGAIN: "processes",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory",
    errno.ENOSPC: "",
    errno.EDQUOT: "",
    errno.EIO: "",
    errno.EINTR: "",
}


def wrapped(error: BaseException) -> SowError:
    """Return an error of ours that was caused by another."""
    try:
        raise QueueError("it cannot be done") from error
    except QueueError as raised:
        return raised


@pytest.mark.parametrize(("number", "what"), SHORTAGES.items())
def test_a_fault_of_the_system_passes(number: int, what: str) -> None:
    fault = OSError(number, "no room")
    assert passing_fault(fault) is fault
    assert passing_fault(wrapped(fault)) is fault
    assert what_is_short(wrapped(fault)) == what


def test_a_shortage_of_memory_passes_and_has_words() -> None:
    for fault in (MemoryError(), wrapped(MemoryError())):
        assert passing_fault(fault) is not None
        assert what_is_short(fault) == "memory"
    assert reason_of(MemoryError()) == words_of_bug(MemoryError()) == OUT_OF_MEMORY


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.EINVAL])
def test_what_is_wrong_for_good_does_not_pass(number: int) -> None:
    assert passing_fault(wrapped(OSError(number, "wrong"))) is None
    assert passing_fault(ValueError("a bug")) is None
    assert passing_fault(StateError("wrong")) is None


def test_our_own_errors_pass_where_they_tell_of_a_lock_or_a_full_disk() -> None:
    assert passing_fault(StateLocked(Path("x"), 1.0)) is not None
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(NotWritten) as raised:
        raise NotWritten(Path("x"), full) from full
    assert passing_fault(raised.value) is full


def test_a_locked_queue_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sow.jobs.database.BUSY_SECONDS", 0.05)
    (tmp_path / ".sow").mkdir()
    database = open_queue(Workspace(tmp_path))
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(QueueError) as raised, database.transaction():
        pass
    other.close()
    database.close()
    assert passing_fault(raised.value) is not None
    assert what_is_short(raised.value) == ""


def test_a_damaged_queue_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / ".sow/run").mkdir(parents=True)
    (tmp_path / ".sow/run/queue.db").write_text("nothing of the kind " * 100)
    make_own(Workspace(tmp_path))
    with pytest.raises(QueueError) as raised:
        open_queue(Workspace(tmp_path))
    assert passing_fault(raised.value) is None
