"""What is Gemini CLI's own: a prompt that is no text to it, and its rules.

Whether the CLI obeys them is for `tests/real/test_real_gemini.py`.
"""

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from executor_cases import CHOSEN, COMMANDS
from msgspec import json
from msgspec.structs import replace

from sow.agent_clis.gemini import CLI
from sow.attempts.homes import place_in
from sow.executors.base import EventKind, LaunchRequest
from sow.executors.executor_errors import CommaInPath
from sow.executors.gemini import POLICY_FILE, GeminiExecutor, as_text, policy_for
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

EXECUTOR = GeminiExecutor(ExecutorConfig(name="gemini", type=ExecutorType.GEMINI))
COMMAND = f"sow-{CHOSEN.id}"
REQUEST = LaunchRequest(
    session=CHOSEN,
    prompt="/clear @NAME\n",
    prompt_file=Path("/run/prompt.md"),
    task_dir=Path("/repo/tasks/010"),
    cwd=Path("/repo"),
    as_root=False,
    environ={"HOME": "/home/user"},
    commands=COMMANDS,
    denied=("worker stop",),
)


def rules(request: LaunchRequest, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rules of a request's policy that have these values."""
    found = tomllib.loads(policy_for(request))["rule"]
    return [rule for rule in found if wanted.items() <= rule.items()]


def closes(request: LaunchRequest, path: str) -> bool:
    """Whether the rules forbid the editing tools a path, read as the CLI reads them."""
    arguments = json.encode({"content": "x", "file_path": path}).decode()
    patterns = [
        rule["argsPattern"] for rule in rules(request, decision="deny") if "argsPattern" in rule
    ]
    return any(re.search(pattern, arguments) for pattern in patterns)


def test_a_prompt_is_the_argument_of_a_command_in_a_home_of_its_own() -> None:
    launch = EXECUTOR.spawn(replace(REQUEST, home=Path("/homes/one")))
    assert launch.stdin == f"/{COMMAND}\n/clear @NAME\n"
    [(name, text)] = launch.home_files.items()
    assert name == f"commands/{COMMAND}.toml"
    given = tomllib.loads(text)["prompt"]
    for trigger in ("{{args}}", "!{", "@{"):
        assert trigger not in given  # it would not end with the prompt as it is


def test_without_one_no_word_names_a_file_and_none_is_a_command() -> None:
    launch = EXECUTOR.resume(REQUEST)
    assert launch.home_files == {}
    assert launch.stdin == "\n/clear \\@NAME\n"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("no@mail, me@here.org", "no\\@mail, me\\@here.org"),
        ("5 @ 3, @, @!", "5 @ 3, @, @!"),
        ("a \\@b stays", "a \\@b stays"),
        ("@@x", "\\@\\@x"),
        ("say /clear", "say /clear"),
        ("!ls", "!ls"),
    ],
)
def test_an_at_sign_before_a_name_gets_a_backslash(prompt: str, text: str) -> None:
    assert as_text(prompt) == text


def test_the_users_own_rules_are_named_behind_ours() -> None:
    launch = EXECUTOR.spawn(REQUEST)
    named = [launch.argv[i + 1] for i, word in enumerate(launch.argv) if word == "--policy"]
    assert named == [f"/run/{POLICY_FILE}", "/home/user/.gemini/policies"]
    elsewhere = replace(REQUEST, environ={"HOME": "/home/user", "GEMINI_CLI_HOME": "/own"})
    assert "/own/.gemini/policies" in EXECUTOR.spawn(elsewhere).argv


def test_its_rules_allow_the_commands_of_its_role_and_edits() -> None:
    allowed = [
        rule["commandPrefix"] for rule in rules(REQUEST, decision="allow", priority=200)[:-1]
    ]
    assert allowed == [f"sow {words}" for words in COMMANDS]
    assert rules(REQUEST, decision="deny", toolName="enter_plan_mode")
    [edits] = rules(REQUEST, decision="allow", toolName=["write_file", "replace"])
    assert "modes" not in edits
    [joined, *_] = rules(REQUEST, allowRedirection=True)
    for command, is_allowed in (
        ("sow task show 010 2>&1", True),
        ("sow task show > /etc/motd 2>&1", False),
        ("sow task show 2>&1 > /etc/motd", False),
    ):
        arguments = json.encode({"command": command}).decode()
        found = re.search('"command":"' + joined["commandRegex"], arguments)
        assert bool(found) is is_allowed, command


