"""The model server itself, spoken to without Claude Code."""

import json
import random
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from sandbox import read_lines

Json = dict[str, Any]
TOOLS = [{"name": "Read"}, {"name": "Bash"}]
METADATA = {"user_id": "one session"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: ModelServer, *messages: Json, path: str = "/v1/messages", **more: Any) -> Any:
    """Return status and body of a request of the main loop."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    fields = {"model": "m", "tools": TOOLS, "metadata": METADATA, "messages": messages, **more}
    try:
        connection.request("POST", path, json.dumps(fields))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def say(text: str) -> Json:
    return {"role": "user", "content": text}


def result_of(use: Json, **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": use["id"], "content": "ok", **more}
    return {"role": "user", "content": [block]}


def turn(server: ModelServer, *messages: Json) -> Json:
    """Return the model's next message, as it stands in the next request."""
    status, body = ask(server, *messages)
    assert status == 200, body
    return {"role": "assistant", "content": json.loads(body)["content"]}


def test_a_task_is_reported_command_by_command(server: ModelServer) -> None:
    task_id = str(random.randrange(100, 100000))
    talk = [say(f"Your task: .sow/project/phases/build/tasks/{task_id}/")]
    commands = []
    while True:
        talk.append(turn(server, *talk))
        use = talk[-1]["content"][-1]
        if use["type"] == "text":
            break
        commands.append(use["input"]["command"])
        talk.append(result_of(use))
    assert commands == [
        'sow agent log "Read the task; nothing is in the way"',
        f"sow task set --id {task_id} status needs_review",
    ]


def test_a_later_prompt_begins_the_commands_again(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "behaviour.json").write_text('{"commands": ["echo {task_id}"]}')
    talk = [say("task 010")]
    for prompt in ("go on", "task 020, now"):
        talk.append(turn(server, *talk))
        assert talk[-1]["content"][-1]["input"]["command"] == "echo 010"
        talk.append(result_of(talk[-1]["content"][-1]))
        talk.append(turn(server, *talk))
        assert talk[-1]["content"][-1]["type"] == "text"
        talk.append(say(prompt))
    assert turn(server, *talk)["content"][-1]["input"]["command"] == "echo 020"


def test_what_the_client_adds_for_itself_is_no_prompt(server: ModelServer) -> None:
    reminder = {"type": "text", "text": "<system-reminder>task 999</system-reminder>"}
    words = {"type": "text", "text": "task 010"}
    talk = [{"role": "user", "content": [words]}, {"role": "user", "content": [reminder]}]
    talk.append({"role": "system", "content": "task 998"})
    log = turn(server, *talk)
    report = turn(server, *talk, log, result_of(log["content"][-1]))
    assert report["content"][-1]["input"]["command"].endswith("--id 010 status needs_review")


def test_a_missing_tool_result_is_refused(server: ModelServer, tmp_path: Path) -> None:
    prompt = say("task 010")
    status, _ = ask(server, prompt, turn(server, prompt), say("and?"))
    assert status == 400
    assert "no tool_result for" in read_lines(tmp_path / "failures.jsonl")[0]["why"]


def test_a_tool_use_that_the_client_forgot_is_refused(server: ModelServer, tmp_path: Path) -> None:
    """Use and result both gone: nothing in the request alone tells it."""
    prompt = say("task 010")
    use = turn(server, prompt)["content"][-1]
    status, _ = ask(server, prompt)
    assert status == 400
    why = read_lines(tmp_path / "failures.jsonl")[0]["why"]
    assert why == f"the result of {use['id']} never came"


def test_a_killed_client_may_forget_where_the_test_says_so(
    server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "behaviour.json").write_text('{"forgives": true}')
    prompt = say("task 010")
    turn(server, prompt)
    assert ask(server, prompt)[0] == 200


def test_a_prompt_that_names_no_task_is_refused(server: ModelServer) -> None:
    log = turn(server, say("hello"))
    assert ask(server, say("hello"), log, result_of(log["content"][-1]))[0] == 400


def test_a_side_request_moves_no_task(server: ModelServer, tmp_path: Path) -> None:
    status, body = ask(server, say("task 010"), tools=[])
    assert status == 200
    assert [block["type"] for block in json.loads(body)["content"]] == ["text"]
    assert ask(server, say("x"), path="/v1/messages/count_tokens?beta=true")[0] == 200
    kinds = [line["kind"] for line in read_lines(tmp_path / "requests.jsonl")]
    assert kinds == ["side", "side"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 529])
def test_an_error_befalls_as_many_requests_as_asked(
    server: ModelServer, tmp_path: Path, status: int
) -> None:
    (tmp_path / "behaviour.json").write_text(json.dumps({"status": status, "times": 2}))
    seen = [ask(server, say("task 010"))[0] for _ in range(3)]
    assert seen == [status, status, 200]


def test_a_stream_says_the_same_as_a_whole_answer(server: ModelServer) -> None:
    status, body = ask(server, say("task 010"), stream=True)
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: ")]
    assert status == 200
    assert events[-1] == {"type": "message_stop"}
    assert [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
    tool = next(
        event
        for event in events
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta"
    )
    assert "sow agent log" in json.loads(tool["delta"]["partial_json"])["command"]


def test_a_cut_stream_has_no_end_and_owes_no_result(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "behaviour.json").write_text('{"cut": 3, "times": 1}')
    _, cut = ask(server, say("task 010"), stream=True)
    assert b"message_start" in cut
    assert b"message_stop" not in cut
    status, whole = ask(server, say("task 010"))
    assert (status, json.loads(whole)["stop_reason"]) == (200, "tool_use")


def test_soon_is_a_time_in_the_future(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "behaviour.json").write_text('{"headers": [["x-reset", "{soon}"]]}')
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    body = {"tools": TOOLS, "messages": [say("task 010")]}
    connection.request("POST", "/v1/messages", json.dumps(body))
    assert float(connection.getresponse().headers["x-reset"]) > time.time()
    connection.close()
