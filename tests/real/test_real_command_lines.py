"""The real Claude Code takes every command line of the compatibility page, and obeys it."""

import os
from pathlib import Path

import pytest
from executor_cases import CASES, CHOSEN, COMMANDS, Case
from executors.cli_bench import TAIL, Outcome, judge
from sandbox import Sandbox

from sow.executors.base import Ending, LaunchRequest
from sow.executors.registry import make_executor
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Verb

pytestmark = pytest.mark.real

CLAUDE_CASES = [
    case for case in CASES if case.config.type is ExecutorType.CLAUDE and case.verb is not Verb.OPEN
]
"""What a person opens needs a terminal: `test_real_open`."""
NEEDS_A_RULE = "npm test"


def launch(sandbox: Sandbox, case: Case, verb: Verb) -> Outcome:
    """Run one launch of the case's executor and let the executor judge it."""
    executor = make_executor(case.config)
    request = LaunchRequest(
        session=CHOSEN,
        prompt="Carry out task 010.\nIt lies in .sow/project/phases/build/tasks/010/",
        prompt_file=Path("prompt.md"),
        task_dir=Path(".sow/project/phases/build/tasks/010"),
        cwd=sandbox.repository,
        as_root=os.geteuid() == 0,
        commands=COMMANDS,
    )
    made = executor.spawn(request) if verb is Verb.SPAWN else executor.resume(request)
    if verb is case.verb:
        assert made.argv == case.argv
    done = sandbox.run(*made.argv, stdin=made.stdin, environ=made.env)
    ending = Ending(done.returncode, None, done.stderr[-TAIL:], done.stdout[-TAIL:])
    return judge(executor, ending, done.stdout.encode())


@pytest.mark.one_of
@pytest.mark.parametrize("case", CLAUDE_CASES, ids=lambda case: case.title)
def test_claude_takes_the_command_line(case: Case, sandbox: Sandbox) -> None:
    sandbox.behave(commands=["touch made-by-{task_id}", NEEDS_A_RULE])
    if case.verb is Verb.RESUME:
        launch(sandbox, case, Verb.SPAWN)
        (sandbox.repository / "made-by-010").unlink()
    before = len(sandbox.requests())
    outcome = launch(sandbox, case, case.verb)

    assert outcome.ending.code == 0, outcome.ending.stderr_tail
    assert outcome.seen.session_id == CHOSEN.id
    assert outcome.seen.tool_uses == 2
    assert (sandbox.repository / "made-by-010").exists()
    free = case.config.yolo_mode or bool(case.config.allowed_tools)
    assert outcome.seen.denied_tools == (() if free else (f"Bash({NEEDS_A_RULE})",))
    models = {request["model"] for request in sandbox.requests()[before:]}
    assert all("sonnet" in model for model in models) is bool(case.config.model)
    roles = [message["role"] for message in sandbox.requests()[before]["messages"]]
    assert ("assistant" in roles) is (case.verb is Verb.RESUME), "a resume carries what was said"
    assert sandbox.failures() == []
