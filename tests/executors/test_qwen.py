"""What is Qwen Code's own: how words reach its model, what it may run, its defaults and figures."""

import json
from pathlib import Path

import pytest
from cli_bench import Bench
from msgspec.structs import replace
from standins import read_runs, write_script

from sow.executors.base import LaunchRequest
from sow.executors.qwen import DEFAULTS_FILE, DEFAULTS_VARIABLE
from sow.executors.registry import make_executor
from sow.executors.session import Session
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.usage import Tokens

QWEN = make_executor(ExecutorConfig(name="qwen", type=ExecutorType.QWEN))
SESSION = Session("3f0c0b5e-1111-4222-8333-444455556667")
WORDS = (
    "/clear and more",
    "@NAME is a name, a@NAME too; bob@example.com",
    "$$ is two @ $& {{args}} !{ls}\n\n\t@NAME /clear",
)


def request(prompt: str = "Do it.", **fields: object) -> LaunchRequest:
    return LaunchRequest(
        session=SESSION,
        prompt=prompt,
        prompt_file=Path("/run/prompt.md"),
        task_dir=Path("/repo/tasks/010"),
        cwd=Path("/repo"),
        as_root=False,
        **fields,
    )


@pytest.mark.parametrize("prompt", ["Do it.", "a /clear", "\n/clear", "costs $5", ""])
def test_what_it_would_leave_alone_is_passed_as_it_stands(prompt: str) -> None:
    assert QWEN.spawn(request(prompt)).stdin == prompt
    assert QWEN.spawn(request(prompt, home=Path("/home/one"))).stdin == prompt


def test_without_a_home_of_its_own_a_mention_is_escaped_once() -> None:
    assert QWEN.spawn(request("/clear")).stdin == "\n/clear"
    assert QWEN.spawn(request("a@b @c \\@d")).stdin == "a\\@b \\@c \\@d"
    assert QWEN.spawn(request("/x @c")).stdin == "\n/x \\@c"
    assert not QWEN.spawn(request("@c")).home_files


@pytest.mark.parametrize("flag", ["--bare", "--safe-mode"])
def test_where_it_knows_no_commands_a_mention_is_escaped(flag: str) -> None:
    executor = make_executor(replace(QWEN.config, custom_args=(flag,)))
    assert executor.spawn(request("@c", home=Path("/home/one"))).stdin == "\\@c"


@pytest.mark.slow
@pytest.mark.parametrize("words", WORDS)
def test_in_a_home_of_its_own_the_model_sees_the_words_as_they_are(
    bench: Bench, words: str, tmp_path: Path
) -> None:
    (bench.root / "NAME").write_text("what stands in the file", encoding="utf-8")
    home = tmp_path / "own"
    launch = QWEN.spawn(replace(bench.request(SESSION, words), home=home))
    for name, text in launch.home_files.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, encoding="utf-8")
    write_script(bench.root, [[{"say": "one"}]])
    environ = {**bench.environ, "QWEN_HOME": str(home)}
    replaced = Bench(bench.root, bench.path, environ)
    assert replaced.run(QWEN, launch).ending.code == 0
    assert [run.prompt for run in read_runs(bench.root)] == [words]
    assert set(launch.home_files) == {f"commands/sow-{SESSION.id}.md"}


def test_its_defaults_are_left_to_whoever_has_set_them(tmp_path: Path) -> None:
    made = QWEN.spawn(request())
    assert made.env == {DEFAULTS_VARIABLE: f"/run/{DEFAULTS_FILE}"}
    assert json.loads(made.files[DEFAULTS_FILE]) == {"memory": {"enableManagedAutoMemory": False}}
    outer = {DEFAULTS_VARIABLE: f"/another/run/{DEFAULTS_FILE}"}  # a call that an agent has made
    assert QWEN.spawn(request(environ=outer)).env == made.env
    users = QWEN.spawn(request(environ={DEFAULTS_VARIABLE: "/mine.json"}))
    assert (users.env, users.files) == ({}, {})
    moved = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(tmp_path / "settings.json")}
    assert QWEN.spawn(request(environ=moved)).env == made.env
    (tmp_path / "system-defaults.json").write_text("{}", encoding="utf-8")
    assert QWEN.spawn(request(environ=moved)).env == {}


@pytest.mark.parametrize("yolo", [False, True])
def test_what_its_role_must_not_use_is_excluded_in_every_mode(yolo: bool) -> None:
    executor = make_executor(replace(QWEN.config, yolo_mode=yolo))
    argv = executor.spawn(request(denied=("worker", "trust accept"))).argv
    rules = argv[argv.index("--exclude-tools") + 1]
    commands = "run_shell_command(sow worker),run_shell_command(sow trust accept)"
    assert rules == (commands if yolo else f"{commands},edit(/.git/**)")


def test_a_folder_that_must_not_be_written_is_excluded() -> None:
    argv = QWEN.spawn(request(unwritable=(Path("/repo/links"),))).argv
    assert argv[argv.index("--exclude-tools") + 1] == "edit(//repo/links/**),edit(/.git/**)"


def test_a_denied_command_with_a_comma_is_named_by_its_tool() -> None:
    """It takes a comma for the end of a rule (measured)."""
    denial = {"tool_name": "run_shell_command", "tool_input": {"command": "touch a,b"}}
    line = {"type": "result", "is_error": False, "permission_denials": [denial]}
    events = QWEN.read_line(json.dumps(line).encode())
    assert [event.tool for event in events if event.tool] == ["run_shell_command"]


def test_a_retry_tells_its_number_and_no_status() -> None:
    data = {"reason": "retry", "attempt": 3, "maxRetries": 10, "delayMs": 60000}
    line = {"type": "system", "subtype": "retry", "data": data}
    [event] = QWEN.read_line(json.dumps(line).encode())
    assert (event.count, event.status) == (3, None)
    for odd in (None, [], {"attempt": "x"}, {"attempt": -1}, {"attempt": True}):
        [event] = QWEN.read_line(json.dumps({**line, "data": odd}).encode())
        assert event.count == 0


def test_the_words_of_a_failed_request_are_not_the_agent_s() -> None:
    block = {"type": "text", "text": "[API Error: 401 refused]"}
    message = {"id": "m", "content": [block], "usage": {"input_tokens": 5, "output_tokens": 1}}
    events = QWEN.read_line(json.dumps({"type": "assistant", "message": message}).encode())
    assert [event.tokens for event in events] == [Tokens(input=5, output=1)]
