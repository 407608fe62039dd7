"""When an attempt is overdue, told by a clock of the test's own (§8; issue 3, watchdogs)."""

import json
import sys
from typing import Any

import msgspec
import pytest
from attempt_cases import wait_until
from watch_cases import SESSION, WatchSite
from worker_cases import CLAUDE

from sow.schema.job import Cause
from worker.running import Running
from worker.watchdog import HANG_SECONDS, overdue

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
INIT = {"type": "system", "subtype": "init", "session_id": SESSION}
RESULT = {"type": "result", "is_error": False, "num_turns": 1, "result": "Done."}
REFUSED = {
    "type": "result",
    "is_error": True,
    "num_turns": 1,
    "api_error_status": 401,
    "result": "Invalid API key",
}
SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Once more."}]}}
TASK_ENDED = {"type": "system", "subtype": "task_notification", "status": "completed"}
MINUTE = 60.0


def agent(site: WatchSite, *lines: dict[str, Any], **limits: float) -> Running:
    """Return an attempt whose agent has printed these lines, and hangs."""
    executor = msgspec.structs.replace(CLAUDE, **limits)
    job = site.job(executor=executor)
    site.lease(job)
    site.run(job, "exec sleep 60")
    running = site.adopt(job)
    say(running, INIT, *lines)
    return running


def say(running: Running, *lines: dict[str, Any]) -> None:
    """Let the agent print more, and have it read."""
    with running.paths.output.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    running.output.read_new()


def test_a_hang_after_the_result_is_an_ending_judged_by_that_result(site: WatchSite) -> None:
    """No stall_timeout is set, and none is needed."""
    running = agent(site, RESULT)
    start = running.begun_at
    assert overdue(running, start + MINUTE) is None
    assert overdue(running, start + MINUTE + HANG_SECONDS - 1) is None
    verdict = overdue(running, start + MINUTE + HANG_SECONDS)
    assert verdict is not None
    assert verdict.cause is Cause.NO_STATUS
    assert verdict.reason.startswith("did not end after its result: ")


def test_a_hang_after_a_failed_result_has_the_cause_of_that_failure(site: WatchSite) -> None:
    running = agent(site, REFUSED)
    assert overdue(running, running.begun_at) is None
    verdict = overdue(running, running.begun_at + HANG_SECONDS)
    assert verdict is not None
    assert verdict.cause is Cause.AUTH
    assert "Invalid API key" in verdict.reason


def test_a_long_silence_before_the_result_does_not_count_after_it(site: WatchSite) -> None:
    running = agent(site, stall_timeout_seconds=15 * MINUTE)
    start = running.begun_at
    assert overdue(running, start) is None
    assert overdue(running, start + 10 * MINUTE) is None
    say(running, RESULT)
    assert overdue(running, start + 10 * MINUTE + 0.5) is None
    assert overdue(running, start + 10 * MINUTE + HANG_SECONDS - 1) is None


def test_lines_that_come_after_the_result_are_signs_of_life(site: WatchSite) -> None:
    """Measured: after a backgrounded task, lines come after the result line."""
    running = agent(site, RESULT)
    start = running.begun_at
    assert overdue(running, start) is None
    say(running, TASK_ENDED)
    assert overdue(running, start + HANG_SECONDS - 1) is None
    assert overdue(running, start + HANG_SECONDS + 10) is None
    assert overdue(running, start + 2 * HANG_SECONDS + 10) is not None


def test_a_turn_after_the_result_may_take_its_time(site: WatchSite) -> None:
    running = agent(site, RESULT)
    assert overdue(running, running.begun_at) is None
    say(running, SAID)
    assert overdue(running, running.begun_at + 10 * MINUTE) is None
    say(running, RESULT)
    assert overdue(running, running.begun_at + 10 * MINUTE) is None
    assert overdue(running, running.begun_at + 10 * MINUTE + HANG_SECONDS) is not None


@pytest.mark.parametrize("limit", ["stall_timeout_seconds", "timeout_seconds"])
def test_a_shorter_limit_that_strikes_after_the_result_is_an_ending_too(
    site: WatchSite, limit: str
) -> None:
    """Neither stalled nor timed out: the work was over."""
    running = agent(site, RESULT, **{limit: 5.0})
    overdue(running, running.begun_at)
    verdict = overdue(running, running.begun_at + 6)
    assert verdict is not None
    assert verdict.cause is Cause.NO_STATUS


@pytest.mark.parametrize(
    ("limit", "cause"),
    [("stall_timeout_seconds", Cause.STALLED), ("timeout_seconds", Cause.TIMED_OUT)],
)
def test_before_a_result_the_limits_are_what_they_say(
    site: WatchSite, limit: str, cause: Cause
) -> None:
    running = agent(site, SAID, **{limit: 5.0})
    overdue(running, running.begun_at)
    assert overdue(running, running.begun_at + 4) is None
    verdict = overdue(running, running.begun_at + 6)
    assert verdict is not None
    assert verdict.cause is cause


def test_without_limits_and_without_a_result_an_agent_may_be_quiet_for_ever(
    site: WatchSite,
) -> None:
    running = agent(site, SAID)
    assert overdue(running, running.begun_at) is None
    assert overdue(running, running.begun_at + 24 * 60 * MINUTE) is None
    assert running.signs is None, "nobody has looked: looking costs"


def test_a_worker_that_adopts_counts_anew(site: WatchSite) -> None:
    """How long it was quiet before, nobody saw."""
    running = agent(site, RESULT)
    adopted = site.adopt(running.job)
    wait_until(lambda: adopted.output.read_new() or adopted.output.seen.concluded)
    assert overdue(adopted, adopted.begun_at + 10 * MINUTE) is None
    assert overdue(adopted, adopted.begun_at + 10 * MINUTE + HANG_SECONDS) is not None
