"""What the real agent CLIs besides Claude Code printed, read by their executors.

The recordings are made by `tests/real/record_natives.py`. There was no sow, so every ending is the
executor's to judge.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sow.executors.base import Ending, Event, EventKind, Executor, Observation
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, SandboxUse
from sow.schema.job import Cause
from sow.schema.usage import Tokens

RECORDINGS = Path(__file__).parents[1] / "recordings"
TAIL = 8192


@dataclass(frozen=True)
class Reading:
    """What sow must make of a recording."""

    cause: Cause
    reason: str = ""
    """A part of the reason."""
    tool_uses: int = 0
    denied: tuple[str, ...] = ()
    began: bool = True
    """Whether the session exists afterwards, as the output tells it."""
    tokens: Tokens | None = None
    """What the totals of its result, or its messages, come to."""
    usd: float | None = None
    """What its messages have cost, where they tell it."""


READINGS: dict[str, dict[str, Reading]] = {
    "codex-0.171.0": {
        "spawn": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=2400, output=150, cache_read=600)
        ),
        "spawn-no-tools": Reading(
            Cause.NO_STATUS, tokens=Tokens(input=800, output=50, cache_read=200)
        ),
        # Its totals count the whole thread: one request before, three now.
        "resume": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=3200, output=200, cache_read=800)
        ),
        # Its sandbox has no list of programs: it lets them run, and they can do nothing outside.
        "denied-tool": Reading(Cause.NO_STATUS, tool_uses=1),
        "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
        "session-in-use": Reading(Cause.NO_STATUS),  # a spawn makes an id of its own
        "session-unknown": Reading(Cause.SESSION_UNKNOWN, "no rollout found", began=False),
        "api-400": Reading(Cause.API_ERROR, "told 400", began=False),
        "api-401": Reading(Cause.AUTH, "401 Unauthorized", began=False),
        "api-403": Reading(Cause.AUTH, "403 Forbidden", began=False),
        "api-404": Reading(Cause.BAD_MODEL, "404 Not Found", began=False),
        "api-429": Reading(Cause.RATE_LIMITED, "429 Too Many Requests", began=False),
        "api-429-retry-after": Reading(Cause.RATE_LIMITED, "429", began=False),
        "api-500": Reading(Cause.API_ERROR, "high demand", began=False),
        "empty-answer": Reading(Cause.NO_STATUS, "without a single tool call", began=False),
        "stream-cut-once": Reading(Cause.NO_STATUS, began=False),
        "unknown-flag": Reading(Cause.BAD_FLAGS, "--no-such-flag", began=False),
        "empty-prompt": Reading(Cause.BAD_FLAGS, "No prompt provided", began=False),
        "slash-command": Reading(Cause.NO_STATUS),
        "terminated": Reading(Cause.CRASHED, "SIGTERM", tool_uses=1),
        "interrupted": Reading(Cause.CRASHED, tool_uses=1),
        "killed": Reading(Cause.CRASHED, "SIGKILL", tool_uses=1),
    },
    # It tells no tokens. It keeps the session from the prompt on, whatever becomes of the first
    # request.
    "copilot-1.0.102": {
        "spawn": Reading(Cause.NO_STATUS, tool_uses=2, tokens=Tokens()),
        "spawn-no-tools": Reading(Cause.NO_STATUS, "without a single tool call"),
        "resume": Reading(Cause.NO_STATUS, tool_uses=2),
        "denied-tool": Reading(
            Cause.DENIED, "not allowed: bash: npm test.", 1, denied=("bash: npm test",)
        ),
        "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
        "session-in-use": Reading(Cause.NO_STATUS),  # it goes on in that session
        "session-unknown": Reading(Cause.SESSION_UNKNOWN, "No session, task", began=False),
        "api-400": Reading(Cause.API_ERROR, "400 told 400"),
        "api-401": Reading(Cause.AUTH, "(HTTP 401)"),
        "api-403": Reading(Cause.AUTH, "(HTTP 403)"),
        "api-404": Reading(Cause.BAD_MODEL, "not found on provider"),
        "api-429": Reading(Cause.CRASHED, "SIGKILL"),  # by the recorder, after a minute
        "api-429-retry-after": Reading(Cause.RATE_LIMITED, "429 told 429"),
        "api-500": Reading(Cause.API_ERROR, "500 told 500"),
        "empty-answer": Reading(Cause.API_ERROR, "No response was returned"),
        "stream-cut-once": Reading(Cause.API_ERROR, "No response was returned"),
        "unknown-flag": Reading(Cause.BAD_FLAGS, "--no-such-flag", began=False),
        "empty-prompt": Reading(Cause.BAD_FLAGS, "No prompt provided", began=False),
        "slash-command": Reading(Cause.NO_STATUS),
        "terminated": Reading(Cause.CRASHED, "SIGTERM", tool_uses=1),
        "interrupted": Reading(Cause.CRASHED, "SIGINT", tool_uses=1),
        "killed": Reading(Cause.CRASHED, "SIGKILL", tool_uses=1),
        # Exit code 0, and after SIGINT a result with one too: neither is a success.
        "binary-terminated": Reading(Cause.CRASHED, "interrupted (user_abort)", tool_uses=1),
        "binary-interrupted": Reading(Cause.CRASHED, "interrupted (user_initiated)", tool_uses=1),
    },
    "gemini-0.61.0": {
        "spawn": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=2400, output=150, cache_read=600)
        ),
        "spawn-no-tools": Reading(
            Cause.NO_STATUS, tokens=Tokens(input=800, output=50, cache_read=200)
        ),
        # Its totals count the run.
        "resume": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=2400, output=150, cache_read=600)
        ),
        "denied-tool": Reading(
            Cause.DENIED, "run_shell_command", tool_uses=1, denied=("run_shell_command",)
        ),
        "denied-redirection": Reading(
            Cause.DENIED, "run_shell_command", tool_uses=1, denied=("run_shell_command",)
        ),
        "denied-edit": Reading(Cause.DENIED, "write_file", tool_uses=1, denied=("write_file",)),
        "edit": Reading(Cause.NO_STATUS, tool_uses=1),
        "commands-in-a-list": Reading(Cause.NO_STATUS, tool_uses=1),
        "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
        "session-in-use": Reading(Cause.SESSION_IN_USE, "already exists", began=False),
        "session-unknown": Reading(Cause.SESSION_UNKNOWN, "No previous sessions", began=False),
        "resume-elsewhere": Reading(Cause.SESSION_UNKNOWN, "No previous sessions", began=False),
        "api-400": Reading(Cause.API_ERROR, "told 400", began=False),
        "api-401": Reading(Cause.AUTH, "told 401", began=False),
        "api-403": Reading(Cause.AUTH, "told 403", began=False),
        "api-404": Reading(Cause.BAD_MODEL, "told 404", began=False),
        "api-429": Reading(Cause.RATE_LIMITED, "told 429", began=False),
        # These were killed after a minute of silence: it tries again.
        "api-429-retry-after": Reading(Cause.CRASHED, "SIGKILL", began=False),
        "api-500": Reading(Cause.CRASHED, "SIGKILL", began=False),
        "empty-answer": Reading(Cause.API_ERROR, "empty response"),
        "stream-cut-once": Reading(Cause.NO_STATUS),
        "unknown-flag": Reading(Cause.BAD_FLAGS, "such-flag", began=False),
        "empty-prompt": Reading(Cause.BAD_FLAGS, "No input provided", began=False),
        "slash-command": Reading(Cause.NO_STATUS),
        "named-file": Reading(Cause.NO_STATUS),
        # A signal that it can catch ends it with exit code 0, without a result.
        "terminated": Reading(Cause.CRASHED, "without a result", tool_uses=1),
        "interrupted": Reading(Cause.CRASHED, "without a result", tool_uses=1),
        "killed": Reading(Cause.CRASHED, "SIGKILL", tool_uses=1),
    },
    "qwen-0.24.4": {
        "spawn": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=2400, output=150, cache_read=600)
        ),
        "spawn-no-tools": Reading(
            Cause.NO_STATUS,
            "without a single tool call",
            tokens=Tokens(input=800, output=50, cache_read=200),
        ),
        # Its totals count the whole session: one request before, three now.
        "resume": Reading(
            Cause.NO_STATUS, tool_uses=2, tokens=Tokens(input=3200, output=200, cache_read=800)
        ),
        "denied-tool": Reading(Cause.DENIED, tool_uses=1, denied=("run_shell_command(npm test)",)),
        "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
        "session-in-use": Reading(Cause.SESSION_IN_USE, "already exists", began=False),
        "session-unknown": Reading(Cause.SESSION_UNKNOWN, "No saved session", began=False),
        # It keeps a session whose first request has failed: its id is in use then (measured).
        "api-400": Reading(Cause.API_ERROR, "told 400"),
        "api-401": Reading(Cause.AUTH, "told 401"),
        "api-403": Reading(Cause.AUTH, "told 403"),
        "api-404": Reading(Cause.BAD_MODEL, "told 404"),
        # It had not given up after a minute.
        "api-429": Reading(Cause.CRASHED, "SIGKILL", began=False),
        "api-429-retry-after": Reading(Cause.CRASHED, "SIGKILL", began=False),
        "api-500": Reading(Cause.CRASHED, "SIGKILL", began=False),
        "empty-answer": Reading(
            Cause.API_ERROR,
            "empty response text",
            tokens=Tokens(input=4000, output=250, cache_read=1000),
        ),
        "stream-cut-once": Reading(
            Cause.NO_STATUS, tokens=Tokens(input=800, output=50, cache_read=200)
        ),
        "unknown-flag": Reading(Cause.BAD_FLAGS, "command line", began=False),
        "empty-prompt": Reading(Cause.BAD_FLAGS, "No input provided", began=False),
        "slash-command": Reading(Cause.NO_STATUS),
        "terminated": Reading(Cause.CRASHED, "SIGTERM", tool_uses=1),
        "interrupted": Reading(Cause.CRASHED, "SIGINT", tool_uses=1),
        "killed": Reading(Cause.CRASHED, "SIGKILL", tool_uses=1),
    },
}

OPENCODE_STEP = Tokens(input=800, output=50, cache_read=200)
READINGS["opencode-1.18.33"] = {
    "spawn": Reading(
        Cause.NO_STATUS,
        tool_uses=2,
        tokens=Tokens(input=2400, output=150, cache_read=600),
        usd=0.003,
    ),
    "spawn-no-tools": Reading(
        Cause.NO_STATUS, "without a single tool call", tokens=OPENCODE_STEP, usd=0.001
    ),
    "resume": Reading(  # each step tells what it has used, a resume its own steps alone
        Cause.NO_STATUS,
        tool_uses=2,
        tokens=Tokens(input=2400, output=150, cache_read=600),
        usd=0.003,
    ),
    "denied-tool": Reading(
        Cause.DENIED, "agent.sow.permission", tool_uses=1, denied=("bash: npm test",)
    ),
    "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
    "session-in-use": Reading(Cause.NO_STATUS),  # a spawn makes an id of its own
    "session-unknown": Reading(Cause.SESSION_UNKNOWN, "Error: Session not found", began=False),
    "api-400": Reading(Cause.API_ERROR, "told 400", began=False),
    "api-401": Reading(Cause.AUTH, "told 401", began=False),
    "api-403": Reading(Cause.AUTH, "told 403", began=False),
    "api-404": Reading(Cause.BAD_MODEL, "told 404", began=False),
    # It tries again in silence; the recorder has killed it after a minute.
    "api-429": Reading(Cause.CRASHED, "SIGKILL", began=False),
    "api-429-retry-after": Reading(Cause.RATE_LIMITED, "told 429", began=False),
    "api-500": Reading(Cause.CRASHED, "SIGKILL", began=False),
    "empty-answer": Reading(Cause.NO_STATUS, "without a single tool call", usd=0.001),
    # A step that tells no tokens is not counted.
    "stream-cut-once": Reading(Cause.NO_STATUS, tokens=Tokens()),
    "unknown-flag": Reading(Cause.BAD_FLAGS, "opencode run [message..]", began=False),
    "empty-prompt": Reading(Cause.BAD_FLAGS, "must provide a message", began=False),
    "slash-command": Reading(Cause.NO_STATUS),
    # Its session is known by then, and a tool is told when it has ended.
    "terminated": Reading(Cause.CRASHED, "SIGTERM"),
    "interrupted": Reading(Cause.CRASHED, "SIGINT"),
    "killed": Reading(Cause.CRASHED, "SIGKILL"),
}

RECORDED = [
    pytest.param(folder, file.stem, id=f"{folder.name}:{file.stem}")
    for folder in sorted(RECORDINGS.glob("*-*"))
    if not folder.name.startswith("claude-")
    for file in sorted(folder.glob("*.jsonl"))
]


def executor_of(folder: Path) -> Executor:
    name = folder.name.rpartition("-")[0]
    return make_executor(ExecutorConfig(name=name, type=ExecutorType(name)))


def observe(folder: Path, name: str) -> Observation:
    seen = Observation()
    for line in (folder / f"{name}.jsonl").read_bytes().splitlines():
        for event in executor_of(folder).read_line(line):
            seen = seen.after(event)
    return seen


def folded(events: Iterable[Event]) -> Observation:
    seen = Observation()
    for event in events:
        seen = seen.after(event)
    return seen


def used(seen: Observation) -> Tokens:
    """Return all the tokens that an output has told of."""
    totals = seen.meter.totals
    counted = totals.tokens if totals is not None else Tokens()
    for tokens in seen.meter.since.values():
        counted += tokens
    return counted


@pytest.mark.parametrize(("folder", "name"), RECORDED)
def test_a_recording_is_read_as_it_was(folder: Path, name: str) -> None:
    expected, seen = READINGS[folder.name][name], observe(folder, name)
    facts = json.loads((folder / f"{name}.json").read_text("utf-8"))
    output = (folder / f"{name}.jsonl").read_text("utf-8")
    ending = Ending(facts["exit_code"], facts["signal"], facts["stderr"][-TAIL:], output[-TAIL:])
    verdict = executor_of(folder).classify(ending, seen)
    assert verdict.cause is expected.cause, verdict.reason
    assert expected.reason in verdict.reason
    assert seen.tool_uses == expected.tool_uses
    assert seen.denied_tools == expected.denied
    assert seen.has_begun is expected.began
    if expected.tokens is not None:
        assert used(seen) == expected.tokens
    if expected.usd is not None:
        paid = seen.meter.paid.values()
        assert sum(usage.usd or 0.0 for usage in paid) == pytest.approx(expected.usd)


@pytest.mark.parametrize("folder", sorted({each.values[0] for each in RECORDED}))
def test_every_recording_has_its_reading_and_all_at_once_tell_the_same(folder: Path) -> None:
    names = {file.stem for file in folder.glob("*.jsonl")}
    assert names == READINGS[folder.name].keys()
    executor = executor_of(folder)
    for name in names:
        data = (folder / f"{name}.jsonl").read_bytes()
        by_line = [event for line in data.splitlines() for event in executor.read_line(line)]
        assert list(executor.read(data)) == by_line
        assert folded(executor.skim(data)) == folded(by_line)
    data = (folder / "spawn.jsonl").read_bytes()
    kinds = {event.kind for event in executor.read(data)}
    assert {EventKind.TOOL_USE, EventKind.TOOL_RESULT, EventKind.TEXT} <= kinds


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({}, Cause.CRASHED),
        ({"yolo_mode": True}, Cause.NO_STATUS),
        ({"sandbox": SandboxUse.BWRAP}, Cause.NO_STATUS),
    ],
    ids=["its own sandbox", "none", "one of sow's"],
)
def test_codex_without_its_aliases_runs_no_command_in_its_own_sandbox_alone(
    settings: dict[str, Any], cause: Cause
) -> None:
    """In a sandbox of sow's it was seen to say so and to run all commands."""
    (folder,) = RECORDINGS.glob("codex-*")
    config = ExecutorConfig(name="codex", type=ExecutorType.CODEX, **settings)
    stderr = "WARNING: proceeding, even though we could not create PATH aliases: No such file\n"
    verdict = make_executor(config).classify(Ending(0, None, stderr, ""), observe(folder, "spawn"))
    assert verdict.cause is cause