@pytest.mark.parametrize(
    "command", ["sow worker stop", "sow  worker stop --now", 'sow worker stop "x"']
)
def test_what_its_role_may_not_do_is_refused_first(command: str) -> None:
    [refused] = rules(REQUEST, decision="deny", toolName="run_shell_command")
    assert refused["priority"] == 999
    arguments = json.encode({"command": command}).decode()
    assert re.search('"command":"' + refused["commandRegex"], arguments)
    assert not re.search('"command":"' + refused["commandRegex"], '{"command":"sow worker stops"}')


def test_what_it_may_read_it_may_not_write() -> None:
    closed = replace(
        REQUEST, readable=(Path("/refs/a b+c"),), unwritable=(Path("/repo/.sow/refs"),)
    )
    argv = EXECUTOR.spawn(closed).argv
    assert argv[argv.index("--include-directories") + 1] == "/refs/a b+c"
    for path in (
        *("/refs/a b+c/x", "/repo/.sow/refs/x", ".sow/refs/x", "./.sow/refs/x"),
        *("src/../.sow/refs/x", "../refs/a b+c/x", "/repo//.sow/refs/x", "/repo/./.sow/refs/x"),
    ):
        assert closes(closed, path), path
    for path in ("/repo/x", "x", "./x", ".sow/project/x", "/refs/a bc/x", "a..b/x"):
        assert not closes(closed, path), path
    assert not closes(REQUEST, "../x")  # the CLI itself keeps it in its folder


def test_it_may_not_write_what_the_cli_runs_when_it_starts_again() -> None:
    for path in (".gemini/settings.json", "/repo/.gemini/x", "sub/.gemini/x"):
        assert closes(REQUEST, path), path
    for path in ("x.gemini/y", ".geminis/y", "src/gemini/y"):
        assert not closes(REQUEST, path), path


def test_no_argument_has_a_path_with_a_comma(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run, folder = Path("/a,b/run/prompt.md"), Path("/refs/a,b")
    request = replace(REQUEST, prompt_file=run, readable=(Path("/refs/c"), folder), home=home)
    launch = EXECUTOR.spawn(request)
    [part] = CLI.home.parts if CLI.home else ()
    own = place_in(home, part) / part.inside
    pairs = list(pairwise(launch.argv))
    assert [word for flag, word in pairs if flag == "--policy"][:1] == [str(own / POLICY_FILE)]
    read = [word for flag, word in pairs if flag == "--include-directories"]
    assert read == ["/refs/c", str(own / "sow-link-1")]
    assert (launch.files, launch.home_links) == ({}, {"sow-link-1": folder})
    assert launch.home_files[POLICY_FILE] == policy_for(request)
    assert not any("," in word for word in launch.argv)


def test_without_a_home_of_its_own_a_path_with_a_comma_is_refused() -> None:
    with pytest.raises(CommaInPath, match="/a,b/run"):
        EXECUTOR.spawn(replace(REQUEST, prompt_file=Path("/a,b/run/prompt.md"), home=None))


@pytest.mark.parametrize(
    "error",
    [
        '{"type": "policy_violation", "message": "Tool execution denied by policy."}',
        '{"type": "unhandled_exception", "message": "Tool execution for \\"Shell\\" requires user'
        ' confirmation, which is not supported in non-interactive mode."}',
    ],
)
def test_both_ways_of_refusing_a_tool_are_denials(error: str) -> None:
    line = f'{{"type": "tool_result", "tool_id": "run_shell_command__1", "error": {error}}}'
    result, denial = EXECUTOR.read_line(line.encode())
    assert result.kind is EventKind.TOOL_RESULT
    assert (denial.kind, denial.tool) == (EventKind.DENIAL, "run_shell_command")
    failed = b'{"type": "tool_result", "status": "error", "error": {"type": "x", "message": "no"}}'
    assert [event.kind for event in EXECUTOR.read_line(failed)] == [EventKind.TOOL_RESULT]
