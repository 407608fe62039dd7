"""When an attempt is overdue, told by a clock of the test's own (§8; issue 3, watchdogs)."""

import itertools
import json
import sys
from typing import Any

import msgspec
import pytest
from attempts.job_values import CLAUDE
from watch_cases import SESSION, WatchSite

from sow.schema.job import Cause, Job, JobState
from sow.schema.task import TaskStatus
from worker import watchdog
from worker.running import Running, Signs
from worker.watchdog import HANG_SECONDS, overdue

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
NOTHING_LEFT = {"type": "system", "subtype": "background_tasks_changed", "tasks": []}
IN_BACKGROUND = {**NOTHING_LEFT, "tasks": [{"task_id": "b1", "description": "Run all tests"}]}
MINUTE = 60.0
BEGAN = 1000.0


def agent(site: WatchSite, *lines: dict[str, Any], **limits: float) -> Running:
    """Return an attempt whose agent has printed these lines; no process of it uses CPU time."""
    job = site.job(executor=msgspec.structs.replace(CLAUDE, **limits))
    site.lease(job)
    site.attempt(job)
    running = adopted(site, job)
    say(running, INIT, *lines)
    return running


def adopted(site: WatchSite, job: Job) -> Running:
    """Return an attempt that came under watch at a whole second of the test's clock.

    Between fractions that lie on both sides of a power of two, 30 seconds may come to a little
    less. A machine's own clock is there some minutes after its start.
    """
    running = site.adopt(job)
    running.begun_at = running.alive_at = BEGAN
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
    running = adopted(site, agent(site, RESULT).job)
    running.output.read_new()
    assert overdue(running, running.begun_at + 10 * MINUTE) is None
    assert overdue(running, running.begun_at + 10 * MINUTE + HANG_SECONDS) is not None


def test_what_waits_for_its_background_tasks_does_not_hang(site: WatchSite) -> None:
    """Measured: Claude Code 2.1.330 waits for them after the result, then begins another turn."""
    running = agent(site, IN_BACKGROUND, RESULT)
    assert overdue(running, running.begun_at) is None
    assert overdue(running, running.begun_at + 24 * 60 * MINUTE) is None
    say(running, TASK_ENDED, NOTHING_LEFT)
    later = running.begun_at + 25 * 60 * MINUTE
    assert overdue(running, later) is None
    assert overdue(running, later + HANG_SECONDS) is not None


def test_background_tasks_keep_no_agent_that_has_reported(site: WatchSite) -> None:
    """A dev server that it has left running, say."""
    running = agent(site, IN_BACKGROUND, RESULT)
    start = running.begun_at
    assert overdue(running, start, lambda: True) is None
    assert overdue(running, start + HANG_SECONDS, lambda: False) is None
    verdict = overdue(running, start + HANG_SECONDS, lambda: True)
    assert verdict is not None
    assert "with background tasks that still run (1)" in verdict.reason


def test_a_stall_of_background_tasks_is_an_ending_too(site: WatchSite) -> None:
    running = agent(site, IN_BACKGROUND, RESULT, stall_timeout_seconds=5 * MINUTE)
    start = running.begun_at
    assert overdue(running, start) is None
    assert overdue(running, start + 4 * MINUTE) is None
    verdict = overdue(running, start + 5 * MINUTE)
    assert verdict is not None
    assert verdict.cause is Cause.NO_STATUS


@pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
def test_the_monitor_ends_an_agent_that_has_reported_with_its_background_tasks(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "HANG_SECONDS", 0.5)
    job = site.job()
    site.lease(job)
    site.run(job, "exec sleep 600")
    running = site.adopt(job)
    say(running, INIT, IN_BACKGROUND, RESULT)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    monitor = site.start_monitor()
    monitor.watch(running)
    ended = site.ended(running.job)
    monitor.stop()
    assert (ended.state, ended.cause) == (JobState.DONE, Cause.REPORTED)
    assert not site.attempts[0].carriers()


# CPU time as a sign of life


def is_seen(*cpu: float, every: float) -> bool:
    """Whether looks that find so much CPU time, so many seconds apart, see a sign of life."""
    looks = [
        Signs(index * every, output_bytes=9, stderr_bytes=0, transcript_bytes=0, cpu_seconds=used)
        for index, used in enumerate(cpu)
    ]
    busy = 0.0
    for before, after in itertools.pairwise(looks):
        busy = watchdog.busy_after(busy, before, after)
        if busy > watchdog.BURST_SECONDS:
            return True
    return False


def growing(*spent: float) -> list[float]:
    return list(itertools.accumulate((1.0, *spent)))


def test_an_event_loop_that_waits_shows_no_life() -> None:
    """Measured with Claude Code 2.1.330: 1.7 % on average, 0.11 s in 0.2 s, 0.22 s in 5 s."""
    second = [0.11, *[0.0] * 24]
    assert not is_seen(*growing(*second * 200), every=0.2)
    assert not is_seen(*growing(*[0.22, 0.06, 0.02] * 200), every=5.0)


def test_a_tree_at_work_shows_life() -> None:
    assert is_seen(*growing(*[0.05] * 10), every=0.1)
    assert is_seen(*growing(0.0, 0.0, 0.0, 2.0), every=5.0)
    assert is_seen(*growing(*[0.06] * 40), every=1.0)


def test_a_process_that_has_ended_was_alive() -> None:
    assert is_seen(3.0, 1.0, every=5.0)
