"""What the real Claude Code printed, read by its executor.

The recordings (`tests/recordings`, made by `tests/real/record.py`) are its own
bytes, one folder for each version. None of these runs left a status in a task's
state: there was no sow, so every ending is the executor's to judge.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sow.attempts.run_usage import usage_of
from sow.executors.base import Ending, EventKind, Observation
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Cause
from sow.schema.usage import Tokens

VERSIONS = sorted(Path(__file__).parents[1].glob("recordings/claude-*"))
RESETS_AT = 1893456000.0
TAIL = 8192
CLAUDE = make_executor(ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE))


@dataclass(frozen=True)
class Reading:
    """What sow must make of a recording."""

    cause: Cause
    reason: str = ""
    """A part of the reason."""
    tool_uses: int = 0
    denied: tuple[str, ...] = ()
    resets_at: float | None = None
    began: bool = True
    """Whether the session exists afterwards, as the output tells it."""


READINGS = {
    "spawn": Reading(Cause.NO_STATUS, tool_uses=2),
    "spawn-no-tools": Reading(Cause.NO_STATUS),
    "resume": Reading(Cause.NO_STATUS, tool_uses=2),
    "denied-tool": Reading(Cause.DENIED, "allowed_tools", tool_uses=1, denied=("Bash(npm test)",)),
    "failed-tool": Reading(Cause.NO_STATUS, tool_uses=1),
    "session-in-use": Reading(Cause.SESSION_IN_USE, "already in use", began=False),
    "session-unknown": Reading(Cause.SESSION_UNKNOWN, "No conversation found", began=False),
    "session-not-a-uuid": Reading(Cause.BAD_FLAGS, "Invalid session ID", began=False),
    "api-400": Reading(Cause.API_ERROR, "API Error: 400"),
    "api-401": Reading(Cause.AUTH, "Invalid API key"),
    "api-403": Reading(Cause.AUTH, "API Error: 403"),
    "api-404": Reading(Cause.BAD_MODEL, "issue with the selected model"),
    "api-429": Reading(Cause.RATE_LIMITED, "429"),
    "api-429-once": Reading(Cause.NO_STATUS, tool_uses=2),
    "api-429-retry-after": Reading(Cause.RATE_LIMITED, "429"),
    "api-500": Reading(Cause.API_ERROR, "API Error: 500"),
    "api-529": Reading(Cause.API_ERROR, "API Error: 529"),
    "quota-rejected": Reading(Cause.RATE_LIMITED, "hit your", resets_at=RESETS_AT),
    "quota-allowed": Reading(Cause.NO_STATUS),
    "quota-warning": Reading(Cause.NO_STATUS),
    "stream-cut-in-a-block": Reading(Cause.NO_STATUS, tool_uses=2),
    "connection-refused": Reading(Cause.API_ERROR, "API Error"),
    "no-key": Reading(Cause.AUTH, "Not logged in"),
    "root-without-sandbox": Reading(Cause.BAD_FLAGS, "root/sudo", began=False),
    "unknown-flag": Reading(Cause.BAD_FLAGS, "--no-such-flag", began=False),
    "without-verbose": Reading(Cause.BAD_FLAGS, "--verbose", began=False),
    "empty-prompt": Reading(Cause.BAD_FLAGS, "Input must be provided", began=False),
    "slash-command": Reading(Cause.NO_STATUS),
    "max-turns": Reading(Cause.NO_STATUS, tool_uses=1),
    "terminated": Reading(Cause.CRASHED, "SIGTERM", tool_uses=1),
    "hung-up": Reading(Cause.CRASHED, "SIGHUP", tool_uses=1),
    "killed": Reading(Cause.CRASHED, "SIGKILL", tool_uses=1),
}

DIFFERENT = {
    # After SIGINT either version ends with 0 or 1 from one run to the next, and
    # now and then without a result, as this recording of 2.1.330 does: a run
    # that breaks off, whatever its exit code.
    ("claude-2.1.197", "interrupted"): Reading(Cause.CRASHED, tool_uses=1),
    ("claude-2.1.330", "interrupted"): Reading(Cause.CRASHED, tool_uses=1),
    # 2.1.197 takes a stream that breaks off between two blocks for a whole
    # answer and ends well; 2.1.330 asks the model to go on.
    ("claude-2.1.197", "stream-cut-after-a-block"): Reading(Cause.NO_STATUS),
    ("claude-2.1.330", "stream-cut-after-a-block"): Reading(Cause.NO_STATUS, tool_uses=2),
}

RECORDINGS = [
    pytest.param(folder, file.stem, id=f"{folder.name}:{file.stem}")
    for folder in VERSIONS
    for file in sorted(folder.glob("*.jsonl"))
]


def expected(folder: Path, name: str) -> Reading:
    return READINGS.get(name) or DIFFERENT[folder.name, name]


def observe(folder: Path, name: str) -> Observation:
    seen = Observation()
    for line in (folder / f"{name}.jsonl").read_bytes().splitlines():
        for event in CLAUDE.read_line(line):
            seen = seen.after(event)
    return seen


def ending(folder: Path, name: str) -> Ending:
    facts = json.loads((folder / f"{name}.json").read_text("utf-8"))
    output = (folder / f"{name}.jsonl").read_text("utf-8")
    return Ending(facts["exit_code"], facts["signal"], facts["stderr"][-TAIL:], output[-TAIL:])


def session_of(folder: Path, name: str) -> str | None:
    """Return the id that the recorded command line names."""
    argv = json.loads((folder / f"{name}.json").read_text("utf-8"))["argv"]
    flags = [flag for flag in ("--session-id", "--resume") if flag in argv]
    return argv[argv.index(flags[0]) + 1] if flags else None


def test_every_scenario_is_recorded_for_every_version() -> None:
    assert [folder.name for folder in VERSIONS] == ["claude-2.1.197", "claude-2.1.330"]
    for folder in VERSIONS:
        different = {name for version, name in DIFFERENT if version == folder.name}
        assert {file.stem for file in folder.glob("*.jsonl")} == {*READINGS, *different}


@pytest.mark.parametrize(("folder", "name"), RECORDINGS)
def test_an_ending_is_judged(folder: Path, name: str) -> None:
    reading = expected(folder, name)
    verdict = CLAUDE.classify(ending(folder, name), observe(folder, name))
    assert verdict.cause == reading.cause, verdict
    assert reading.reason in verdict.reason
    assert verdict.resets_at == reading.resets_at
    assert len(verdict.reason.splitlines()) <= 2


@pytest.mark.parametrize(("folder", "name"), RECORDINGS)
def test_the_output_is_read(folder: Path, name: str) -> None:
    reading = expected(folder, name)
    seen = observe(folder, name)
    assert seen.tool_uses == reading.tool_uses
    assert seen.denied_tools == reading.denied
    assert (seen.session_id is not None) == reading.began
    if reading.began:
        assert seen.session_id == (session_of(folder, name) or seen.session_id)


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_a_run_is_told_in_order(folder: Path) -> None:
    lines = (folder / "spawn.jsonl").read_bytes().splitlines()
    found = [event for line in lines for event in CLAUDE.read_line(line)]
    events = [event for event in found if event.kind is not EventKind.USAGE]
    assert [event.kind for event in events] == [
        EventKind.SESSION,
        EventKind.TEXT,
        EventKind.TOOL_USE,
        EventKind.TOOL_RESULT,
        EventKind.TEXT,
        EventKind.TOOL_USE,
        EventKind.TOOL_RESULT,
        EventKind.TEXT,
        EventKind.RESULT,
    ]
    assert "echo done 010" in events[2].text
    assert observe(folder, "spawn").last_text == "I have reported the task's status."


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_what_a_spawn_and_its_resume_have_used_is_counted_once(folder: Path) -> None:
    """Of either version: what the totals of the newer one have come to before is taken off."""
    spawned = observe(folder, "spawn").meter
    resumed = observe(folder, "resume").meter
    assert spawned.totals is not None
    first, second = usage_of(spawned, (), {}), usage_of(resumed, [spawned.totals], {})
    for run in (first, second):
        assert run.tokens == Tokens(input=33, output=21)
        assert run.usd == pytest.approx(first.usd)
        assert [run.is_estimate, run.is_partial, run.is_unpriced] == [False] * 3
    assert (first.usd or 0) > 0


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_of_a_killed_run_the_messages_are_counted(folder: Path) -> None:
    run = usage_of(observe(folder, "killed").meter, (), {})
    assert (run.tokens, run.usd) == (Tokens(input=11, output=7), None)
    assert (run.is_partial, run.is_unpriced) == (True, True)


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_a_retry_within_the_cli_is_told(folder: Path) -> None:
    lines = (folder / "api-429-once.jsonl").read_bytes().splitlines()
    events = [event for line in lines for event in CLAUDE.read_line(line)]
    assert [event.status for event in events if event.kind is EventKind.API_RETRY] == [429]
    assert observe(folder, "api-429-once").api_status is None
