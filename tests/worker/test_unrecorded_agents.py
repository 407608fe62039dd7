"""Which processes carry a task without being on record (§6)."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from watch_cases import WatchSite

from sow.ids import TaskId
from sow.jobs import unrecorded_agents
from sow.jobs.unrecorded_agents import (
    MOMENT_SECONDS,
    StrayLooks,
    TaskIsCarried,
    find_strays,
)

Carry = Callable[..., int]


@pytest.fixture(params=["linux", "portable"], autouse=True)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOW_PROCESSES", request.param)


@pytest.fixture
def carry(site: WatchSite) -> Iterator[Carry]:
    """Start a process that carries a task by an attempt; it is gone after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(attempt: str, *, task: str = "010", root: Path | None = None) -> int:
        variables = {
            "SOW_TASK_ID": task,
            "SOW_ROOT": str(root or site.workspace.root),
            "SOW_ATTEMPT_ID": attempt,
        }
        command = ["/bin/sh", "-c", "echo up; sleep 600 & wait"]
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, process_group=0)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        started.append(process)
        return process.pid

    yield start
    for process in started:
        os.killpg(process.pid, 9)
        process.communicate()


def strays_of(site: WatchSite, task: str = "010") -> list[tuple[str, tuple[int, ...]]]:
    found = find_strays(site.workspace, site.database, TaskId(task), TaskId("990"))
    assert not set(found) - {task}
    return [(stray.attempt_id, stray.pids) for stray in found.get(TaskId(task), ())]


def test_a_process_of_an_attempt_that_is_not_on_record_is_one(
    site: WatchSite, carry: Carry
) -> None:
    """It is named by its topmost process: what is below it goes with it."""
    pid = carry("7.1.abc")
    assert strays_of(site) == [("7.1.abc", (pid,))]
    assert strays_of(site, "020") == []


@pytest.mark.slow
def test_a_look_that_found_none_at_all_serves_a_moment(
    site: WatchSite, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(unrecorded_agents.time, "monotonic", lambda: clock[0])
    looks = StrayLooks()

    def refuse(task: str) -> None:
        looks.refuse(site.workspace, site.database, TaskId(task), placed_ago=MOMENT_SECONDS)

    refuse("010")
    carry("7.1.abc")
    refuse("010")
    clock[0] += MOMENT_SECONDS
    for _ in range(2):
        refuse("020")
        with pytest.raises(TaskIsCarried):
            refuse("010")


@pytest.mark.parametrize(
    ("age", "lived", "is_refused"),
    [
        (-0.1, 10, True),
        (0, 10, False),
        (0.9, 10, False),
        (MOMENT_SECONDS, 10, True),
        (0.5, 0.6, False),
        (0.5, 0.4, True),
    ],
)
def test_the_look_of_the_call_that_has_placed_a_job_serves_a_moment_too(
    site: WatchSite,
    carry: Carry,
    monkeypatch: pytest.MonkeyPatch,
    age: float,
    lived: float,
    *,
    is_refused: bool,
) -> None:
    """Not where the clock was set back since, nor before the worker lived: see a file put back."""
    carry("7.1.abc")
    clock = [100.0]
    monkeypatch.setattr(unrecorded_agents.time, "monotonic", lambda: clock[0])
    looks = StrayLooks()
    clock[0] += lived
    expected = pytest.raises(TaskIsCarried) if is_refused else nullcontext()
    with expected:
        looks.refuse(site.workspace, site.database, TaskId("010"), placed_ago=age)


def test_what_an_attempt_on_record_has_left_is_none(site: WatchSite, carry: Carry) -> None:
    attempt = site.attempt(site.job())
    carry(attempt.attempt_id)
    assert strays_of(site) == []


def test_the_same_task_of_another_checkout_is_another(
    site: WatchSite, carry: Carry, tmp_path: Path
) -> None:
    carry("7.1.abc", root=tmp_path / "elsewhere")
    assert strays_of(site) == []


def test_the_checkout_may_be_named_by_a_link(site: WatchSite, carry: Carry, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(site.workspace.root)
    pid = carry("7.1.abc", root=link)
    assert strays_of(site) == [("7.1.abc", (pid,))]


def test_a_process_without_an_attempt_is_none(site: WatchSite, carry: Carry) -> None:
    carry("")
    assert strays_of(site) == []
