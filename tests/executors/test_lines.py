"""Many lines at once: nothing is told that the lines do not tell, and nothing of them is missed."""

import json
from collections.abc import Iterable

import pytest
from built_in import BUILT_IN, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from sow.executors.base import Event, EventKind, Executor, Observation
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

EXECUTORS = {
    **{str(kind): plain(kind) for kind in BUILT_IN.values()},
    "command": ExecutorConfig(
        name="a", type=ExecutorType.COMMAND, command=("a", "{session_id}"), resume=("a",)
    ),
}

OBJECTS = [
    {"type": "system", "subtype": "init", "session_id": "s-1"},
    {"type": "system", "subtype": "api_retry", "error_status": 529},
    {"type": "system", "subtype": "background_tasks_changed", "tasks": [{"description": "t"}]},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "words"}]}},
    {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}},
    {"type": "user", "message": {"content": '{"type":"result","is_error":true}'}},
    {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1.8e9}},
    {"type": "tool_call", "subtype": "started", "tool_call": {"shellToolCall": {}}},
    {"type": "tool_call", "subtype": "completed", "tool_call": {"a": {"result": {"rejected": 1}}}},
    {"type": "result", "is_error": False, "result": "done", "session_id": "s-2", "num_turns": 1},
    {"type": "result", "is_error": True, "api_error_status": 401},
    {"type": "result", "permission_denials": [{"tool_name": "Bash"}]},
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "item.started", "item": {"type": "command_execution", "command": "ls"}},
    {
        "type": "item.completed",
        "item": {"type": "command_execution", "aggregated_output": "x", "exit_code": 1},
    },
    {"type": "item.completed", "item": {"type": "agent_message", "text": "words"}},
    {"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": "a"}]}},
    {"type": "error", "message": "Reconnecting... 2/5 (last status: 429 Too Many Requests)"},
    {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 2}},
    {"type": "turn.failed", "error": {"message": "unexpected status 401"}},
    {"type": "init", "session_id": "g-1", "model": "m"},
    {"type": "tool_use", "tool_name": "run_shell_command", "part": {"tool": "bash"}},
    {"type": "tool_result", "tool_id": "run__1", "status": "error", "output": "denied by policy"},
    {"type": "step_start", "sessionID": "ses_1", "part": {}},
    {"type": "step_finish", "part": {"messageID": "m", "tokens": {"input": 1}, "reason": "stop"}},
    {"type": "assistant.message", "data": {"content": "words"}},
    {"type": "tool.execution_complete", "data": {"success": False, "error": {"code": "denied"}}},
    {"type": "x"},
    {"kind": "result"},
    {},
]
WHOLE = [json.dumps(each).encode() for each in OBJECTS] + [
    json.dumps(each, separators=(",", ":")).encode() for each in OBJECTS
]
NOISE = [
    b"",
    b"y",
    b"  ",
    b"\xc2\xa0",
    b"\r",
    b"\xff\xfe",
    b"{",
    b"[1]",
    b'"type"',
    b'"type":"result"',
    b'a log: {"type":"result","is_error":true}',
    b'{"type":"result"',
    b'{"type":',
]
LINE = (
    st.sampled_from(WHOLE + NOISE)
    | st.tuples(st.sampled_from(WHOLE), st.sampled_from(WHOLE + NOISE)).map(b"".join)
    | st.binary(max_size=20).map(lambda line: line.replace(b"\n", b" "))
)


def by_line(executor: Executor, data: bytes) -> list[Event]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    return [event for line in lines for event in executor.read_line(line)]


def folded(seen: Observation, events: Iterable[Event]) -> Observation:
    for event in events:
        seen = seen.after(event)
    return seen


@pytest.mark.few(4)
@pytest.mark.slow
@settings(max_examples=3 * settings.default.max_examples, deadline=None)
@given(lines=st.lists(LINE, max_size=12))
@pytest.mark.parametrize("name", EXECUTORS)
def test_many_lines_tell_what_each_of_them_tells(name: str, lines: list[bytes]) -> None:
    executor, data = make_executor(EXECUTORS[name]), b"\n".join(lines)
    assert list(executor.read(data)) == by_line(executor, data)


@pytest.mark.few(4)
@pytest.mark.slow
@settings(max_examples=5 * settings.default.max_examples, deadline=None)
@given(lines=st.lists(LINE, max_size=12), before=st.lists(LINE, max_size=4))
@pytest.mark.parametrize("name", EXECUTORS)
def test_what_is_skimmed_makes_the_same_observation(
    name: str, lines: list[bytes], before: list[bytes]
) -> None:
    executor, data = make_executor(EXECUTORS[name]), b"\n".join(lines) + b"\n"
    seen = folded(Observation(), by_line(executor, b"\n".join(before)))
    assert folded(seen, executor.skim(data)) == folded(seen, by_line(executor, data))


class Counting:
    """An executor's `read_line`, counted."""

    def __init__(self, executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines = 0
        read_line = type(executor).read_line

        def counted(itself: Executor, line: bytes) -> tuple[Event, ...]:
            self.lines += 1
            return read_line(itself, line)

        monkeypatch.setattr(type(executor), "read_line", counted)


FLOODS = [b"y\n", b"{}\n", b'{"type":"x"}\n', b"\n"]


@pytest.mark.parametrize(
    ("name", "noise"),
    [*((name, noise) for name in EXECUTORS for noise in FLOODS), ("claude", b'{"type":"user"}\n')],
)
def test_noise_costs_no_step_for_each_line(
    name: str, noise: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = make_executor(EXECUTORS[name])
    counting = Counting(executor, monkeypatch)
    result = json.dumps(OBJECTS[10]).encode() + b"\n"
    folded(Observation(), executor.skim(noise * 20_000 + result + noise * 20_000))
    assert counting.lines <= 3


def test_denied_tools_are_listed_once_and_not_without_end() -> None:
    events = [Event(EventKind.DENIAL, tool=f"T{number % 300}") for number in range(1000)]
    seen = folded(Observation(), events)
    assert seen.denied_tools == tuple(f"T{number}" for number in range(100))
