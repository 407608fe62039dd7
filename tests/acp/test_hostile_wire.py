"""A run of the client with an agent that breaks the protocol, or means harm by it."""

import json
import os
import signal
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from acp.conftest import Client
from journeys.site import wait_until

from sow.acp import version1 as wire
from sow.acp.event_writer import EventWriter

pytestmark = pytest.mark.slow  # each test starts the client and its agent

WORKS = [{"say": "That is all."}]


def message(**fields: Any) -> dict[str, str]:
    """Return a step that writes a message."""
    return {"write": json.dumps({"jsonrpc": "2.0", **fields})}


ANSWER = {"result": {"stopReason": "cancelled"}}
NOISE: tuple[dict[str, Any], ...] = (
    message(id=3, **ANSWER, more="x" * 17_000_000),  # an answer to the prompt, but for its length
    {"write": "[" * 200_000},
    {"write": '{"id": ' * 200_000},
    {"write": "1" * 10_000},
    {"write": "\0\r\x1b[2J"},
    {"write": '"id"', "times": 10_000},
    {"write": "", "times": 10_000},
)


def test_what_is_no_message_is_noise_and_the_turn_goes_on(client: Client) -> None:
    ended = client.run({"turn": [*NOISE, *WORKS]})
    assert ended.code == 0, ended.errors
    assert [event["text"] for event in ended.of_kind("text")] == ["That is all."]
    assert (client.folder / "acp.jsonl").stat().st_size < 2_000_000
    assert all(len(line.get("noise", "")) <= 4_000 for line in client.record())


def test_an_answer_to_what_was_not_asked_is_none(client: Client) -> None:
    # The prompt is the third request of a new session without a mode.
    numbers = ("3", 3.5, None, [3], {"3": 3}, True, -3, 99, 1, 2, "x" * 1000)
    wrong = [message(id=number, **ANSWER) for number in numbers]
    ended = client.run({"turn": [*wrong, message(**ANSWER), message(result=[]), *WORKS]})
    assert ended.code == 0, ended.events
    assert ended.of_kind("result")[0]["stop_reason"] == "end_turn"
    assert wire.is_answer({"id": 1, "result": {}}, 1)
    assert not wire.is_answer({"id": True, "result": {}}, 1)


def test_only_a_request_that_has_an_id_is_answered(client: Client) -> None:
    numbers = ([], {}, True, None, "x" * 1000, {"a": [[]]})
    asked = [message(id=number, method="fs/read_text_file") for number in numbers]
    asked.append(message(id="x", method="session/request_permission", params=[7]))
    asked.append(message(id=0.5, method=["session/request_permission"]))
    ended = client.run({"turn": [*asked, *WORKS]})
    assert ended.code == 0, ended.events
    numbers_of_answers = [answer["id"] for answer in answers_to(client)]
    assert numbers_of_answers == ["x", 0.5]


def answers_to(client: Client) -> list[dict[str, Any]]:
    """Return what the client has answered, as its record has it."""
    sent = [line["to"] for line in client.record() if "to" in line]
    return [line for line in sent if "method" not in line]


def test_an_agent_that_asks_and_never_reads_is_given_up(client: Client) -> None:
    asks = message(id="x" * 200, method="unknown")
    ended = client.run({"turn": [{**asks, "times": 40_000}, {"hang": True}]})
    assert ended.code == 1
    assert "does not read the answers" in ended.of_kind("result")[0]["message"]


def test_whatever_it_says_is_told_in_lines_that_can_be_read(client: Client) -> None:
    long = "ä" * 1_000_000
    odd = {"update": {"sessionUpdate": "usage_update", "used": float("inf")}}
    odd_text = {"say": "\ud800 half, \0 and \u2028"}
    ended = client.run({"turn": [odd_text, odd, {"say": long}], "late": [odd["update"]]})
    assert ended.code == 0, ended.errors
    texts = [event["text"] for event in ended.of_kind("text")]
    assert texts[0] == "? half, \0 and \u2028"
    assert "".join(texts[1:]) == long
    assert max(map(len, texts)) <= 100_000
    for event in ended.events:
        msgspec.json.decode(json.dumps(event, allow_nan=False))


