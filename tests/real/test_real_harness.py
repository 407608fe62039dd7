"""The real Claude Code and the model server, without sow: is the ground firm?"""

import json
import random
import uuid

import pytest
from journey import shell_commands
from sandbox import Json, Sandbox, end_of, wait_until
from scripted_model import HANG

pytestmark = pytest.mark.real

CLAUDE = ("claude", "-p", "--output-format", "stream-json", "--verbose")


def prompt_for(task_id: str) -> str:
    return f"Carry out task {task_id}.\nIt lies in .sow/project/phases/build/tasks/{task_id}/"


def events(output: str) -> list[Json]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.one_of("the ground below real agents")
def test_a_spawn_runs_the_commands_that_the_model_asks_for(sandbox: Sandbox) -> None:
    task_id = str(random.randrange(1000, 10000))
    sandbox.behave(commands=["touch seen-{task_id}", "ls"])
    done = sandbox.run(*CLAUDE, "--permission-mode", "acceptEdits", stdin=prompt_for(task_id))
    assert (done.returncode, done.stderr) == (0, "")
    assert (sandbox.repository / f"seen-{task_id}").exists()
    results = [
        block
        for event in events(done.stdout)
        if event["type"] == "user"
        for block in event["message"]["content"]
    ]
    assert [result["is_error"] for result in results] == [False, False]
    assert results[1]["content"] == f"seen-{task_id}"
    assert sandbox.failures() == []


@pytest.mark.one_of("the ground below real agents")
def test_a_resume_sends_the_earlier_conversation(sandbox: Sandbox) -> None:
    session = str(uuid.uuid4())
    sandbox.behave(commands=["echo {task_id}"])
    sandbox.run(*CLAUDE, "--session-id", session, stdin=prompt_for("4710"))
    first = len(sandbox.requests())
    done = sandbox.run(*CLAUDE, "--resume", session, stdin="Once more, please.")
    assert done.returncode == 0, done.stderr
    request = sandbox.requests()[first]
    text = json.dumps(request["messages"])
    assert "task 4710" in text
    assert "Once more, please." in text
    assert shell_commands(request) == ["echo 4710"]
    assert sandbox.failures() == []


@pytest.mark.one_of("the ground below real agents")
def test_the_model_on_the_command_line_reaches_the_request(sandbox: Sandbox) -> None:
    sandbox.behave(commands=[])
    sandbox.run(*CLAUDE, "--model", "claude-of-the-test", stdin=prompt_for("010"))
    assert {request["model"] for request in sandbox.requests()} == {"claude-of-the-test"}


@pytest.mark.one_of("the ground below real agents")
def test_nothing_survives_the_sandbox(sandbox: Sandbox) -> None:
    sandbox.behave(commands=[HANG])
    process = sandbox.start(*CLAUDE, "--allowedTools", "Bash", stdin=prompt_for("010"))
    wait_until(lambda: HANG in sandbox.namespace.inhabitants().values(), "the command")
    assert HANG in sandbox.namespace.clear().values()
    assert sandbox.namespace.inhabitants() == {}
    end_of(process)
