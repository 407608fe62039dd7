"""What the real Claude Code tells of tokens and money, and what sow makes of it."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from journey import Journey
from sandbox import Json, end_of, wait_until
from scripted_model import HANG, REPORT

pytestmark = pytest.mark.real

REQUEST = {"input": 11, "output": 7, "cache_read": 0, "cache_write": 0}
"""What each answer of the model server says that it has used."""
REQUESTS = len(REPORT) + 1
"""How many answers a run takes that reports."""


def used(journey: Journey, job: int) -> Json:
    """Return what a job has used."""
    done = journey.sandbox.sow("job", "show", str(job), "--json")
    found: Json = json.loads(done.stdout)["used"]
    return found


def times(count: int) -> Json:
    return {kind: count * tokens for kind, tokens in REQUEST.items()}


def find_claude(journey: Journey, claude_folder: Path) -> int | None:
    binary = (claude_folder / "claude").resolve()
    for pid in journey.sandbox.namespace.inhabitants():
        with suppress(OSError):
            if Path(f"/proc/{pid}/exe").readlink() == binary:
                return pid
    return None


@pytest.mark.one_of("real costs")
def test_a_spawn_and_its_resume_are_counted_once(journey: Journey) -> None:
    """Its totals of the resume hold those of the spawn."""
    assert journey.spawn().returncode == 0
    assert journey.resume("Go on.").returncode == 0
    first, second = used(journey, 1), used(journey, 2)
    assert first["tokens"] == second["tokens"] == times(REQUESTS)
    assert first["cost_usd"] == pytest.approx(second["cost_usd"])
    assert first["cost_usd"] > 0
    for job in (first, second):
        assert (job["runs_without_cost"], job["runs_cut_off"], job["estimated_usd"]) == (0, 0, 0)


@pytest.mark.one_of("real costs")
def test_a_killed_run_is_counted_by_its_messages_and_its_resume_alone(
    journey: Journey, claude_folder: Path
) -> None:
    journey.configure(settings={"allowed_tools": ["Bash"]})
    journey.sandbox.behave(commands=[HANG])
    process = journey.sandbox.start_sow("agent", "spawn", "implementer", journey.task_id)
    wait_until(lambda: HANG in journey.sandbox.namespace.inhabitants().values(), "the command")
    wait_until(lambda: used(journey, 1)["tokens"] == times(1), "its first message on record")
    journey.sandbox.behave(commands=REPORT, forgives=True)
    claude = find_claude(journey, claude_folder)
    assert claude is not None
    os.kill(claude, signal.SIGKILL)
    done = end_of(process)
    assert done.returncode == 0, done.stderr
    killed, resumed = (attempt["used"] for attempt in journey.attempts())
    assert (killed["tokens"], killed["cost_usd"]) == (times(1), None)
    assert (killed["runs_cut_off"], killed["runs_without_cost"]) == (1, 1)
    assert (resumed["tokens"], resumed["runs_cut_off"]) == (times(REQUESTS), 0)
    assert resumed["cost_usd"] > 0


@pytest.mark.one_of("real costs")
def test_its_own_budget_ends_it_and_a_raised_one_goes_on(journey: Journey) -> None:
    done = journey.spawn("--budget", "usd=0.0002", "--json")
    ended = json.loads(done.stdout)
    assert (done.returncode, ended["cause"]) == (1, "budget_reached"), done.stderr
    assert "the budget of task" in ended["reason"]
    assert used(journey, 1)["tokens"] == times(2), "over by one request, which is counted"
    assert "--max-budget-usd" in journey.attempts()[0]["argv"]
    resumed = journey.resume("Go on.", "--budget", "usd=1")
    assert resumed.returncode == 0, resumed.stderr
    assert journey.task()["status"] == "needs_review"
    assert used(journey, 2)["runs_without_cost"] == 0
