"""Every fault is told with file, line, key, reason and remedy, and nothing secret with it."""

import os

import pytest
from built_in import TYPES_IN_WORDS

from sow.config.config_errors import InvalidConfiguration


def executor(type_: str, *lines: str) -> str:
    """Return a file with one executor `x`; its own keys begin on line 5."""
    return "\n".join(
        [
            "agents:",
            "  executors:",
            "    x:",
            f"      type: {type_}",
            *(f"      {s}" for s in lines),
        ]
    )


FAULTS = {
    # name: (text, line, key, part of the reason, part of the hint)
    "unknown top-level key": ("agent: {}\n", 1, "agent", "did you mean 'agents'?", ""),
    "unknown key of agents": (
        "agents:\n  binding: {}\n",
        2,
        "agents.binding",
        "did you mean 'bindings'?",
        "",
    ),
    "unknown setting": (
        executor("claude", "settings:", "  yolo: true"),
        6,
        "agents.executors.x.settings.yolo",
        "did you mean 'yolo_mode'?",
        "",
    ),
    "unknown key of an executor": (
        executor("claude", "max_paralel: 2"),
        5,
        "agents.executors.x.max_paralel",
        "did you mean 'max_parallel'?",
        "",
    ),
    "a setting beside settings": (
        executor("command", "command: [x]"),
        5,
        "agents.executors.x.command",
        "unknown key 'command'",
        "Write it below settings: `settings: {command: …}`.",
    ),
    "a key of an executor below settings": (
        executor("claude", "settings:", "  timeout: 5m"),
        6,
        "agents.executors.x.settings.timeout",
        "unknown key 'timeout'",
        "Write it beside settings, as a key of the executor: `timeout: …`.",
    ),
    "a setting of executors where there is none": (
        "worker: {timeout: 5m}\n",
        1,
        "worker.timeout",
        "unknown key 'timeout'",
        "Correct the file, then run `sow config validate`.",
    ),
    "unknown limit": (
        executor("claude", "limits:", "  ram: 4GB"),
        6,
        "agents.executors.x.limits.ram",
        "unknown key 'ram'",
        "",
    ),
    "a limit that is no size": (
        executor("claude", "limits:", "  memory: 4G"),
        6,
        "agents.executors.x.limits.memory",
        "4GiB",
        "Write a number and a unit, such as 500MB, 2GB or 4GiB.",
    ),
    "a limit with which nothing can begin": (
        executor("claude", "limits:", "  memory: 4KiB"),
        6,
        "agents.executors.x.limits.memory",
        "must be at least 16MB",
        "",
    ),
    "no CPU time at all": (
        executor("claude", "limits:", "  cpu: 0s"),
        6,
        "agents.executors.x.limits.cpu",
        "must be longer than 0",
        "",
    ),
    "no process at all": (
        executor("claude", "limits:", "  processes: 0"),
        6,
        "agents.executors.x.limits.processes",
        "",
        "",
    ),
    "unknown key of worker": (
        "worker:\n  concurency: 2\n",
        2,
        "worker.concurency",
        "did you mean 'concurrency'?",
        "",
    ),
    "unknown key of retry": ("retry: {quota: 1}", 1, "retry.quota", "'on_quota'", ""),
    "no worker may die at all": ("retry: {worker_deaths: 0}", 1, "retry.worker_deaths", "", ""),
    "unknown type": (
        executor("aider"),
        4,
        "agents.executors.x.type",
        f"'aider' is not one of: {TYPES_IN_WORDS}",
        "",
    ),
    "no type": (
        "agents:\n  executors:\n    x:\n      retries: 1\n",
        3,
        "agents.executors.x",
        "the key 'type' is missing",
        TYPES_IN_WORDS,
    ),
    "a string for a boolean": (
        executor("claude", "settings: {yolo_mode: 'true'}"),
        5,
        "agents.executors.x.settings.yolo_mode",
        "expected true or false, got 'true'",
        "",
    ),
    "a string for a list": (
        executor("claude", "custom_args: --verbose"),
        5,
        "agents.executors.x.custom_args",
        "expected a list, got '--verbose'",
        "Write a list of strings",
    ),
    "a number in a list": (
        executor("claude", "custom_args:", "  - --max-turns", "  - 3"),
        7,
        "agents.executors.x.custom_args[1]",
        "expected a string, got 3 (an integer)",
        "Write a list of strings",
    ),
    "a number for a duration": (
        executor("claude", "timeout: 30"),
        5,
        "agents.executors.x.timeout",
        "expected a string, got 30 (an integer)",
        "Write a number and a unit",
    ),
    "no duration": (
        executor("claude", "stall_timeout: soon"),
        5,
        "agents.executors.x.stall_timeout",
        "got 'soon'",
        "Write a number and a unit",
    ),
    "a duration with a line break": (
        executor("claude", 'timeout: "15m\\n"'),
        5,
        "agents.executors.x.timeout",
        "got '15m\\n'",
        "Write a number and a unit",
    ),
    "a duration of nothing": (
        executor("claude", "timeout: 0.0s"),
        5,
        "agents.executors.x.timeout",
        "must be longer than 0",
        "",
    ),
    "a NUL in an argument": (
        executor("command", 'settings: {command: ["a", "b\\0"]}'),
        5,
        "agents.executors.x.settings.command[1]",
        "expected text without a NUL character",
        "Write a list of strings",
    ),
    "no time to be idle": (
        "worker: {idle_exit: 10}",
        1,
        "worker.idle_exit",
        "expected a string, got 10 (an integer)",
        "Write a number and a unit",
    ),
    "nobody at work": (
        "worker: {concurrency: 0}",
        1,
        "worker.concurrency",
        ">= 1",
        "",
    ),
    "retries below zero": (
        executor("cursor", "retries: -1"),
        5,
        "agents.executors.x.retries",
        ">= 0",
        "",
    ),
    "an empty model": (
        executor("claude", "settings: {model: ''}"),
        5,
        "agents.executors.x.settings.model",
        "must not be empty",
        "",
    ),
    "session flags": (
        executor("claude", "session: {resume_flag: --resume}"),
        5,
        "agents.executors.x.session",
        "unknown key 'session'; known here: type, settings, custom_args, env",
        "",
    ),
    "model for windsurf": (
        executor("windsurf", "settings:", "  model: gpt"),
        6,
        "agents.executors.x.settings.model",
        "does not fit type windsurf, which has yolo_mode and command",
        "custom_args",
    ),
    "model for command": (
        executor("command", "settings: {command: [a], model: gpt}"),
        5,
        "agents.executors.x.settings.model",
        "does not fit type command",
        "settings.command",
    ),
    "yolo for command": (
        executor("command", "settings: {command: [a], yolo_mode: true}"),
        5,
        "agents.executors.x.settings.yolo_mode",
        "does not fit type command",
        "settings.command",
    ),
    "tools for cursor": (
        executor("cursor", "settings: {allowed_tools: [Bash]}"),
        5,
        "agents.executors.x.settings.allowed_tools",
        "does not fit type cursor, which has yolo_mode and model",
        "Only claude",
    ),
    "command for claude": (
        executor("claude", "settings: {command: [claude]}"),
        5,
        "agents.executors.x.settings.command",
        "does not fit type claude, which has yolo_mode, model and allowed_tools",
        "Only windsurf, acp and command",
    ),
    "preset for claude": (
        executor("claude", "settings: {preset: cline}"),
        5,
        "agents.executors.x.settings.preset",
        "does not fit type claude, which has yolo_mode, model and allowed_tools",
        "Only acp can be told which agent it is.",
    ),
    "unknown preset": (
        executor("acp", "settings: {command: [x], preset: crush}"),
        5,
        "agents.executors.x.settings.preset",
        "'crush' is not one of: cline, pi, gemini, qwen, opencode, copilot, claude, codex",
        "",
    ),
    "acp without a command": (
        executor("acp", "settings: {preset: cline}"),
        3,
        "agents.executors.x",
        "type acp needs settings.command",
        'settings: {command: ["cline", "--acp"]}',
    ),
    "a sandbox for a CLI without a home of its own": (
        executor("cursor", "sandbox: bwrap"),
        5,
        "agents.executors.x.sandbox",
        "does not fit type cursor",
        "claude, codex, gemini, opencode, qwen, copilot and command",
    ),
    "an unknown sandbox": (
        executor("claude", "sandbox: docker"),
        5,
        "agents.executors.x.sandbox",
        "'docker' is not one of: none, bwrap",
        "Write none or bwrap.",
    ),
    "the user's home in a sandbox": (
        executor("codex", "sandbox: bwrap\n      home: shared"),
        6,
        "agents.executors.x.home",
        "does not go with sandbox: bwrap",
        "each session has a folder of its own",
    ),
    "no network without a sandbox": (
        executor("claude", "network: loopback"),
        5,
        "agents.executors.x.network",
        "has no effect without sandbox: bwrap",
        "Remove it, or write `sandbox: bwrap` beside it.",
    ),
    "no hosts without a sandbox": (
        executor("claude", "network: {allow: [api.example.com]}"),
        5,
        "agents.executors.x.network",
        "has no effect without sandbox: bwrap",
        "beside it",
    ),
    "resume for windsurf": (
        executor("windsurf", "settings: {resume: [windsurf]}"),
        5,
        "agents.executors.x.settings.resume",
        "does not fit type windsurf",
        "Only command",
    ),
    "command without a command": (
        executor("command", "retries: 1"),
        3,
        "agents.executors.x",
        "needs settings.command",
        "my-agent",
    ),
    "command with an empty command": (
        executor("command", "settings: {command: []}"),
        3,
        "agents.executors.x",
        "needs settings.command",
        "my-agent",
    ),
    "unknown role": (
        "agents:\n  bindings:\n    implementor: cursor\n",
        3,
        "agents.bindings.implementor",
        "unknown agent 'implementor'; did you mean 'implementer'?",
        "sow agent list",
    ),
    "a role without an executor": (
        "agents:\n  bindings:\n    planner: []\n",
        3,
        "agents.bindings.planner",
        "must not be empty",
        "",
    ),
    "an executor twice in a role's list": (
        "agents:\n  bindings:\n    planner:\n      - cursor\n      - codex\n      - cursor\n",
        6,
        "agents.bindings.planner[2]",
        "cursor is named twice",
        "Name each executor once",
    ),
    "no executor's name in a role's list": (
        "agents:\n  bindings:\n    planner: [1]\n",
        3,
        "agents.bindings.planner[0]",
        "expected a string",
        "",
    ),
    "an unknown rule for sessions": (
        "agents:\n  fallback_resume: maybe\n",
        2,
        "agents.fallback_resume",
        "'maybe'",
        "",
    ),
    "a key twice": (
        "agents:\n  bindings:\n    planner: cursor\n    planner: cursor\n",
        4,
        "",
        "'planner' stands twice",
        "",
    ),
    "broken syntax": ("agents:\n  bindings: {\n", 3, "", "", ""),
    "a list": ("- agents\n", 1, "", "expected a mapping, got a list", ""),
    "not UTF-8": (b"# ok\nagents: \xff\n", 2, "", "not UTF-8", ""),
    "a strange variable": (
        executor("claude", "env:", "  A-B: '1'"),
        6,
        "agents.executors.x.env.A-B",
        "not a variable name",
        "",
    ),
    "a variable of sow's": (
        executor("claude", "env: {SOW_TASK_ID: '010'}"),
        5,
        "agents.executors.x.env.SOW_TASK_ID",
        "sow itself sets this variable",
        "",
    ),
    "PATH": (
        executor("claude", "env: {PATH: /bin}"),
        5,
        "agents.executors.x.env.PATH",
        "has no effect",
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_place_reason_and_remedy(load, config_path, name):
    text, line, key, reason, hint = FAULTS[name]

    with pytest.raises(InvalidConfiguration) as caught:
        load(text)

    error = caught.value
    assert error.exit_code == 3
    assert (error.path, error.line, error.key) == (config_path, line, key)
    assert reason in error.reason
    assert "nothing, got" not in error.reason
    assert error.message.startswith(f"{config_path}, line {line}: {key}")
    assert hint in error.hint
    assert error.hint.strip()


CLAUDE = [
    ("-p", "standard input"),
    ("--print", "standard input"),
    ("--", "standard input"),
    ("--output-format=json", "format of the output"),
    ("--input-format", "format of the output"),
    ("--session-id", "session"),
    ("--resume", "session"),
    ("-r", "session"),
    ("-rabc", "session"),
    ("--continue", "session"),
    ("-c", "session"),
    ("--fork-session", "session"),
    ("--permission-mode=plan", "settings.yolo_mode"),
    ("--dangerously-skip-permissions", "settings.yolo_mode"),
    ("--allowedTools", "settings.allowed_tools"),
    ("--model=opus", "settings.model"),
    ("--worktree", "folder"),
]
CURSOR = [
    ("-p", "standard input"),
    ("--output-format", "format of the output"),
    ("--resume=x", "session"),
    ("--chat-id", "session"),
    ("--continue", "session"),
    ("-f", "settings.yolo_mode"),
    ("--force", "settings.yolo_mode"),
    ("--yolo", "settings.yolo_mode"),
    ("--model", "settings.model"),
    ("--workspace", "folder"),
    ("--cloud", "this machine"),
    ("--api-key=sk-123", "no place for a secret"),
]


@pytest.mark.parametrize(
    ("kind", "argument", "reason"),
    [("claude", *each) for each in CLAUDE] + [("cursor", *each) for each in CURSOR],
)
def test_custom_args_that_fight_with_sow_are_refused(load, kind, argument, reason):
    with pytest.raises(InvalidConfiguration) as caught:
        load(executor(kind, f"custom_args: [--debug, '{argument}']"))

    error = caught.value
    assert (error.line, error.key) == (5, "agents.executors.x.custom_args[1]")
    assert reason in error.reason
    assert "sk-123" not in error.message
    assert "Remove it" in error.hint or "Move" in error.hint


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("claude", ["--max-turns", "30", "--append-system-prompt", "be brief", "--add-dir=../lib"]),
        ("claude", ["--permission-prompt-tool", "x", "--resumex", "-d"]),
        ("cursor", ["--sandbox", "enabled", "--approve-mcps"]),
        ("windsurf", ["--cascade", "-p", "--model", "x"]),
    ],
)
def test_other_custom_args_are_passed_on(load, kind, arguments):
    configuration = load(executor(kind, f"custom_args: {arguments}"))

    assert configuration.executor("x").custom_args == tuple(arguments)