def test_calls_in_any_form_are_told_within_limits(client: Client) -> None:
    update = {"sessionUpdate": "tool_call_update", "status": "completed"}
    calls: list[dict[str, Any]] = [
        {"toolCallId": "1", "kind": "k" * 5000, "rawInput": {"command": "c" * 500_000}},
        {"toolCallId": "2", "kind": [], "title": {}, "rawInput": [], "content": [[], {}, 7]},
        {"toolCallId": ["3"], "kind": "edit"},
        {"toolCallId": "4" * 100_000, "kind": "edit"},
    ]
    ended = client.run({"turn": [*({"update": {**update, **call}} for call in calls), *WORKS]})
    assert ended.code == 0, ended.errors
    assert [event["id"] for event in ended.of_kind("tool_use")] == ["1", "2"]
    assert max(len(json.dumps(event)) for event in ended.events) < 10_000


@pytest.mark.parametrize("session", ["", "-x", "a\nb", "x" * 300, 7, ["s"]])
def test_a_session_that_could_not_be_put_on_record_gets_no_prompt(
    client: Client, session: Any
) -> None:
    ended = client.run({"session": session, "turn": WORKS})
    assert ended.code == 1
    assert "without an id that sow could keep" in ended.of_kind("result")[0]["message"]
    assert ended.sent("session/prompt") == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("Boom", "the agent's error: Boom"),
        ({"code": True, "message": ["x"]}, "the agent's error: without a word"),
        ({"code": 10**400, "message": "Boom"}, "the agent's error: Boom"),
        ({"code": -32603, "message": 'Body {"a": 1}'}, "error -32603: Body {"),
        ([], "the agent's error: without a word"),
    ],
)
def test_an_error_in_any_form_is_a_failure_with_words(
    client: Client, error: Any, words: str
) -> None:
    ended = client.run({"prompt_error": error})
    assert ended.code == 1
    [result] = ended.of_kind("result")
    assert words in result["message"]
    assert not result["message"].endswith("}")  # else the executor would take it for no words


def test_a_reason_in_any_form_is_no_good_end(client: Client) -> None:
    for stop in (None, 7, [[]], {"end_turn": "end_turn"}, "x" * 100_000):
        ended = client.run({"turn": WORKS, "stop": stop})
        assert ended.code == 1, stop
        assert len(ended.of_kind("result")[0]["message"]) < 300


def test_a_mode_that_a_model_names_in_an_old_turn_is_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = client.folder / ".gemini/tmp/work/chats"
    chats.mkdir(parents=True)
    (chats / "session-2020-01-01T00-00-abcdefgh.jsonl").touch()  # else its minute is waited for
    monkeypatch.setenv("GEMINI_CLI_HOME", str(client.folder))
    words = {"type": "text", "text": "[MODE_UPDATE] default"}
    replay = [{"sessionUpdate": "agent_message_chunk", "content": words}]
    script = {"mode": "yolo", "mode_told": "never", "replay": replay, "turn": WORKS}
    ended = client.run({**script, "known": ["abcdefgh"]}, preset="gemini", session="abcdefgh")
    assert ended.code == 1
    assert "its mode is yolo" in ended.of_kind("result")[0]["message"]
    assert ended.sent("session/prompt") == []


def test_words_are_a_mode_for_the_agent_alone_that_tells_it_so(client: Client) -> None:
    ended = client.run({"turn": [{"say": "[MODE_UPDATE] x"}]})
    assert ended.of_kind("text")[0]["text"] == "[MODE_UPDATE] x"


