"""How often a worker sees to what is no job."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from worker import housekeeping
from worker.housekeeping import LOOK_ROUND_SECONDS, Housekeeping


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Give the time of `housekeeping`, which stands still but where a test sets it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(housekeeping, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_batches_are_driven_after_a_start_but_not_after_each_of_many(
    clock: SimpleNamespace,
) -> None:
    driven: list[float] = []
    alone = SimpleNamespace(is_shared=False)
    anything: Any = SimpleNamespace(workspace=None, database=alone)
    keeping = Housekeeping(
        anything, anything, anything, anything, anything, anything, idle_exit_seconds=None
    )
    batches: Any = SimpleNamespace(drive=lambda: driven.append(clock.now))
    keeping._batches = batches
    for _ in range(3):
        keeping.drive_batches_if_due()
    assert driven == [100.0]
    clock.now += LOOK_ROUND_SECONDS
    keeping.drive_batches_if_due()
    keeping.drive_batches()
    assert driven == [100.0, clock.now, clock.now]


def test_old_refs_are_asked_for_before_the_records_that_name_them_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    settings = SimpleNamespace(keep_for_seconds=10.0, keep_bytes=1)
    context: Any = SimpleNamespace(
        workspace=None,
        database=SimpleNamespace(is_shared=True),
        configuration=SimpleNamespace(worker=settings),
        now=lambda: 100.0,
    )

    def sweep(_: Any, *, oldest: float) -> None:
        done.append(f"refs before {oldest:g}")

    def prune(*_: Any, **__: Any) -> Any:
        done.append("records")
        return SimpleNamespace(jobs=())

    monkeypatch.setattr("worker.guests.sweep_travelled", sweep)
    monkeypatch.setattr(housekeeping, "prune", prune)
    background: list[Callable[[], None]] = []
    monkeypatch.setattr(housekeeping, "in_background", background.append)
    monkeypatch.setattr(Housekeeping, "_sweep", lambda *_, **__: done.append("clones"))
    anything: Any = context
    keeping = Housekeeping(
        anything, anything, anything, anything, anything, anything, idle_exit_seconds=None
    )
    keeping._prune()
    assert done == ["clones"], "in the thread in which jobs begin"
    background.pop()()
    assert done[1:] == ["refs before 90", "records"]
    context.database.is_shared = False
    keeping._prune()
    assert done[3:] == ["records", "clones"]
