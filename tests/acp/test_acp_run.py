"""A run of the client with an agent that speaks as the real ones were recorded to do."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from acp.conftest import Client
from journeys.site import wait_until

from sow.acp import conversation
from sow.acp.conversation import Conversation, Failed
from sow.acp.event_writer import EventWriter
from sow.acp.presets import PRESETS
from sow.acp.run_orders import read_orders

pytestmark = pytest.mark.slow  # each test starts the client and its agent

OWN = "sow task show 010"


def call(line: str, **fields: Any) -> dict[str, Any]:
    """Return a call of a tool that runs a command, as an agent asks for it."""
    return {
        "toolCallId": "1",
        "kind": "execute",
        "title": "x",
        "rawInput": {"command": line},
        **fields,
    }


def tool(status: str, **fields: Any) -> dict[str, Any]:
    """Return an update of a tool's call."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": status}
    return {"update": {**update, **fields}}


WORKS = [{"say": "That "}, {"say": "is all."}]


def test_a_turn_is_told_from_its_session_to_its_result(client: Client) -> None:
    output = [{"type": "content", "content": {"type": "text", "text": "010: Try it"}}]
    turn = [
        {"say": "Let me "},
        {"say": "look."},
        tool("pending", title="Shell", rawInput={}),
        {"ask": {"toolCall": call(OWN)}},
        tool("completed", content=output),
        {"say": "Done."},
    ]
    usage = {"usage": {"inputTokens": 5, "outputTokens": 2}}
    late = [{"sessionUpdate": "usage_update", "used": 7, "size": 9}]
    ended = client.run({"turn": turn, "answer": usage, "late": late})
    assert ended.code == 0, ended.errors
    kinds = ["session", "text", "tool_use", "permission", "tool_result", "text"]
    assert ended.kinds[:6] == kinds
    assert sorted(ended.kinds[6:]) == ["result", "usage", "usage"]
    assert ended.kinds[-1] == "result"
    assert [event["text"] for event in ended.of_kind("text")] == ["Let me look.", "Done."]
    assert ended.of_kind("session")[0]["session_id"] == "session-1"
    assert ended.of_kind("tool_use")[0] == {
        **{"type": "tool_use", "id": "1", "tool": "execute"},
        "text": OWN,
    }
    assert ended.of_kind("tool_result")[0]["text"] == "010: Try it"
    assert {"type": "usage", **usage} in ended.events
    [prompt] = ended.sent("session/prompt")
    assert prompt == {"sessionId": "session-1", "prompt": [{"type": "text", "text": "Do it."}]}
    assert ended.sent("session/new") == [{"cwd": str(client.work), "mcpServers": []}]
    [answer] = ended.answers
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "once"}}


def test_every_line_of_the_wire_is_on_record(client: Client) -> None:
    ended = client.run({"turn": [{"write": "no JSON"}, *WORKS]})
    assert ended.code == 0, ended.errors
    record = client.record()
    assert [line["to"]["method"] for line in record if "to" in line] == [
        *("initialize", "session/new", "session/prompt")
    ]
    assert len([line for line in record if "from" in line]) == 5
    assert [line["noise"] for line in record if "noise" in line] == ["no JSON"]
    assert record[-1]["exit_code"] == 0
    assert (client.folder / "acp.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_record_of_the_wire_has_the_names_of_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", 'sk-0815 "4711"')
    script = {"turn": [{"write": 'oh: sk-0815 "4711"'}, *WORKS]}
    ended = client.run(script, prompt='It is sk-0815 "4711".', secrets=["API_KEY"])
    assert ended.code == 0, ended.errors
    text = (client.folder / "acp.jsonl").read_text("utf-8")
    assert "sk-0815" not in text
    assert [line["noise"] for line in client.record() if "noise" in line] == ["oh: [API_KEY]"]
    assert "It is [API_KEY]." in text


