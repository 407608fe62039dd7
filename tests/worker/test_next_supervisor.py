"""The supervisor that waits for its orders, as the worker keeps it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from attempt_cases import SECONDS, AttemptSite, is_running, wait_until

from sow.errors import SowError
from sow.processes import cgroup, process_facts
from sow.processes.life import Life
from sow.processes.procfs import read_stat
from worker import launch
from worker.launch import Standby


@pytest.fixture
def waiting() -> Iterator[Standby]:
    place = Standby(os.environ)
    yield place
    place.dismiss()


def test_it_is_started_once_and_waits(waiting: Standby) -> None:
    first = waiting.prepare()
    assert waiting.prepare() == first
    assert process_facts.life_of(first) is Life.ALIVE
    assert os.getsid(first.pid) == first.pid


def test_it_runs_what_it_is_given_and_another_takes_its_place(
    waiting: Standby, attempt: AttemptSite
) -> None:
    attempt.prepare()
    first = waiting.prepare()
    process = waiting.give(attempt.orders("/bin/sh", "-c", "exit 6"))
    assert process.pid == first.pid
    assert process.wait(SECONDS) == 0
    assert attempt.exit()["code"] == 6
    assert waiting.prepare().pid != first.pid


def test_one_that_has_died_is_replaced(waiting: Standby) -> None:
    first = waiting.prepare()
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(first.pid), "it is dead")
    second = waiting.prepare()
    assert (second.pid != first.pid, process_facts.life_of(second)) == (True, Life.ALIVE)


def test_one_that_dies_before_it_has_its_orders_begins_nothing(
    waiting: Standby, attempt: AttemptSite
) -> None:
    attempt.prepare()
    os.kill(waiting.prepare().pid, signal.SIGKILL)
    process = waiting.give(attempt.orders("/usr/bin/touch", str(attempt.file("ran"))))
    assert process.wait(SECONDS) == -signal.SIGKILL
    assert not attempt.file("ran").exists()


def test_one_that_is_dismissed_leaves(waiting: Standby) -> None:
    first = waiting.prepare()
    waiting.dismiss()
    assert process_facts.identify(first.pid) is None
    assert cgroup.members(cgroup.folder_of(f"{first.pid}-{first.start_ticks}")) == []
    waiting.dismiss()


def test_one_that_was_stopped_is_replaced_and_dismissed(waiting: Standby) -> None:
    """It would neither take its orders nor leave."""
    first = waiting.prepare()
    stop(first.pid)
    second = waiting.prepare()
    assert second.pid != first.pid
    assert not is_running(first.pid)
    stop(second.pid)
    waiting.dismiss()
    assert not is_running(second.pid)


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: (stat := read_stat(pid)) and stat.is_stopped, "it is stopped")


def test_it_sees_nothing_of_the_caller_of_its_worker() -> None:
    place = Standby({"SOW_TASK_ID": "010", "CLAUDECODE": "1", "LANG": "C"})
    pid = place.prepare().pid
    environ = Path(f"/proc/{pid}/environ")
    variables = wait_until(environ.read_bytes, "its exec").split(b"\0")
    place.dismiss()
    assert sorted(variables) == [b"", b"LANG=C", b"SOW_ATTEMPT_ID=supervisor"]


def test_a_python_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.sys, "executable", "/does/not/exist")
    with pytest.raises(SowError, match="cannot start a supervisor with /does/not/exist"):
        Standby({}).prepare()
