"""A person takes the real Claude Code's session over on a terminal, by `sow agent open`."""

import json
from collections.abc import Iterator

import pytest
from journey import Journey, shell_commands
from scripted_model import REPORT
from terminal import PROMPT, Terminal, answer_first_questions, open_terminal

pytestmark = pytest.mark.real

WORDS = "Reconsider"


@pytest.fixture(params=["shared", "per-session"])
def terminal(journey: Journey, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """The task's session, open."""
    journey.configure(home=request.param)
    answer_first_questions(journey.sandbox)
    done = journey.spawn()
    assert done.returncode == 0, done.stderr
    with open_terminal(journey.sandbox, "agent", "open", journey.task_id) as opened:
        yield opened


@pytest.mark.one_of
def test_the_conversation_goes_on_and_its_report_stands(
    journey: Journey, terminal: Terminal
) -> None:
    terminal.wait_until(lambda: PROMPT in terminal.shown, "a prompt")
    assert journey.task()["status"] == "in_progress"
    before = len(journey.sandbox.requests())
    terminal.type(WORDS)
    terminal.wait_until(lambda: WORDS.encode() in terminal.shown, "the words")
    terminal.type("\r")
    terminal.wait_until(lambda: journey.task()["status"] == "needs_review", "the report")
    asked = next(
        request
        for request in journey.sandbox.requests()[before:]
        if WORDS in json.dumps(request["messages"])
    )
    earlier = [command.replace("{task_id}", journey.task_id) for command in REPORT]
    assert shell_commands(asked) == earlier
    terminal.type("/exit\r")
    terminal.wait_until(terminal.has_ended, "the end")
    assert terminal.process.returncode == 0
    task = journey.task()
    assert (task["status"], task["iteration"]) == ("needs_review", 1)
    (attempt,) = journey.attempts(2)
    assert (attempt["verb"], attempt["cause"]) == ("open", "reported")
    assert attempt["session_id"] == task["session_id"]
