"""A person leads a project with the real Claude Code on a terminal, by `sow start`."""

import json

import pytest
from journey import shell_commands, tool_results
from sandbox import Sandbox
from terminal import PROMPT, open_terminal

pytestmark = pytest.mark.real

GOAL = "Sign-in is to be written down."
NEW = "sow project new Sign-in"
FOREIGN = 'python3 -c \'print(7, file=open("made", "w"))\''


def test_it_may_lead_the_project_and_asks_the_person_for_all_else(sandbox: Sandbox) -> None:
    assert sandbox.run("git", "init", "-q", "-b", "main").returncode == 0
    assert sandbox.sow("init").returncode == 0
    sandbox.behave(commands=["sow next", NEW, FOREIGN])
    made = sandbox.repository / "made"
    with open_terminal(sandbox, "start", GOAL) as terminal:
        terminal.wait_until(lambda: b"python3" in terminal.shown, "the question")
        assert (sandbox.repository / ".sow/project/state.yaml").exists(), "nobody was asked"
        assert not made.exists()
        terminal.type("\x1b")  # no
        terminal.wait_until(lambda: PROMPT in terminal.shown[-3000:], "a prompt")
        terminal.type("/exit\r")
        terminal.wait_until(terminal.has_ended, "the end")
        assert terminal.process.returncode == 0
    assert not made.exists()
    asked = next(request for request in reversed(sandbox.requests()) if GOAL in json.dumps(request))
    assert shell_commands(asked)[:2] == ["sow next", NEW]
    first, second = (json.dumps(result) for result in tool_results(asked)[:2])
    assert NEW.rpartition(" ")[0] in first, "what to do next is a new project"
    assert "Sign-in" in second
    assert "sow prompt guidance/orchestrator/base" in json.dumps(asked["system"])