def test_a_prompt_reaches_the_agent_as_it_is(client: Client) -> None:
    for prompt in ("/clear and more", "@NAME\n\n!ls", "ä" * 600_000):
        ended = client.end(client.start({"turn": WORKS}, prompt=prompt))
        assert ended.code == 0
        assert ended.sent("session/prompt")[-1]["prompt"][0]["text"] == prompt


def test_no_word_of_a_prompt_names_a_file_to_an_agent_that_would_add_it(client: Client) -> None:
    script = {"mode": "act", "options": {"auto_approve": False}, "turn": WORKS}
    process = client.start(script, prompt="@NAME, a@NAME, (@NAME)\n@NAME", preset="cline")
    ended = client.end(process)
    assert ended.code == 0, ended.events
    [params] = ended.sent("session/prompt")
    assert params["prompt"][0]["text"] == "\\@NAME, a@NAME, (@NAME)\n\\@NAME"


def test_what_is_refused_is_told_and_the_turn_goes_on(client: Client) -> None:
    turn = [{"ask": {"toolCall": call("npm test")}}, tool("failed"), *WORKS]
    ended = client.run({"turn": turn})
    assert ended.code == 0
    [denial] = ended.of_kind("denial")
    assert (denial["rule"], denial["option"]) == ("npm test", "reject")
    assert ended.answers[0]["result"]["outcome"]["optionId"] == "reject"
    assert ended.of_kind("tool_result")[0]["is_error"] is True


@pytest.mark.one_of
@pytest.mark.parametrize("stop", ["end_turn", "cancelled"])
def test_an_agent_whose_turn_a_refusal_has_ended_is_asked_to_go_on(
    client: Client, stop: str
) -> None:
    refused = {"turn": [{"ask": {"toolCall": call("npm test")}}, tool("failed")], "stop": stop}
    ended = client.run({"turns": [refused, refused, {"turn": WORKS}]})
    assert ended.code == 0, ended.events
    prompts = [params["prompt"][0]["text"] for params in ended.sent("session/prompt")]
    assert prompts[0] == "Do it."
    assert len(prompts) == 3
    assert all("has refused this: npm test" in prompt for prompt in prompts[1:])
    for_ever = client.run({"turns": [refused]})
    assert len(for_ever.sent("session/prompt")) == len(ended.sent("session/prompt")) + 11
    assert for_ever.code == (0 if stop == "end_turn" else 1)


def test_what_an_agent_notes_of_its_own_ended_turn_is_no_answer(client: Client) -> None:
    copilot = PRESETS["copilot"]
    script = {"mode": copilot.mode, "options": dict(copilot.options)}
    asks, fails = {"ask": {"toolCall": call("npm test")}}, tool("failed")
    refused = {"turn": [asks, fails, {"say": "Info: Operation cancelled by user"}]}
    ended = client.run({**script, "turns": [refused, {"turn": WORKS}]}, preset="copilot")
    assert ended.code == 0, ended.events
    assert len(ended.sent("session/prompt")) == 2
    answered = {"turn": [asks, fails, {"say": "I cannot test it."}]}
    before = len(ended.sent("session/prompt"))
    ended = client.run({**script, "turns": [answered, {"turn": WORKS}]}, preset="copilot")
    assert len(ended.sent("session/prompt")) == before + 1


def test_with_yolo_mode_all_is_allowed_once(client: Client) -> None:
    ended = client.run({"turn": [{"ask": {"toolCall": call("npm test")}}, *WORKS]}, allows_all=True)
    assert ended.answers[0]["result"]["outcome"]["optionId"] == "once"
    assert ended.of_kind("denial") == []


def test_any_other_request_of_the_agent_is_refused_as_unknown(client: Client) -> None:
    ended = client.run({"turn": [{"request": "fs/read_text_file"}, *WORKS]})
    assert ended.code == 0
    assert ended.answers[0]["error"]["code"] == -32601


REPLAYED = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "of old"},
}


