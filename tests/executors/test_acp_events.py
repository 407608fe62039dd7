"""The events of sow's client of ACP, as its executor reads them."""

import json
from pathlib import Path

import pytest

from sow.acp.presets import PRESETS
from sow.agent_clis.acp import CLI, STARTS
from sow.executors.base import Ending, Event, EventKind, LaunchRequest, Observation
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, Preset
from sow.schema.job import Cause

EXECUTOR = make_executor(ExecutorConfig(name="x", type=ExecutorType.ACP, command=("agent",)))


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, **fields}).encode()


LINES = (
    (
        line("session", session_id="s-1", agent="a 1"),
        Event(EventKind.SESSION, session_id="s-1"),
    ),
    (line("text", text="Hello"), Event(EventKind.TEXT, text="Hello")),
    (
        line("tool_use", id="1", tool="execute", text="npm test"),
        Event(EventKind.TOOL_USE, text="execute: npm test", tool="execute"),
    ),
    (
        line("tool_result", id="1", text="no", is_error=True),
        Event(EventKind.TOOL_RESULT, text="no", is_error=True),
    ),
    (
        line("denial", rule="npm test", option="no", reason="x"),
        Event(EventKind.DENIAL, text="npm test", tool="npm test", is_error=True),
    ),
    (
        line("result", session_id="s-1", stop_reason="end_turn"),
        Event(EventKind.RESULT, session_id="s-1"),
    ),
    (
        line("result", is_error=True, cause="auth", code=-32000, message="Log in"),
        Event(EventKind.RESULT, text="Log in", is_error=True),
    ),
    (
        line("result", is_error=True, cause="", code=429, message="Wait"),
        Event(EventKind.RESULT, text="Wait", is_error=True, status=429),
    ),
)


def test_each_line_is_one_event() -> None:
    for data, event in LINES:
        assert EXECUTOR.read_line(data) == (event,), data
    whole = b"\n".join(data for data, _ in LINES) + b"\n"
    assert tuple(EXECUTOR.read(whole)) == tuple(event for _, event in LINES)


def test_what_is_allowed_and_what_is_used_is_read_by_people_alone() -> None:
    for kind in ("permission", "usage", "thought"):
        fields = {"rule": "sow task show", "usage": {"inputTokens": 7}, "cost": {"amount": 9}}
        assert EXECUTOR.read_line(line(kind, **fields)) == ()


def test_a_session_is_not_kept_before_something_was_told_in_it() -> None:
    seen = Observation()
    for data, begun in ((LINES[0][0], False), (LINES[1][0], True)):
        for event in EXECUTOR.read_line(data):
            seen = seen.after(event)
        assert seen.has_begun is begun


def test_the_words_of_a_preset_are_those_of_the_table() -> None:
    assert set(Preset) == set(PRESETS) == set(CLI.fences)


def test_the_settings_that_a_user_has_in_a_variable_are_kept() -> None:
    config = ExecutorConfig(
        name="x", type=ExecutorType.ACP, command=("codex-acp",), preset=Preset.CODEX
    )
    for own, kept in (
        ('{"model_provider": "mine", "allow_login_shell": true}', {"model_provider": "mine"}),
        ("no JSON", {}),
        ("[]", {}),
    ):
        request = LaunchRequest(
            session=None,
            prompt="",
            prompt_file=Path("/run/prompt.md"),
            task_dir=Path("/t"),
            cwd=Path("/w"),
            as_root=False,
            environ={"CODEX_CONFIG": own},
        )
        launch = make_executor(config).spawn(request)
        ours = {"allow_login_shell": False, "analytics": {"enabled": False}}
        assert json.loads(launch.env["CODEX_CONFIG"]) == {**kept, **ours}


@pytest.mark.parametrize(
    ("words", "cause", "advice"),
    [
        ("the agent's error -32000: Log in", Cause.AUTH, "agents.executors.x.env"),
        (
            "the program does not speak ACP: it has written 'Hi'",
            Cause.BAD_FLAGS,
            '["qwen", "--acp"]',
        ),
        ("the agent has not answered initialize within 180 s", Cause.API_ERROR, "has to start the"),
        ("the agent speaks version 2 of the protocol", Cause.BAD_FLAGS, "that speaks version 1"),
        ("the agent cannot load a session again", Cause.BAD_FLAGS, "x.settings.command start"),
        ("the agent would not ask for permission: no", Cause.BAD_FLAGS, "x.settings.preset has to"),
        (
            "the agent has ended with exit code 1 before it had answered initialize",
            Cause.CRASHED,
            "by hand",
        ),
    ],
)
def test_a_failure_to_begin_ends_with_what_helps(words: str, cause: Cause, advice: str) -> None:
    config = ExecutorConfig(name="x", type=ExecutorType.ACP, command=("agent",), preset=Preset.QWEN)
    seen = Observation().after(Event(EventKind.RESULT, text=words, is_error=True))
    ending = Ending(1, None, "at main\n\nNode.js v22\n", "")
    verdict = make_executor(config).classify(ending, seen)
    first, *_, last = verdict.reason.splitlines()
    assert (verdict.cause, first) == (cause, words)
    assert advice in last


DIED = "the agent has ended with exit code 1 before it had answered initialize; it has written"


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("the agent's turn failed: it does not speak ACP", Cause.API_ERROR),
        ("the agent's turn failed: I would not ask", Cause.API_ERROR),
        ("the agent's error -32603: version 2 of the protocol is old", Cause.API_ERROR),
        ("the agent's error -32603: I cannot load a session", Cause.API_ERROR),
        ("the agent's error -32603: had not answered initialize", Cause.API_ERROR),
        (f"{DIED} 'Error: 429 rate limit, try again in 20 s'", Cause.RATE_LIMITED),
    ],
)
def test_an_agent_s_own_words_bring_no_advice(words: str, cause: Cause) -> None:
    seen = Observation().after(Event(EventKind.RESULT, text=words, is_error=True))
    verdict = EXECUTOR.classify(Ending(1, None, "", ""), seen)
    assert (verdict.cause, verdict.reason) == (cause, words)


def test_what_an_agent_wrote_is_not_repeated_before_the_advice() -> None:
    words = f"{DIED} '{'x' * 300}', '{'y' * 300}'"
    seen = Observation().after(Event(EventKind.RESULT, text=words, is_error=True))
    reason = EXECUTOR.classify(Ending(1, None, "", ""), seen).reason
    assert (reason.count("before it had answered"), len(reason.splitlines())) == (1, 2)


def test_what_a_turn_fails_with_later_has_no_such_advice() -> None:
    words = "the agent has ended with exit code 1 in the middle of its work"
    seen = Observation().after(Event(EventKind.RESULT, text=words, is_error=True))
    verdict = EXECUTOR.classify(Ending(1, None, "", ""), seen)
    assert (verdict.cause, verdict.reason) == (Cause.CRASHED, words)


def test_how_the_agent_of_each_preset_is_started_is_known() -> None:
    assert set(STARTS) == set(PRESETS)
