"""Lines of output as events: the shapes we know, and everything else."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.executors.base import Event, EventKind, Executor, Observation
from sow.executors.metering import Span
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.usage import ModelUsage, Tokens, Totals

ID = "3f0c0b5e-1111-4222-8333-444455556667"
EXECUTORS = {
    type_: make_executor(ExecutorConfig(name="x", type=type_, command=("agent",), resume=("r",)))
    for type_ in ExecutorType
}
CLAUDE = EXECUTORS[ExecutorType.CLAUDE]
CURSOR = EXECUTORS[ExecutorType.CURSOR]
COMMAND = EXECUTORS[ExecutorType.COMMAND]
WINDSURF = EXECUTORS[ExecutorType.WINDSURF]


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, **fields}).encode()


def content(*blocks: object) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": list(blocks)}}


INIT = line("system", subtype="init", session_id=ID, tools=["Bash"], cwd="/x")
TEXT = line("assistant", **content({"type": "text", "text": "Hello"}))
RESULT = line(
    "result",
    subtype="success",
    is_error=False,
    num_turns=2,
    result="Done",
    session_id=ID,
    total_cost_usd=0.25,
    permission_denials=[],
)

CLAUDE_LINES = [
    (INIT, (Event(EventKind.SESSION, session_id=ID),)),
    (TEXT, (Event(EventKind.TEXT, text="Hello"),)),
    (
        line(
            "assistant",
            **content(
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I run it"},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm test"}},
                {"type": "tool_use", "id": "u", "name": "Edit", "input": {"file_path": "a.py"}},
                {"type": "tool_use", "id": "v", "name": "Odd", "input": [1]},
            ),
        ),
        (
            Event(EventKind.TEXT, text="I run it"),
            Event(EventKind.TOOL_USE, text="Bash: npm test", tool="Bash"),
            Event(EventKind.TOOL_USE, text="Edit: a.py", tool="Edit"),
            Event(EventKind.TOOL_USE, text="Odd", tool="Odd"),
        ),
    ),
    (
        line("user", **content({"type": "tool_result", "content": "long output"})),
        (Event(EventKind.TOOL_RESULT, text="long output"),),
    ),
    (
        line(
            "user",
            timestamp="2026-11-22T00:55:31.500Z",
            **content(
                {
                    "type": "tool_result",
                    "content": [{"type": "text", "text": "a"}, {"type": "image"}],
                }
            ),
        ),
        (Event(EventKind.TOOL_RESULT, text="a", at=1795308931.5),),
    ),
    (
        line("user", **content({"type": "tool_result", "content": "no", "is_error": True})),
        (Event(EventKind.TOOL_RESULT, text="no", is_error=True),),
    ),
    (line("user", message={"role": "user", "content": "the prompt"}), ()),
    (
        line("system", subtype="api_retry", error_status=529, error="overloaded", attempt=1),
        (Event(EventKind.API_RETRY, text="overloaded", status=529, count=1),),
    ),
    (
        line("system", subtype="api_retry", error_status=None, error="unknown"),
        (Event(EventKind.API_RETRY, text="unknown"),),
    ),
    (
        line(
            "system",
            subtype="background_tasks_changed",
            tasks=[{"task_id": "b1", "description": "Run all tests"}, {"task_id": "b2"}],
        ),
        (Event(EventKind.BACKGROUND, text="in the background: Run all tests", count=2),),
    ),
    (
        line("system", subtype="background_tasks_changed", tasks=[]),
        (Event(EventKind.BACKGROUND),),
    ),
    (
        line("system", subtype="background_tasks_changed", tasks="none"),
        (Event(EventKind.BACKGROUND),),
    ),
    (
        line("rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": 1_900_000_000}),
        (Event(EventKind.RATE_LIMIT, text="rejected", is_error=True, resets_at=1_900_000_000.0),),
    ),
    (
        line("rate_limit_event", rate_limit_info={"status": "allowed", "resetsAt": 1_900_000_000}),
        (Event(EventKind.RATE_LIMIT, text="allowed"),),
    ),
    (
        RESULT,
        (
            Event(
                EventKind.RESULT,
                text="Done",
                session_id=ID,
                cost_usd=0.25,
                totals=Totals(usd=0.25),
            ),
        ),
    ),
    (
        line(
            "result",
            subtype="success",
            is_error=False,
            result="",
            num_turns=1,
            permission_denials=[
                {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm test"}},
                {"tool_name": "Bash", "tool_input": {"command": "a\nb"}},
                {"tool_name": "Write", "tool_input": {"file_path": "a"}},
            ],
        ),
        (
            Event(EventKind.DENIAL, text="Bash(npm test)", tool="Bash(npm test)", is_error=True),
            Event(EventKind.DENIAL, text="Bash", tool="Bash", is_error=True),
            Event(EventKind.DENIAL, text="Write", tool="Write", is_error=True),
            Event(EventKind.RESULT),
        ),
    ),
    (
        line(
            "result",
            subtype="success",
            is_error=True,
            num_turns=1,
            result="No",
            session_id=ID,
            api_error_status=429,
        ),
        (Event(EventKind.RESULT, text="No", session_id=ID, is_error=True, status=429),),
    ),
    (
        line(
            "result",
            subtype="error_during_execution",
            is_error=True,
            num_turns=0,
            session_id=ID,
            errors=["No conversation found"],
        ),
        (Event(EventKind.RESULT, text="No conversation found", is_error=True),),
    ),
    (line("system", subtype="task_updated", status="killed"), ()),
    (line("stream_event", event={}), ()),
]


@pytest.mark.parametrize(("data", "events"), CLAUDE_LINES)
def test_claude_lines(data: bytes, events: tuple[Event, ...]) -> None:
    assert CLAUDE.read_line(data) == events
    assert CLAUDE.read_line(data + b"\r\n") == events


def call(subtype: str, tool: str, **body: object) -> bytes:
    return line("tool_call", subtype=subtype, call_id="a\nb", tool_call={tool: body})


CURSOR_LINES = [
    (INIT, (Event(EventKind.SESSION, session_id=ID, span=Span.RUN),)),
    (TEXT, (Event(EventKind.TEXT, text="Hello"),)),
    (line("user", **content({"type": "text", "text": "the prompt"})), ()),
    (line("thinking", subtype="delta", text="hm"), ()),
    (
        call("started", "shellToolCall", args={"command": "npm test"}),
        (Event(EventKind.TOOL_USE, text="shell: npm test", tool="shell"),),
    ),
    (
        call("completed", "readToolCall", args={"path": "a"}, result={"success": {"content": "x"}}),
        (Event(EventKind.TOOL_RESULT, text="x", tool="read"),),
    ),
    (
        call("completed", "shellToolCall", args={}, result={"failure": {"exitCode": 1}}),
        (Event(EventKind.TOOL_RESULT, tool="shell", is_error=True),),
    ),
    (
        call("completed", "shellToolCall", args={"command": "npm test"}, result={"rejected": {}}),
        (
            Event(EventKind.TOOL_RESULT, tool="shell", is_error=True),
            Event(EventKind.DENIAL, text="Shell(npm)", tool="Shell(npm)", is_error=True),
        ),
    ),
    (
        call(
            "completed",
            "shellToolCall",
            args={"command": "for name in *; do npm test; done"},
            result={"rejected": {}},
        ),
        (
            Event(EventKind.TOOL_RESULT, tool="shell", is_error=True),
            Event(EventKind.DENIAL, text="shell", tool="shell", is_error=True),
        ),
    ),
    (
        line("result", subtype="success", is_error=False, result="Done", session_id=ID),
        (Event(EventKind.RESULT, text="Done", session_id=ID),),
    ),
    (b"Cannot use this model", (Event(EventKind.TEXT, text="Cannot use this model"),)),
    (b'{"type":"unheard of"}', ()),
]


@pytest.mark.parametrize(("data", "events"), CURSOR_LINES)
def test_cursor_lines(data: bytes, events: tuple[Event, ...]) -> None:
    assert CURSOR.read_line(data) == events


@pytest.mark.parametrize("executor", [COMMAND, WINDSURF])
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Compiling\n", "Compiling"),
        (b"  \n", None),
        (b'{"level":"info"}', '{"level":"info"}'),
        (b"\xff\xfeodd", "\ufffd\ufffdodd"),
    ],
)
def test_lines_of_unknown_programs_are_text(
    executor: Executor, data: bytes, text: str | None
) -> None:
    expected = () if text is None else (Event(EventKind.TEXT, text=text),)
    assert executor.read_line(data) == expected


def test_programs_that_print_known_shapes_are_understood() -> None:
    assert COMMAND.read_line(INIT) == CLAUDE.read_line(INIT)
    assert COMMAND.read_line(RESULT) == CLAUDE.read_line(RESULT)
    started = call("started", "shellToolCall", args={"command": "ls"})
    assert COMMAND.read_line(started) == CURSOR.read_line(started)


def test_what_cannot_be_resumed_shows_no_session() -> None:
    assert WINDSURF.read_line(INIT) == ()
    assert [event.session_id for event in WINDSURF.read_line(RESULT)] == [None]


@pytest.mark.parametrize("executor", [CLAUDE, CURSOR])
@pytest.mark.parametrize(
    "data",
    [
        b"warning: something" + RESULT,
        b'{"type":"assistant","message":{"role":"assi' + RESULT,
        RESULT + b"\x00garbage",
        b"\xff\xfe" + RESULT,
        b'{"type":"assistant","message":{"ro' + RESULT + b'le":"assistant"}}',
    ],
)
def test_an_event_amid_garbage_is_still_read(executor: Executor, data: bytes) -> None:
    (event,) = [each for each in executor.read_line(data) if each.kind is EventKind.RESULT]
    assert event.text == "Done"


def test_two_events_on_one_line_are_both_read() -> None:
    kinds = [event.kind for event in CLAUDE.read_line(TEXT + RESULT)]
    assert kinds == [EventKind.TEXT, EventKind.RESULT]


def test_an_event_quoted_in_a_tools_output_is_not_an_event() -> None:
    quoted = line("user", **content({"type": "tool_result", "content": RESULT.decode()}))
    assert [event.kind for event in CLAUDE.read_line(quoted)] == [EventKind.TOOL_RESULT]


def test_an_event_within_a_sound_line_of_another_kind_is_not_an_event() -> None:
    inner = json.loads(RESULT)
    assert CLAUDE.read_line(line("replay", inner=inner)) == ()
    assert CLAUDE.read_line(line("result", is_error="wrong", inner=inner)) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"null",
        b"[]",
        b"{",
        b"{}",
        b'{"type":null}',
        b'{"type":"result","is_error":"yes"}',
        b'{"type":"result","total_cost_usd":NaN}'[:-1],
        b'{"type":"assistant","message":7}',
        b'{"type":"assistant","message":{"content":[7]}}',
        b'{"type":"system","subtype":"api_retry","error_status":"x"}',
        b'{"type":"result","result":"\xff"}'[:-3],
        b"[" * 200_000,
        b'{"type":' * 100_000,
        b'{"type":"user","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b"x" * 10_000_000,
        b'{"type":"user","x":"' + b"x" * 10_000_000,
        b"\xff" * 1000,
    ],
    ids=lambda data: repr(data[:30]),
)
def test_noise_tells_claude_nothing(data: bytes) -> None:
    assert CLAUDE.read_line(data) == ()
    for executor in (CURSOR, COMMAND, WINDSURF):
        assert all(event.kind is EventKind.TEXT for event in executor.read_line(data))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1e300"])
def test_impossible_numbers_reach_nobody(number: str) -> None:
    data = RESULT.replace(b"0.25", number.encode())
    assert data != RESULT
    for event in (*CLAUDE.read_line(data), *CLAUDE.read_line(b"noise" + data)):
        assert event.cost_usd is None


USED = {
    "input_tokens": 3,
    "output_tokens": 5,
    "cache_read_input_tokens": 7,
    "cache_creation_input_tokens": 11,
}
TOKENS = Tokens(input=3, output=5, cache_read=7, cache_write=11)


def test_claude_tells_what_each_message_and_each_model_has_used() -> None:
    body = {"id": "m1", "model": "opus", "content": "hi", "usage": {**USED, "service_tier": "x"}}
    (event,) = CLAUDE.read_line(line("assistant", message=body))
    assert event == Event(EventKind.USAGE, message="m1", model="opus", tokens=TOKENS)
    figures = {"inputTokens": 3, "outputTokens": 5, "costUSD": 0.5, "costBasis": "unknown"}
    (result,) = CLAUDE.read_line(
        line("result", total_cost_usd=0.5, usage=USED, modelUsage={"opus": figures}, num_turns=1)
    )
    usage = ModelUsage(tokens=Tokens(input=3, output=5), usd=0.5, is_estimate=True)
    assert result.totals == Totals(usd=0.5, models={"opus": usage})
    assert result.tokens == TOKENS


@pytest.mark.parametrize(
    ("version", "span"),
    [
        ("2.1.197", Span.RUN),
        ("1.9.999", Span.RUN),
        ("2.1.330", Span.SESSION),
        ("3.0.0 (Claude Code)", Span.SESSION),
        ("2.1.200", None),
        ("new", None),
        (7, None),
    ],
)
def test_the_version_says_what_the_totals_of_claude_count(version: object, span: object) -> None:
    data = line("system", subtype="init", session_id=ID, model="opus", claude_code_version=version)
    (event,) = CLAUDE.read_line(data)
    assert (event.model, event.span) == ("opus", span)


def test_cursor_tells_tokens_and_no_price() -> None:
    usage = {"inputTokens": 3, "outputTokens": 5, "cacheReadTokens": 7, "cacheWriteTokens": 11}
    (event,) = CURSOR.read_line(line("result", result="Done", usage=usage))
    assert event.totals == Totals(models={"": ModelUsage(tokens=TOKENS)})
    assert event.cost_usd is None


@pytest.mark.parametrize("wrong", [-1, 1e300, "7", None, True, [], {}, 10**30])
def test_impossible_numbers_of_tokens_count_nothing(wrong: object) -> None:
    usage = dict.fromkeys(USED, wrong)
    body = {"id": "m", "content": "hi", "usage": usage}
    assert CLAUDE.read_line(line("assistant", message=body)) == ()
    (result,) = CLAUDE.read_line(
        line("result", usage=usage, modelUsage={"m": {"inputTokens": wrong, "costUSD": "x"}})
    )
    assert result.totals == Totals(models={"m": ModelUsage()})
    assert CURSOR.read_line(line("result", usage=wrong))[-1].totals in (
        None,
        Totals(models={"": ModelUsage()}),
    )


def test_half_a_surrogate_does_not_reach_the_database() -> None:
    data = RESULT.replace(b"Done", b"Done \\ud800")
    assert data != RESULT
    for event in (*CLAUDE.read_line(data), *CLAUDE.read_line(b"noise" + data)):
        assert is_sound(event)


@pytest.mark.parametrize("when", [-1, 0, 1_900_000_000_000, 1e300])
def test_an_impossible_reset_time_makes_nobody_wait(when: float) -> None:
    data = line("rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": when})
    assert [event.resets_at for event in CLAUDE.read_line(data)] == [None]


@pytest.mark.parametrize("session_id", ["", "-x", "a\nb", "x" * 300, "\x1b[31m"])
def test_an_impossible_session_id_is_not_taken(session_id: str) -> None:
    data = line("system", subtype="init", session_id=session_id)
    assert [event.session_id for event in CLAUDE.read_line(data)] == [None]


def test_a_long_line_is_read_and_its_text_shortened() -> None:
    data = line("assistant", **content({"type": "text", "text": "x" * 10_000_000}))
    (event,) = CLAUDE.read_line(data)
    assert len(event.text) == 4000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "subtype",
                    "message",
                    "content",
                    "session_id",
                    "is_error",
                    "result",
                    "permission_denials",
                    "rate_limit_info",
                    "resetsAt",
                    "tool_call",
                    "args",
                    "input",
                    "name",
                    "text",
                    "error_status",
                    "total_cost_usd",
                    "errors",
                    "tool_name",
                    "tool_input",
                    "command",
                    "num_turns",
                    "shellToolCall",
                    "rejected",
                    "usage",
                    "modelUsage",
                    "input_tokens",
                    "inputTokens",
                    "costUSD",
                    "id",
                    "model",
                    "claude_code_version",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["system", "assistant", "user", "result", "rate_limit_event", "tool_call", "other"]
)


def is_sound(event: Event) -> bool:
    """Whether an event can be stored, shown and summed."""
    event.text.encode()
    (event.tool or "").encode()
    (event.session_id or "").encode()
    numbers = (event.cost_usd, event.resets_at)
    assert all(number is None or math.isfinite(number) for number in numbers)
    msgspec.json.encode(event)
    Observation().after(event)
    return True


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    for executor in EXECUTORS.values():
        assert all(map(is_sound, executor.read_line(data)))


@pytest.mark.slow
@given(KINDS, st.dictionaries(st.text(max_size=5), JSON, max_size=3), JSON, st.text(max_size=10))
def test_any_json_is_read_without_an_error(
    kind: str, extra: dict[str, object], body: object, noise: str
) -> None:
    fields = body if isinstance(body, dict) else {"message": body}
    text = json.dumps({"type": kind, **extra, **fields, "type": kind})  # noqa: F601
    for data in (text.encode(), noise.encode(errors="replace") + text.encode()):
        for executor in EXECUTORS.values():
            assert all(map(is_sound, executor.read_line(data)))


@given(st.integers(min_value=0, max_value=len(RESULT)), st.binary(max_size=20))
def test_an_injection_into_one_line_spoils_no_other(position: int, injected: bytes) -> None:
    stream = TEXT + b"\n" + RESULT[:position] + injected + RESULT[position:] + b"\n" + INIT
    lines = stream.split(b"\n")
    assert CLAUDE.read_line(lines[0])[0].text == "Hello"
    assert CLAUDE.read_line(lines[-1])[0].session_id == ID
    for each in lines:
        assert all(map(is_sound, CLAUDE.read_line(each)))


@pytest.mark.parametrize(
    "command",
    [
        "for f in *.py; do wc -l $f; done",
        "while read x\ndo y\ndone",
        "cd sub && npm test",
        "npm test | tail -3",
        "if true; then rm x; fi",
        "npm test & wait",
        "echo `whoami`",
        "until test -e x",
    ],
)
def test_no_rule_is_named_for_more_than_one_command(command: str) -> None:
    denial = {"tool_name": "Bash", "tool_input": {"command": command}}
    events = CLAUDE.read_line(line("result", result="x", permission_denials=[denial]))
    assert [event.tool for event in events if event.kind is EventKind.DENIAL] == ["Bash"]
    fitting = {"tool_name": "Bash", "tool_input": {"command": "npm run format -- --force"}}
    events = CLAUDE.read_line(line("result", result="x", permission_denials=[fitting]))
    assert [event.tool for event in events if event.kind is EventKind.DENIAL] == [
        "Bash(npm run format -- --force)"
    ]


@pytest.mark.parametrize("type_", ExecutorType)
def test_no_words_hold_a_nul(type_: ExecutorType) -> None:
    """To SQLite a text ends there: the record of changes would tell half of why a job failed."""
    lines = (
        line("assistant", **content({"type": "text", "text": "\0Hel\0lo"})),
        line("result", subtype="success", is_error=True, result="\0bad\0", session_id=ID),
        b"\0plain\0 words\n",
        line("item.completed", item={"type": "agent_message", "text": "\0Hel\0lo"}),
        line("message", role="assistant", content="\0Hel\0lo"),
        line("text", part={"text": "\0Hel\0lo"}),
        line("assistant.message", data={"content": "\0Hel\0lo"}),
    )
    events = [event for each in lines for event in EXECUTORS[type_].read_line(each)]
    assert events
    assert not [event for event in events if "\0" in (event.text or "")]
