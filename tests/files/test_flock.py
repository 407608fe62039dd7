"""How a lock is waited for that another process holds."""

import os
import time
from pathlib import Path

import pytest

from sow.files import flock
from sow.files.flock import lock_within, open_lock_file, try_lock


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made; none of them takes any time but on this clock."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(made))
    return made


def test_a_lock_is_had_soon_after_it_was_free_however_long_it_was_held(
    tmp_path: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptor = open_lock_file(tmp_path / "lock")
    for held in (0.001, 0.004, 0.1, 3.0):
        pauses.clear()
        monkeypatch.setattr(flock, "try_lock", lambda *_, held=held, **__: sum(pauses) >= held)

        assert lock_within(descriptor, 20.0, every=0.05)

        late = sum(pauses) - held
        assert late <= max(0.0002, held * 0.26), held
        assert max(pauses) <= 0.05
        assert len(pauses) < 100
    os.close(descriptor)


def test_a_lock_that_is_never_free_is_given_up_in_time(tmp_path: Path, pauses: list[float]) -> None:
    holder, other = (open_lock_file(tmp_path / "lock") for _ in range(2))
    assert try_lock(holder)

    assert not lock_within(other, 1.0, every=0.005)

    assert 1.0 <= sum(pauses) < 1.01
    for descriptor in (holder, other):
        os.close(descriptor)
