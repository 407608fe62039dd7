"""What Copilot's agents may do by their flags, and what its events tell besides the recorded."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from sow.executors.base import Ending, EventKind, Launch, LaunchRequest, Observation
from sow.executors.copilot import CopilotExecutor
from sow.executors.session import Session
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

REQUEST = LaunchRequest(
    session=Session("3f0c0b5e-1111-4222-8333-444455556667"),
    prompt="Do it.",
    prompt_file=Path("/run/prompt.md"),
    task_dir=Path("/repo/tasks/010"),
    cwd=Path("/repo"),
    as_root=False,
    commands=("task show", "worker list"),
    denied=("worker", "worker stop"),
)


def executor(*, yolo_mode: bool = False) -> CopilotExecutor:
    return CopilotExecutor(
        ExecutorConfig(name="copilot", type=ExecutorType.COPILOT, yolo_mode=yolo_mode)
    )


def rules(launch: Launch, flag: str) -> list[str]:
    """Return the values behind a flag, up to the next one."""
    if flag not in launch.argv:
        return []
    behind = launch.argv[launch.argv.index(flag) + 1 :]
    end = next((at for at, word in enumerate(behind) if word.startswith("-")), len(behind))
    return list(behind[:end])


@pytest.mark.parametrize("yolo_mode", [False, True])
def test_commands_that_are_not_its_own_are_refused(yolo_mode: bool) -> None:
    launch = executor(yolo_mode=yolo_mode).spawn(REQUEST)
    refused = [rule for rule in rules(launch, "--deny-tool") if rule.startswith("shell")]
    assert refused == ["shell(sow worker)", "shell(sow worker stop:*)"]  # `worker list` is its own


def test_it_is_to_write_in_its_folder_alone_and_not_for_git() -> None:
    request = replace(
        REQUEST, readable=(Path("/main/task [1]"),), unwritable=(Path("/repo/.sow/refs"),)
    )
    launch = executor().resume(request)
    assert rules(launch, "--allow-tool") == ["shell(sow:*)", "write"]
    assert rules(launch, "--add-dir") == ["/main/task [1]"]
    written = [rule for rule in rules(launch, "--deny-tool") if rule.startswith("write")]
    assert written == [
        "write(/repo/.git/**)",
        "write(/main/task ?1?/**)",  # a bracket would mean something else in a rule
        "write(/repo/.sow/refs/**)",
    ]
    assert launch.env == {"COPILOT_ALLOW_ALL": "false"}


def test_a_rule_names_a_folder_without_its_links(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    launch = executor().spawn(replace(REQUEST, readable=(tmp_path / "link",)))
    assert rules(launch, "--deny-tool")[-1] == f"write({tmp_path.resolve() / 'there'}/**)"


def read(*lines: dict[str, object]) -> Observation:
    seen = Observation()
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    for event in executor().read(data):
        seen = seen.after(event)
    return seen


def test_between_two_turns_it_waits_for_its_own_commands() -> None:
    begun = read({"type": "assistant.turn_start", "data": {}})
    waits = read({"type": "assistant.turn_start"}, {"type": "assistant.turn_end"})
    sub = read({"type": "assistant.turn_start"}, {"type": "assistant.turn_end", "agentId": "a"})
    ended = read({"type": "assistant.turn_end"}, {"type": "result", "exitCode": 0})
    counts = [seen.background for seen in (begun, waits, sub, ended)]
    assert counts == [0, 1, 0, 0]


def test_what_a_subagent_says_and_fails_in_is_not_the_agents() -> None:
    message = {"type": "assistant.message", "data": {"content": "sub"}, "agentId": "a"}
    error = {"type": "session.error", "data": {"message": "no"}, "agentId": "a"}
    seen = read({"type": "assistant.message", "data": {"content": "mine"}}, message, error)
    assert (seen.last_text, seen.result) == ("mine", None)


@pytest.mark.parametrize(
    ("message", "properties", "named"),
    [
        ("denied due to the following rules: `shell(sow worker:*)`", {}, "shell(sow worker:*)"),
        ("Permission denied because", {"command": "create"}, "create"),
        ("Permission denied because", {"executionMode": "sync"}, "shell"),
    ],
)
def test_a_denial_names_the_rule_else_the_tool(
    message: str, properties: dict[str, str], named: str
) -> None:
    error = {"message": message, "code": "denied"}
    data = {"success": False, "error": error, "toolTelemetry": {"properties": properties}}
    assert read({"type": "tool.execution_complete", "data": data}).denied_tools == (named,)


def test_a_denied_command_is_named_by_its_call() -> None:
    calls = [
        {
            "type": "tool.execution_start",
            "data": {"toolCallId": call, "toolName": "bash", "arguments": {"command": command}},
        }
        for call, command in (("1", "npm test"), ("2", "make"))
    ]
    denied = {"success": False, "toolCallId": "1", "error": {"message": "no", "code": "denied"}}
    end = {"type": "tool.execution_complete", "data": denied}
    assert read(*calls, end).denied_tools == ("bash: npm test",)
    unknown = {**end, "data": {**denied, "toolCallId": "3"}}
    assert read(*calls, unknown).denied_tools == ("shell",)


def test_an_observation_needs_nothing_of_what_tools_have_answered() -> None:
    result = {"success": True, "result": {"content": "long"}}
    line = json.dumps({"type": "tool.execution_complete", "data": result}).encode()
    [read_event], [skimmed] = executor().read(line), executor().skim(line)
    assert (read_event.text, skimmed.text) == ("long", "")
    assert replace(read_event, text="") == skimmed


ABORT = {"type": "abort", "data": {"reason": "user_abort"}}
RESULT = {"type": "result", "sessionId": "s", "exitCode": 0}


@pytest.mark.parametrize(("code", "signal"), [(0, None), (None, 2)])
def test_an_interrupted_run_is_no_success_whatever_its_result(
    code: int | None, signal: int | None
) -> None:
    lines = [{"type": "tool.execution_start", "data": {}}, ABORT, RESULT]
    output = "".join(f"{json.dumps(line)}\n" for line in lines)
    verdict = executor().classify(Ending(code, signal, "", output), read(*lines))
    assert verdict.cause is Cause.CRASHED
    assert "user_abort" in verdict.reason


def test_an_agent_that_writes_of_an_abort_is_not_interrupted() -> None:
    spoken = {"type": "assistant.message", "data": {"content": json.dumps(ABORT)}}
    output = f"{json.dumps(spoken)}\n{json.dumps(RESULT)}\n"
    verdict = executor().classify(Ending(0, None, "", output), read(spoken, RESULT))
    assert verdict.cause is Cause.NO_STATUS


def test_a_run_that_ends_without_a_result_has_crashed() -> None:
    line = {"type": "user.message", "data": {"content": "Do it."}}
    verdict = executor().classify(Ending(0, None, "", json.dumps(line)), read(line))
    assert verdict.cause is Cause.CRASHED


def test_the_session_is_kept_from_the_prompt_on() -> None:
    assert not read({"type": "session.tools_updated", "data": {}}).has_begun
    assert read({"type": "user.message", "data": {"content": "Do it."}}).has_begun


def test_a_failure_that_is_tried_again_tells_its_status() -> None:
    retry = {"type": "assistant.turn_retry", "data": {"reason": "rate_limit"}, "ephemeral": True}
    [event] = executor().read_line(json.dumps(retry).encode())
    assert (event.kind, event.status) == (EventKind.API_RETRY, 429)
