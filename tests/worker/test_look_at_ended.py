"""One look for processes serves all attempts whose end was on record before it."""

import os
import subprocess
import time
import uuid
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sow import env_vars
from sow.processes import process_facts
from worker import attempt_processes
from worker.attempt_processes import LookAtEnded
from worker.running import Running


def attempt(attempt_id: str, *, ended: bool = True, ordered_at: float | None = 0.0) -> Any:
    """Return what stands for an attempt under watch."""
    over_since = 1.0 if ended else None
    paths = SimpleNamespace(exit=SimpleNamespace(exists=lambda: False))
    return SimpleNamespace(
        attempt=SimpleNamespace(id=attempt_id),
        over_since=over_since,
        paths=paths,
        ordered_at=ordered_at,
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Have no process carry any id but `stays`; give the ids of each look at all processes."""
    made: list[set[str]] = []

    def carriers(_name: str, *values: str, since: float | None = None) -> list[int]:
        made.append(set(values))
        return [1] if "stays" in values else []

    def is_carried(running: Running) -> bool:
        return bool(carriers("", running.attempt.id))

    monkeypatch.setattr(process_facts, "carriers", carriers)
    monkeypatch.setattr(attempt_processes, "is_carried", is_carried)
    return made


def test_one_look_serves_all_that_have_ended(looks: list[set[str]]) -> None:
    first, second, runs = attempt("first"), attempt("second"), attempt("runs", ended=False)
    look = LookAtEnded([first, second, runs])
    assert not look.is_carried(first)
    assert not look.is_carried(second)
    assert looks == [{"first", "second"}]


def test_what_ends_after_a_look_is_looked_for_anew(looks: list[set[str]]) -> None:
    first, later = attempt("first"), attempt("later", ended=False)
    look = LookAtEnded([first, later])
    assert not look.is_carried(first)
    later.over_since = 2.0
    assert not look.is_carried(later)
    assert looks == [{"first"}, {"later"}]


def test_where_a_process_is_left_each_is_asked_about_alone(looks: list[set[str]]) -> None:
    first, stays = cast(Running, attempt("first")), attempt("stays")
    look = LookAtEnded([first, stays])
    assert not look.is_carried(first)
    assert look.is_carried(stays)
    assert {"first"} in looks
    assert {"stays"} in looks


@pytest.mark.parametrize(("moments", "since"), [((7.0, 5.0), 5.0), ((7.0, None), None)])
def test_no_process_is_left_out_that_may_be_younger_than_any_of_them(
    monkeypatch: pytest.MonkeyPatch, moments: Sequence[float | None], since: float | None
) -> None:
    asked: list[float | None] = []

    def carriers(_name: str, *_values: str, since: float | None = None) -> list[int]:
        asked.append(since)
        return []

    monkeypatch.setattr(process_facts, "carriers", carriers)
    monkeypatch.setattr(attempt_processes, "is_carried", lambda _: False)
    attempts = [attempt(f"{number}", ordered_at=each) for number, each in enumerate(moments)]
    LookAtEnded(attempts).is_carried(attempts[0])
    assert asked == [since]


def test_an_agent_is_seen_at_work_though_others_have_looked_since_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A record of its end proves nothing: it may have made that file itself."""
    monkeypatch.setattr(attempt_processes, "is_carried", lambda _: True)
    process_facts.carriers(env_vars.ATTEMPT_ID, "another", since=time.monotonic())
    works = attempt(f"test-{uuid.uuid4().hex}", ordered_at=time.monotonic())
    environ = {"PATH": os.environ["PATH"], env_vars.ATTEMPT_ID: works.attempt.id}
    with subprocess.Popen(["sleep", "60"], env=environ) as agent:
        try:
            for _ in range(2):
                assert LookAtEnded([works]).is_carried(works)
        finally:
            agent.kill()
    assert not LookAtEnded([works]).is_carried(works)