def test_a_list_that_is_empty_fits_every_type(load):
    load(executor("claude", "settings: {command: [], resume: [], yolo_mode: false}"))
    load(executor("cursor", "settings: {allowed_tools: []}"))


@pytest.mark.parametrize(
    "text",
    [
        executor("claude", "env: {KEY: sk-secret, BAD-NAME: sk-secret}"),
        executor("claude", "env: sk-secret"),
        executor("claude", "env: [sk-secret]"),
        executor("claude", "env: {KEY: [sk-secret]}"),
        executor("claude", "env: {KEY: 'sk-secret${'}"),
        executor("claude", "env: {KEY: 'sk-secret\\0'}").replace("'", '"'),
        executor("claude", "{env: {KEY: sk-secret}, modl: x}").replace("type: claude\n", ""),
        executor("claude", "env: {KEY: sk-secret}", "custom_args: ["),
        executor("claude", "env: {KEY: sk-secret, KEY: sk-secret}"),
        executor("claude", "envi: {KEY: sk-secret}"),
    ],
)
def test_no_error_shows_the_value_of_a_variable(load, text):
    with pytest.raises(InvalidConfiguration) as caught:
        load(text)

    assert "sk-secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("name", ["x", "gpt-4.1", "x[0]"])
def test_a_number_as_a_variable_is_not_shown_either(load, name):
    with pytest.raises(InvalidConfiguration) as caught:
        load(executor("claude", "env: {PIN: 424242}").replace("x:", f'"{name}":'))

    assert caught.value.key == f"agents.executors.{name}.env.PIN"
    assert "strings" in caught.value.reason
    assert "424242" not in caught.value.message + caught.value.hint


@pytest.fixture
def nobody():
    """Give up root's right to read every file while the test runs."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_a_file_we_may_not_read(load, config_path, request):
    config_path.write_text("")
    config_path.chmod(0)
    request.getfixturevalue("nobody")

    with pytest.raises(InvalidConfiguration) as caught:
        load()

    assert caught.value.reason == "cannot be read: permission denied"
    assert caught.value.line is None


def test_a_folder_in_the_files_place(load, config_path):
    config_path.mkdir()

    with pytest.raises(InvalidConfiguration) as caught:
        load()

    assert caught.value.reason == "cannot be read: it is a folder, not a file"
    assert "remove it to use the defaults" in caught.value.hint


def test_a_file_in_the_folders_place(tmp_path):
    from sow.config.load import load_configuration

    (tmp_path / "sow").write_text("")
    with pytest.raises(InvalidConfiguration, match="not a directory"):
        load_configuration(
            path=tmp_path / "sow" / "config.yaml", repository_path=None, environ={}, roles=[]
        )
