"""Whoever is killed while a job's work travels leaves what the next one goes on from, once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from journeys.callers import good
from journeys.gitsite import git
from journeys.site import wait_until
from journeys.staff import start_worker, write_program
from journeys.two_checkouts import Pair, pair_at

pytestmark = [pytest.mark.slow, pytest.mark.one_of("kills on a job's way between hosts")]

WORK = [
    {"write": ["made.txt", "made on the host\n"]},
    {"sow": ["agent", "log", "Made it"]},
    {"sow": ["agent", "log", "Twice"]},
]
KILLS_ITSELF = """
import importlib, os, signal, sys

module, name, when = {point!r}.split(":")
there = importlib.import_module(module)
known = getattr(there, name)


def kill_after(*args, **kwargs):
    if when == "after":
        known(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(there, name, kill_after)
"""


@pytest.fixture
def pair(tmp_path: Path, postgres_server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, postgres_server) as made:
        made.begin("010", script=[good(*WORK)])
        yield made


def came_home_once(pair: Pair) -> None:
    """Fail unless all of it is there, and nothing twice."""
    assert pair.owner.task("010")["status"] == "needs_review"
    branch = pair.branch_of("010")
    assert git(pair.owner, "show", f"{branch}:made.txt") == "made on the host\n"
    assert git(pair.owner, "rev-list", "--count", f"main..{branch}") == "1\n"
    log = pair.log_of("010")
    assert [log.count(f"action: {words}") for words in ("Made it", "Twice")] == [1, 1]
    job = pair.job(1)
    assert (job["state"], job["warnings"]) == ("done", [])


AT_HOST = [
    "worker.guests:take_up:after",
    "worker.launch:_record_attempt:before",
    "worker.launch:_record_attempt:after",
    "worker.guests:gather:after",
    "worker.guests:tell_work:before",
    "worker.guests:state_teller:after",
    "worker.kinds.work.end:tell_of_end:before",
]


@pytest.mark.parametrize("point", AT_HOST)
def test_a_worker_that_is_killed_at_a_step_is_followed_by_the_next(pair: Pair, point: str) -> None:
    text = KILLS_ITSELF.format(point=point) + (
        "\nfrom sow.__main__ import main\nsys.argv = ['sow', 'worker']\nmain()\n"
    )
    first = start_worker(pair.host, program=write_program(pair.host, "killed.py", text))
    pair.owner.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: first.process.poll() is not None, f"it kills itself: {first.log_text}")
    assert first.process.returncode < 0, first.log_text
    start_worker(pair.host)
    assert "010 needs_review" in pair.owner.sow("agent", "wait", "010").out
    came_home_once(pair)
    assert len(pair.runs(pair.host)) == 1
    assert list(pair.refs("refs/sow/attempts").values()) != []


AT_HOME = [
    *(f"sow.travel.arriving:{name}:after" for name in ("_take_work", "_take_fields")),
    *(f"sow.travel.arriving:_take_entry:{when}" for when in ("before", "after")),
    "sow.travel.arriving:take_in:after",
    "sow.travel.arriving:record_clone:after",
    "sow.travel.arriving:have_clone:before",
    "sow.travel.arriving:_conclude:after",
    "sow.calls.job_end:_pay:before",
]


@pytest.mark.parametrize("point", AT_HOME)
def test_a_call_that_is_killed_as_work_comes_home_is_followed_by_another(
    pair: Pair, point: str
) -> None:
    start_worker(pair.host)
    pair.owner.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: pair.job(1)["ended_at"], "it has ended there")
    text = KILLS_ITSELF.format(point=point) + (
        "\nfrom sow.__main__ import main\nsys.argv = ['sow', 'agent', 'wait', '010']\nmain()\n"
    )
    killed = subprocess.run(
        [sys.executable, "-P", str(write_program(pair.owner, "killed.py", text))],
        cwd=pair.owner.root,
        env=pair.owner.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode < 0, killed
    assert "010 needs_review" in pair.owner.sow("agent", "wait", "010").out
    came_home_once(pair)