def test_a_session_is_loaded_and_its_replay_told_to_nobody(client: Client) -> None:
    script = {"known": ["old"], "replay": [REPLAYED], "late_replay": [REPLAYED], "turn": WORKS}
    ended = client.run(script, session="old")
    assert ended.code == 0, ended.errors
    assert [event["text"] for event in ended.of_kind("text")] == ["That is all."]
    assert ended.of_kind("session")[0]["session_id"] == "old"
    assert ended.sent("session/load") == [
        {"sessionId": "old", "cwd": str(client.work), "mcpServers": []}
    ]
    assert ended.sent("session/new") == []


def test_a_session_is_resumed_without_a_replay_where_the_agent_can(client: Client) -> None:
    ended = client.run({"known": ["old"], "resumes": True, "turn": WORKS}, session="old")
    assert ended.code == 0
    assert ended.sent("session/load") == []
    assert len(ended.sent("session/resume")) == 1


def test_a_session_that_the_agent_does_not_know_begins_no_other(client: Client) -> None:
    ended = client.run({"turn": WORKS}, session="unknown")
    assert ended.code == 1
    [result] = ended.of_kind("result")
    assert (result["cause"], result["code"]) == ("session_unknown", -32002)
    assert "cannot go on in session unknown" in result["message"]
    assert ended.sent("session/new") == ended.sent("session/prompt") == []
    assert ended.of_kind("session") == []


@pytest.mark.parametrize("way", ["option", "update", "words"])
def test_the_asking_mode_is_set_and_read_back(client: Client, way: str) -> None:
    script = {"mode": "auto", "mode_told": way, "turn": WORKS}
    ended = client.run(script, preset="gemini")
    assert ended.code == 0, ended.events
    methods = [message.get("method") for message in ended.got]
    setting = "session/set_config_option" if way == "option" else "session/set_mode"
    assert methods[2:] == [setting, "session/prompt"]


def test_a_mode_that_holds_already_need_not_be_set(client: Client) -> None:
    ended = client.run({"mode": "default", "mode_told": "never", "turn": WORKS}, preset="gemini")
    assert ended.code == 0


def test_no_prompt_reaches_an_agent_that_would_not_ask(client: Client) -> None:
    ended = client.run({"mode": "yolo", "mode_told": "never", "turn": WORKS}, preset="gemini")
    assert ended.code == 1
    assert "would not ask for permission: its mode is yolo" in ended.of_kind("result")[0]["message"]
    assert ended.sent("session/prompt") == []


def test_an_option_that_must_hold_is_set_and_read_back(client: Client) -> None:
    script = {"mode": "act", "options": {"auto_approve": True}, "turn": WORKS}
    ended = client.run(script, preset="cline")
    assert ended.code == 0, ended.events
    [params] = ended.sent("session/set_config_option")
    assert (params["configId"], params["value"]) == ("auto_approve", False)
    refused = client.run({**script, "settable": []}, preset="cline")
    assert refused.code == 1
    assert "auto_approve is True" in refused.of_kind("result")[0]["message"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"version": 2}, "speaks version 2"),
        ({"version": None}, "speaks version None"),
        ({"loads": False}, "cannot load a session"),
    ],
)
def test_an_agent_that_is_not_fit_is_told_apart(
    client: Client, script: dict[str, Any], words: str
) -> None:
    ended = client.run(script)
    assert ended.code == 6
    assert words in ended.of_kind("result")[0]["message"]
    assert ended.sent("session/new") == []


