"""A run that goes on in a session it was not asked for, and a model that gives no answer."""

import json
from typing import Any

import msgspec
import pytest
from attempts.job_values import CLAUDE
from watch_cases import SESSION, WatchSite

from sow.executors.registry import make_executor
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from worker.adopt import output_reader
from worker.running import OutputReader, Running
from worker.watchdog import look_at_running, unanswered

CODEX = ExecutorConfig(name="codex", type=ExecutorType.CODEX)
THREAD = {"type": "thread.started", "thread_id": SESSION}
OTHER = {"type": "thread.started", "thread_id": "33333333-3333-4333-8333-333333333333"}
BEGUN = {"type": "item.started", "item": {"type": "command_execution", "command": "make"}}
ENDED = {"type": "item.completed", "item": {**BEGUN["item"], "exit_code": 0}}  # type: ignore[dict-item]
AGAIN = {"type": "error", "message": "Reconnecting... 2/5 (last status: 429 Too Many Requests)"}
DONE = {"type": "turn.completed", "usage": {}}
AN_ID = "44444444-4444-4444-8444-444444444444"
OPENCODE = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE)
OVERFLOW = {
    "type": "error",
    "error": {"name": "ContextOverflowError", "data": {"message": "too many"}},
}
SHORTENED = {"type": "step_finish", "part": {"reason": "stop"}}
TOOL = {"type": "tool_use", "part": {"tool": "bash", "state": {"status": "completed"}}}
MINUTE = 60.0


@pytest.fixture
def running(site: WatchSite) -> Running:
    """Return an attempt of Codex that was asked for SESSION."""
    job = site.job(executor=CODEX)
    site.lease(job)
    site.attempt(job)
    adopted = site.adopt(job)
    adopted.step_at = 0.0
    return adopted


def say(running: Running, *lines: dict[str, Any]) -> None:
    with running.paths.output.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    running.output.read_new()


def test_another_session_than_asked_for_is_never_taken_for_it(
    site: WatchSite, running: Running
) -> None:
    say(running, OTHER, BEGUN)
    look_at_running(site.context, running, reading_seconds=1.0, is_alone=False)
    assert running.ended_for is not None
    assert running.ended_for.cause is Cause.SESSION_LOST
    assert OTHER["thread_id"] in running.ended_for.reason
    assert running.session_id == SESSION
    assert site.task().session_id == SESSION


def test_the_session_of_another_task_is_never_taken_for_its_own(site: WatchSite) -> None:
    theirs = site.job("020", executor=CODEX)
    site.lease(theirs)
    site.attempt(theirs)  # on SESSION
    job = site.job("010", executor=CODEX)
    path = site.workspace.run / "output"
    path.write_text(json.dumps(THREAD) + "\n")
    reader = output_reader(site.context, job, path, make_executor(CODEX), None)
    reader.read_new()
    assert reader.seen.session_id is None
    with path.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in (OTHER, THREAD))
    reader.read_new()
    assert reader.seen.session_id == OTHER["thread_id"]  # its own, whatever it tells then
    asked = output_reader(site.context, job, path, make_executor(CODEX), AN_ID)
    asked.read_new()
    assert asked.seen.session_id is None
    assert asked.seen.other_session == SESSION  # that ends the run
    mine = output_reader(site.context, theirs, path, make_executor(CODEX), None)
    path.write_text(json.dumps(THREAD) + "\n")
    mine.read_new()
    assert mine.seen.session_id == SESSION


def test_the_session_that_was_asked_for_is_no_other(site: WatchSite, running: Running) -> None:
    say(running, THREAD, BEGUN)
    look_at_running(site.context, running, reading_seconds=1.0, is_alone=False)
    assert running.ended_for is None
    assert site.task().session.started  # type: ignore[union-attr]


def test_a_program_whose_own_id_counts_has_no_other_session(site: WatchSite) -> None:
    command = msgspec.structs.replace(
        CLAUDE, type=ExecutorType.COMMAND, command=("a",), resume=("a", "{session_id}")
    )
    reader = OutputReader(site.workspace.run / "output", make_executor(command), SESSION)
    init = {"type": "system", "subtype": "init", "session_id": "s-2"}
    reader.path.parent.mkdir(parents=True, exist_ok=True)
    reader.path.write_text(json.dumps(init) + "\n")
    reader.read_new()
    assert (reader.seen.session_id, reader.seen.other_session) == ("s-2", None)


