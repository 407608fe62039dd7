"""When an attempt is overdue, told by a clock of the test's own (§8; issue 3, watchdogs)."""

import itertools
import json
import os
import signal
import sys
import time
from functools import partial
from typing import Any

import msgspec
import pytest
from attempts.job_values import CLAUDE
from watch_cases import SESSION, WatchSite, dead_process

from sow.ids import BatchId
from sow.jobs import jobs
from sow.jobs.stalls import quiet_since, waits_for_others
from sow.schema.job import Cause, Job, JobState
from sow.schema.task import TaskStatus
from worker import watchdog
from worker.running import Running, Signs
from worker.watchdog import HANG_SECONDS, MOST_STOPS, look_at_running, note_quiet, overdue

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


STALLS = "select data from change where kind = 'stalled'"


def agent(
    site: WatchSite, *lines: dict[str, Any], in_batch: bool = False, **limits: float | None
) -> Running:
    """Return an attempt whose agent has printed these lines; no process of it uses CPU time."""
    batch = BatchId(1) if in_batch else None
    job = site.job(executor=msgspec.structs.replace(CLAUDE, **limits), batch=batch)
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


def test_a_result_is_not_the_last_word_while_there_is_output_to_be_read(site: WatchSite) -> None:
    running = agent(site, RESULT)
    start = running.begun_at
    running.output.is_behind = True
    assert overdue(running, start) is None
    assert overdue(running, start + 10 * MINUTE) is None
    running.output.is_behind = False
    assert overdue(running, start + 10 * MINUTE) is None
    assert overdue(running, start + 10 * MINUTE + HANG_SECONDS) is not None


def test_a_supervisor_that_is_stopped_again_and_again_is_killed(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.job()
    site.lease(job)
    site.attempt(job, supervisor=dead_process())
    running = adopted(site, job)
    signals: list[signal.Signals] = []
    monkeypatch.setattr(watchdog.process_facts, "is_stopped", lambda _: True)
    monkeypatch.setattr(os, "kill", lambda _, sent: signals.append(sent))
    for _ in range(MOST_STOPS + 1):
        look_at_running(site.context, running, reading_seconds=0.0, is_alone=False)
    assert signals == [signal.SIGCONT] * MOST_STOPS + [signal.SIGKILL]


def test_a_look_passes_a_cancel_on(site: WatchSite) -> None:
    running = agent(site)
    look_at_running(site.context, running, reading_seconds=0.0, is_alone=False)
    assert not running.asked_to_end
    jobs.change_job(site.database, running.job.id, cancel_requested_at=BEGAN)
    look_at_running(site.context, running, reading_seconds=0.0, is_alone=False)
    assert running.asked_to_end


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


def test_without_limits_an_agent_may_be_quiet_for_ever_and_it_is_known(site: WatchSite) -> None:
    running = agent(site, SAID)
    assert overdue(running, running.begun_at) is None
    assert overdue(running, running.begun_at + 24 * 60 * MINUTE) is None
    assert running.quiet_seconds == 24 * 60 * MINUTE


@pytest.mark.parametrize(
    ("stall", "is_ended_at"), [(None, 20.0), (0.0, None), (5 * MINUTE, 5.0), (60 * MINUTE, 60.0)]
)
def test_in_a_batch_it_is_ended_after_twenty_minutes_unless_the_user_says_otherwise(
    site: WatchSite, stall: float | None, is_ended_at: float | None
) -> None:
    running = agent(site, SAID, in_batch=True, stall_timeout_seconds=stall)
    overdue(running, running.begun_at)
    ended = [
        minutes
        for minutes in (4.9, 5.0, 19.9, 20.0, 59.9, 60.0, 24 * 60.0)
        if overdue(running, running.begun_at + minutes * MINUTE) is not None
    ]
    assert ended[:1] == ([is_ended_at] if is_ended_at else [])
    verdict = overdue(running, running.begun_at + 25 * 60 * MINUTE)
    assert (verdict is not None) is bool(is_ended_at)
    assert verdict is None or verdict.cause is Cause.STALLED


def test_an_agent_that_waits_for_its_own_jobs_lives(site: WatchSite) -> None:
    running = agent(site, SAID, in_batch=True)
    child = site.job("020", parent=running.job.id)
    begun = running.begun_at

    def look(at: float) -> bool:
        waits = partial(waits_for_others, site.database, running.job.id)
        return overdue(running, begun + at, waits_for_own=waits) is not None

    assert not look(0)
    assert not look(30 * MINUTE)
    assert running.quiet_seconds == 0
    jobs.change_job(site.database, child.id, state=JobState.CANCELLED)
    assert not look(49 * MINUTE)
    assert look(50 * MINUTE)


def test_a_look_at_an_agent_that_prints_asks_for_no_processor_time(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def ask(pid: int) -> float:
        asked.append(pid)
        return 0.0

    monkeypatch.setattr(watchdog.process_facts, "tree_cpu_seconds", ask)
    running = agent(site, SAID)
    supervisor = dead_process()
    running.attempt = msgspec.structs.replace(running.attempt, supervisor=supervisor)
    for second in range(0, 60, 10):
        say(running, SAID)
        overdue(running, running.begun_at + second)
    assert asked == []
    overdue(running, running.begun_at + 70)
    assert asked == [supervisor.pid]


def test_an_agent_without_a_sign_of_life_is_told_once_and_marked_while_it_lasts(
    site: WatchSite,
) -> None:
    running = agent(site, SAID)
    context = site.context

    def look(minutes: float) -> int:
        overdue(running, running.begun_at + minutes * MINUTE)
        note_quiet(context, running)
        return len(site.database.rows(STALLS))

    assert [look(0), look(19), look(20), look(30)] == [0, 0, 1, 1]
    (row,) = site.database.rows(STALLS)
    assert "no output, no CPU time, no growth of its transcript for 20m" in row["data"]
    assert quiet_since(running.paths) == pytest.approx(context.now() - 20 * MINUTE, abs=5)

    taken_over = site.adopt(running.job)
    assert time.monotonic() - taken_over.alive_at >= 20 * MINUTE - 5
    taken_over.quiet_seconds = 21 * MINUTE
    note_quiet(context, taken_over)
    assert look(31) == 1, "the next worker does not tell it again"

    say(running, SAID)
    assert look(40) == 1
    assert not running.paths.quiet.exists()
    assert look(60) == 2, "another time is another event"


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


@pytest.mark.slow
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