@pytest.mark.parametrize(
    ("script", "cause", "words"),
    [
        ({"new_error": {"code": -32000, "message": "Auth"}}, "auth", "error -32000: Auth"),
        (
            {"prompt_error": {"code": -32603, "message": "x", "data": {"details": "429 y"}}},
            "api_error",
            "error -32603: x: 429 y",
        ),
        ({"turn": []}, "api_error", "without a word and without a tool's call"),
        ({"turn": [{"say": " \n"}]}, "api_error", "without a word and without a tool's call"),
        ({"turn": WORKS, "stop": "refusal"}, "stopped", "ended with 'refusal'"),
        ({"turn": WORKS, "stop": "max_tokens"}, "stopped", "ended with 'max_tokens'"),
        ({"turn": [{"exit": 3}]}, "ended", "has ended with exit code 3"),
    ],
)
def test_a_turn_that_came_to_nothing_is_no_success(
    client: Client, script: dict[str, Any], cause: str, words: str
) -> None:
    ended = client.run(script)
    assert ended.code == 1
    result = ended.of_kind("result")[-1]
    assert result["is_error"] is True
    assert (result["cause"], words in result["message"]) == (cause, True), result


def test_an_agent_that_wants_a_login_tells_the_ways(client: Client) -> None:
    ended = client.run({"key": "NO_SUCH_KEY", "turn": WORKS})
    [result] = ended.of_kind("result")
    assert (ended.code, result["cause"]) == (1, "auth")
    assert "its ways to log in: Stand-in login: Run it with `login`" in result["message"]


NO_METHOD = json.dumps({"id": 1, "error": {"code": -32601, "message": "Method not found"}})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("echo Welcome", "it has written 'Welcome' and has ended with exit code 0"),
        ('echo \'{"type": "thread.started"}\'', "has ended with exit code 0"),
        (f"read request; echo '{NO_METHOD}'; cat", "error -32601: Method not found"),
    ],
)
def test_a_program_that_is_no_agent_is_told_as_that(client: Client, line: str, words: str) -> None:
    ended = client.run({}, command=["/bin/sh", "-c", line])
    [result] = ended.of_kind("result")
    assert (ended.code, result["cause"]) == (6, "unfit")
    assert result["message"].startswith("the program does not speak ACP: ")
    assert words in result["message"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kill -9 $$", "has ended with exit code -9 before it had answered initialize; it has"),
        ("exit 137", "exit code 137 before it had answered initialize; it has written 'Hello'"),
        ("exit 143", "exit code 143 before it had answered initialize"),
        ("echo 'fetch failed: ENETUNREACH' >&2; exit 1", "exit code 1 before it had answered"),
        ("printf '\\033[31mError: 429\\033[0m\\n'; exit 1", "it has written 'Hello', 'Error: 429'"),
    ],
)
def test_an_agent_that_greets_and_dies_is_an_agent(client: Client, line: str, words: str) -> None:
    ended = client.run({}, command=["/bin/sh", "-c", f"echo Hello; {line}"])
    [result] = ended.of_kind("result")
    assert (ended.code, result["cause"]) == (1, "ended")
    assert words in result["message"]


def test_the_first_and_the_last_lines_that_are_no_message_are_kept(client: Client) -> None:
    ended = client.run({}, command=["/bin/sh", "-c", "seq 9; exit 1"])
    [result] = ended.of_kind("result")
    assert result["message"].endswith("it has written '1', '8', '9'")