def test_a_model_that_gives_no_answer_is_not_waited_for_without_end(running: Running) -> None:
    say(running, THREAD)
    assert unanswered(running, 1.0) is None
    assert unanswered(running, 14 * MINUTE) is None
    say(running, AGAIN)  # a failed request is no step
    verdict = unanswered(running, 1.0 + 15 * MINUTE)
    assert verdict is not None
    assert verdict.cause is Cause.RATE_LIMITED
    assert "15m" in verdict.reason
    assert "429" in verdict.reason


def test_one_that_fails_again_and_again_is_ended(site: WatchSite, running: Running) -> None:
    running.executor = running.output.executor = make_executor(OPENCODE)
    say(running, *[OVERFLOW, SHORTENED] * 4)
    look_at_running(site.context, running, reading_seconds=1.0, is_alone=False)
    assert running.ended_for is None
    say(running, TOOL, *[OVERFLOW, SHORTENED] * 4)  # it did something in between
    look_at_running(site.context, running, reading_seconds=1.0, is_alone=False)
    assert running.ended_for is None
    say(running, OVERFLOW, SHORTENED)
    look_at_running(site.context, running, reading_seconds=1.0, is_alone=False)
    assert running.ended_for is not None
    assert running.ended_for.cause is Cause.TOO_LONG
    assert "failed 5 times" in running.ended_for.reason
    assert "too many" in running.ended_for.reason


def test_silence_without_a_word_of_its_cause_is_the_service_s(running: Running) -> None:
    say(running, THREAD)
    assert unanswered(running, 1.0) is None
    verdict = unanswered(running, 1.0 + 15 * MINUTE)
    assert verdict is not None
    assert verdict.cause is Cause.API_ERROR


def test_a_failure_that_stands_on_standard_error_alone_is_told(running: Running) -> None:
    running.executor = make_executor(ExecutorConfig(name="qwen", type=ExecutorType.QWEN))
    running.paths.stderr.write_text(
        "Ripgrep not available.\nRetrying in 60s (attempt 1/10): [API Error: 429 told 429]\n"
    )
    assert unanswered(running, 1.0) is None
    verdict = unanswered(running, 1.0 + 15 * MINUTE)
    assert verdict is not None
    assert verdict.cause is Cause.RATE_LIMITED
    assert "attempt 1/10" in verdict.reason


def test_while_a_tool_runs_no_model_is_waited_for(running: Running) -> None:
    say(running, THREAD, BEGUN)
    assert unanswered(running, 1.0) is None
    assert unanswered(running, 60 * MINUTE) is None
    say(running, ENDED)
    assert unanswered(running, 61 * MINUTE) is None
    assert unanswered(running, 75 * MINUTE) is None
    assert unanswered(running, 77 * MINUTE) is not None


def test_the_answer_of_a_tool_that_a_killed_run_has_called_closes_no_other(
    running: Running,
) -> None:
    say(running, ENDED, THREAD, BEGUN)
    assert unanswered(running, 1.0) is None
    assert unanswered(running, 60 * MINUTE) is None


def test_after_its_result_it_waits_for_nobody(running: Running) -> None:
    say(running, THREAD, DONE)
    assert unanswered(running, 1.0) is None
    assert unanswered(running, 60 * MINUTE) is None


@pytest.mark.parametrize(("setting", "after"), [(0.0, None), (30.0, 31.0)])
def test_the_user_s_own_limit_counts(
    site: WatchSite, running: Running, setting: float, after: float | None
) -> None:
    config = msgspec.structs.replace(CODEX, api_timeout_seconds=setting)
    running.executor = make_executor(config)
    say(running, THREAD)
    assert unanswered(running, 0.0) is None
    assert (unanswered(running, after or 60 * MINUTE) is None) is (after is None)


def test_claude_code_ends_such_a_run_by_itself(site: WatchSite) -> None:
    job = site.job()
    site.lease(job)
    site.attempt(job)
    running = site.adopt(job)
    assert unanswered(running, running.step_at + 600 * MINUTE) is None