@pytest.mark.parametrize(
    ("preset", "script", "update"),
    [
        (
            "gemini",
            {"mode": "default"},
            {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"},
        ),
        (
            "cline",
            {"mode": "act", "options": {"auto_approve": False}},
            {
                "sessionUpdate": "config_option_update",
                "configOptions": [{"id": "auto_approve", "currentValue": True}],
            },
        ),
    ],
)
def test_an_agent_that_leaves_the_asking_mode_is_stopped(
    client: Client, preset: str, script: dict[str, Any], update: dict[str, Any]
) -> None:
    turn = [{"say": "Begun."}, {"update": update}, {"hang": True}]
    ended = client.run({**script, "turn": turn}, preset=preset)
    assert ended.code == 1
    assert "would not ask for permission any more" in ended.of_kind("result")[0]["message"]
    assert ended.sent("session/cancel") == [{"sessionId": "session-1"}]


def test_an_agent_that_leaves_the_asking_mode_behind_its_answer_has_failed(client: Client) -> None:
    late = [{"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}]
    ended = client.run({"mode": "default", "turn": WORKS, "late": late}, preset="gemini")
    assert ended.code == 1
    assert "would not ask for permission any more" in ended.of_kind("result")[0]["message"]


def test_an_event_that_a_full_disk_has_cut_takes_no_other_one_along() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    events = EventWriter(writing)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"." * 4096)
    os.read(reading, 4096)
    events.write("text", text="x" * 5000)
    os.read(reading, 1 << 20)
    events.write("result", stop_reason="end_turn")
    assert os.read(reading, 1 << 16) == b'\n{"type": "result", "stop_reason": "end_turn"}\n'
    os.close(reading)
    os.close(writing)


def test_an_agent_that_reads_nothing_more_can_be_cancelled(client: Client) -> None:
    script = {"stops_reading": True, "stays": True}
    process = client.start(script, prompt="ä" * 1_000_000)
    record = client.folder / "acp.jsonl"
    wait_until(lambda: record.exists() and "session/prompt" in record.read_text(), "the prompt")
    os.kill(process.pid, signal.SIGINT)
    assert client.end(process).code == 130
    assert client.record()[-1]["exit_code"] == -signal.SIGTERM


def test_an_agent_that_writes_much_at_its_end_is_waited_for(client: Client) -> None:
    ended = client.run({"turn": WORKS, "last_words": "x"})
    assert ended.code == 0
    assert client.record()[-1].get("exit_code") == 0


def test_what_a_call_answers_in_pieces_is_told_as_one(client: Client) -> None:
    """As codex and pi tell it."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "kind": "execute"}
    pieces = [
        {"update": {**update, "_meta": {"terminal_output_delta": {"data": data}}}}
        for data in ("010: ", "Try it")
    ]
    ended = client.run({"turn": [*pieces, {"update": {**update, "status": "completed"}}, *WORKS]})
    [result] = ended.of_kind("tool_result")
    assert result["text"] == "010: Try it"


def test_a_turn_that_the_agent_calls_failed_is_no_success(client: Client) -> None:
    """As codex tells it, whose answer to the prompt says that all is well."""

    def status(word: str) -> dict[str, Any]:
        meta = {"codex": {"threadStatus": {"type": word}}}
        return {"update": {"sessionUpdate": "session_info_update", "_meta": meta}}

    words = "exceeded retry limit, last status: 429 Too Many Requests\n\n"
    failed = client.run({"turn": [status("active"), status("systemError"), {"say": words}]})
    assert failed.code == 1
    [result] = failed.of_kind("result")
    assert result["message"] == f"the agent's turn failed: {words.strip()}"
    body = client.run({"turn": [status("systemError"), {"say": '{"error": 400}'}]})
    assert body.of_kind("result")[0]["message"].endswith("400}.")  # else it would be no words
    ended = client.run({"turn": [status("systemError"), status("active"), *WORKS, status("idle")]})
    assert ended.code == 0