class Talker:
    """A program that has written a line of text, and answers after a while of its own clock."""

    prose = ("Welcome",)
    now = 0.0
    answers_at = 1e9

    def send(self, message: dict[str, Any]) -> None:
        """Read a message, and answer nothing."""

    def monotonic(self) -> float:
        """Return its time."""
        return self.now

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Answer with another version of the protocol, once it is time."""
        self.now += seconds
        is_time = self.now >= self.answers_at
        return {"id": 1, "result": {"protocolVersion": 2}} if is_time else None


@pytest.mark.parametrize(
    ("answers_at", "words"),
    [(170.0, "the agent speaks version 2"), (190.0, "'Welcome' and answers nothing")],
)
def test_a_program_that_talks_has_as_long_for_its_answer_as_any_other(
    client: Client, monkeypatch: pytest.MonkeyPatch, answers_at: float, words: str
) -> None:
    client.end(client.start({"turn": WORKS}))
    orders = read_orders(client.folder / "acp.json")
    talker = Talker()
    talker.answers_at = answers_at
    monkeypatch.setattr(conversation, "time", talker)
    with pytest.raises(Failed, match=words) as failed:
        Conversation(orders, talker, EventWriter()).run("Do it.")  # type: ignore[arg-type]
    assert failed.value.cause == "unfit"


def test_an_agent_s_words_of_its_failure_reach_standard_error(client: Client) -> None:
    assert "stand-in: fatal" in client.run({"turn": [{"exit": 3}]}).errors


def test_an_agent_that_is_not_there_is_missing(client: Client) -> None:
    ended = client.run({}, command=["no-such-agent"])
    assert ended.code == 127
    assert "no-such-agent: No such file" in ended.errors


@pytest.mark.parametrize("deaf", [False, True])
@pytest.mark.parametrize("stays", [False, True])
def test_a_cancel_comes_in_stages_and_leaves_nothing(
    client: Client, deaf: bool, stays: bool
) -> None:
    mark = client.folder / "begun"
    turn = [{"say": "Begun."}, {"touch": str(mark)}, {"hang": True}]
    process = client.start({"turn": turn, "deaf": deaf, "stays": stays})
    wait_until(mark.exists, "the agent's turn")
    os.kill(process.pid, signal.SIGINT)
    ended = client.end(process)
    assert ended.code == 130
    assert ended.sent("session/cancel") == [{"sessionId": "session-1"}]
    assert ended.of_kind("text")[0]["text"] == "Begun."
    assert ended.of_kind("result") == []
    last = client.record()[-1]
    assert last["exit_code"] == (-signal.SIGTERM if stays else 0)


def test_it_imports_nothing_that_is_heavy(client: Client) -> None:
    orders = client.folder / "acp.json"
    assert client.run({"turn": WORKS}).code == 0
    code = (
        "import sys; before = set(sys.modules); sys.argv[1:] = [%r]\n"
        "import runpy\n"
        "try: runpy.run_module('sow.acp', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code % str(orders)],
        input=b"Go.",
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    ours = {name for name in loaded if name.split(".")[0] == "sow"}
    assert {name for name in ours if not name.startswith("sow.acp")} == {"sow"}
    third = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"sow"}
    assert not third & {"msgspec", "click", "yaml", "psutil", "huey", "platformdirs"}
    assert not loaded & {"asyncio", "inspect", "dataclasses", "logging", "email"}


def test_the_words_by_which_an_agent_tells_a_failure_end_no_turn_well(client: Client) -> None:
    """As copilot and pi do, whose turns end as if all were well."""
    copilot = {
        "mode": "https://agentclientprotocol.com/protocol/session-modes#agent",
        "options": {"allow_all": "off"},
    }
    failed = "Error: Authentication failed (HTTP 401)."
    for preset, script, words in (
        ("copilot", copilot, failed),
        ("pi", {}, "Retry finished, resuming."),
    ):
        ended = client.run({**script, "turn": [{"say": "Begun. "}, {"say": words}]}, preset=preset)
        assert ended.code == 1, preset
        assert ended.of_kind("result")[0]["message"] == f"the agent's turn failed: {words}"
        calls = [{"say": words}, tool("completed"), {"say": "Done."}]
        assert client.run({**script, "turn": calls}, preset=preset).code == 0, preset
    assert client.run({"turn": [{"say": failed}]}).code == 0  # of an agent that is not known


def test_a_sandbox_is_told_where_else_its_commands_may_write(client: Client) -> None:
    script = {"mode": "workspace-write", "turn": WORKS}
    for preset, session in (("codex", None), ("codex", "session-1"), ("claude", None)):
        mode = "default" if preset == "claude" else "workspace-write"
        ended = client.run(
            {**script, "mode": mode}, preset=preset, session=session, writable=["/w"]
        )
        [params] = ended.sent("session/load" if session else "session/new")[-1:]
        assert params.get("additionalDirectories") == (["/w"] if preset == "codex" else None)
