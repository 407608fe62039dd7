"""What an agent of OpenCode may do, and what a run is taken for that a question has ended."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sow.executors.base import Ending, Event, EventKind, LaunchRequest, Observation
from sow.executors.opencode import AGENT, PERMISSIONS, permissions_for
from sow.executors.registry import make_executor
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

CONFIG = ExecutorConfig(name="opencode", type=ExecutorType.OPENCODE)
REQUEST = LaunchRequest(
    session=None,
    prompt="Do it.",
    prompt_file=Path("/run/prompt.md"),
    task_dir=Path("/home/u/repo/.sow/010"),
    cwd=Path("/home/u/repo"),
    as_root=False,
    commands=("task show", "worker list", "agent log"),
)


def test_nothing_is_left_to_be_asked_for() -> None:
    env = make_executor(CONFIG).spawn(REQUEST).env
    assert json.loads(env["OPENCODE_PERMISSION"]) == dict.fromkeys(PERMISSIONS, "deny")
    content = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    assert content["agent"].keys() == {AGENT}
    assert content["agent"][AGENT]["permission"].keys() <= set(PERMISSIONS)
    assert '"ask"' not in str(env)


def test_of_two_commands_the_longer_counts_and_others_are_not_named() -> None:
    request = replace(
        REQUEST,
        commands=("worker list", "task", "task show now"),
        denied=("worker", "task show", "merge"),
    )
    bash = permissions_for(request)["bash"]
    assert list(bash.items()) == [
        ("sow task *", "allow"),
        ("sow worker list *", "allow"),
        ("sow task show *", "deny"),
        ("sow task show now *", "allow"),
    ]


def test_what_it_may_read_outside_it_must_not_write() -> None:
    request = replace(
        REQUEST,
        readable=(Path("/home/u/.cache/sow/one"),),
        unwritable=(Path("/home/u/repo/.sow/refs/one"),),
    )
    rules: dict[str, Any] = permissions_for(request)
    assert rules["external_directory"]["/home/u/.cache/sow/one/*"] == "allow"
    refused = {rule for rule, action in rules["edit"].items() if action == "deny"}
    assert {"../*", ".git/*"} <= refused
    assert ".sow/refs/one/*" in refused, "as it lies from the top of the repository"
    assert "home/u/.cache/sow/one/*" in refused, "as it lies without a repository"


def test_a_run_that_a_question_has_ended_was_refused_something() -> None:
    """A user may let the agent `sow` ask: nobody answers, and it ends with exit code 0."""
    seen = Observation().after(Event(EventKind.SESSION, session_id="ses_1", is_kept=True))
    executor = make_executor(CONFIG)
    ending = Ending(0, None, "", "")
    assert executor.classify(ending, seen).cause is Cause.CRASHED
    refused = seen.after(Event(EventKind.DENIAL, tool="bash: date", is_error=True))
    verdict = executor.classify(ending, refused)
    assert (verdict.cause, "agent.sow.permission" in verdict.reason) == (Cause.DENIED, True)


def test_a_step_without_a_price_costs_what_nobody_knows() -> None:
    tokens = {"input": 5, "output": 1, "reasoning": 2, "cache": {"read": 3, "write": 4}}
    for cost, usd in ((0.25, 0.25), (0, None), (-1, None), ("1", None), (True, None)):
        part = {"messageID": "msg_1", "reason": "tool-calls", "tokens": tokens, "cost": cost}
        line = json.dumps({"type": "step_finish", "sessionID": "ses_1", "part": part})
        [event] = make_executor(CONFIG).read_line(line.encode())
        assert (event.kind, event.message, event.cost_usd) == (EventKind.USAGE, "msg_1", usd)
        assert (event.tokens.input, event.tokens.output) == (5, 3)
        assert (event.tokens.cache_read, event.tokens.cache_write) == (3, 4)
