"""What a setting in the file does to the process that is started, for spawn and for resume."""

import json
from pathlib import Path

import pytest

from sow.executors.base import LaunchRequest
from sow.executors.registry import make_executor
from sow.executors.session import Session
from sow.schema.executor_type import ExecutorType

REQUEST = LaunchRequest(
    session=Session("5f0c"),
    prompt="Do it.",
    prompt_file=Path("/run/prompt.md"),
    task_dir=Path("/tasks/010"),
    cwd=Path("/project"),
    as_root=False,
    commands=("task show", "agent log"),
)
COMMAND = {"command": ["agent", "{task_dir}"], "resume": ["agent", "--go-on", "{session_id}"]}

EFFECTS = [
    # type, its part of the file, words that stand in the argv one after the other
    ("claude", {"settings": {"yolo_mode": True}}, ["--dangerously-skip-permissions"]),
    ("claude", {"settings": {"yolo_mode": False}}, ["--permission-mode", "acceptEdits"]),
    ("claude", {"settings": {"model": "opus"}}, ["--model", "opus"]),
    ("claude", {"custom_args": ["--max-turns", "9"]}, ["--max-turns", "9"]),
    (
        "codex",
        {"settings": {"yolo_mode": True}},
        ["--dangerously-bypass-approvals-and-sandbox"],
    ),
    ("codex", {"settings": {"yolo_mode": False}}, ["-s", "workspace-write"]),
    ("codex", {"settings": {"model": "gpt-5"}}, ["-m", "gpt-5"]),
    ("codex", {"custom_args": ["--add-dir", "/x"]}, ["--add-dir", "/x"]),
    ("gemini", {"settings": {"yolo_mode": True}}, ["-y"]),
    ("gemini", {"settings": {"yolo_mode": False}}, ["--approval-mode", "default"]),
    ("gemini", {"settings": {"model": "g-2"}}, ["-m", "g-2"]),
    ("gemini", {"custom_args": ["--include-directories", "/x"]}, ["--include-directories", "/x"]),
    ("opencode", {"settings": {"yolo_mode": True}}, ["--auto"]),
    ("opencode", {"settings": {"model": "a/b"}}, ["-m", "a/b"]),
    ("opencode", {"custom_args": ["--variant", "high"]}, ["--variant", "high"]),
    ("qwen", {"settings": {"yolo_mode": True}}, ["--approval-mode", "yolo"]),
    ("qwen", {"settings": {"yolo_mode": False}}, ["--approval-mode", "default"]),
    ("qwen", {"settings": {"model": "q3"}}, ["-m", "q3"]),
    ("qwen", {"custom_args": ["--auth-type", "openai"]}, ["--auth-type", "openai"]),
    ("copilot", {"settings": {"yolo_mode": True}}, ["--allow-all"]),
    ("copilot", {"settings": {"yolo_mode": False}}, ["--allow-tool", "shell(sow:*)", "write"]),
    ("copilot", {"settings": {"model": "c-4"}}, ["--model", "c-4"]),
    (
        "copilot",
        {"settings": {"allowed_tools": ["shell(make:*)"]}},
        ["write", "shell(make:*)"],
    ),
    ("copilot", {"custom_args": ["--no-color"]}, ["--no-color"]),
    ("cursor", {"settings": {"yolo_mode": True}}, ["--force"]),
    ("cursor", {"settings": {"model": "gpt-5"}}, ["--model", "gpt-5"]),
    ("cursor", {"custom_args": ["--sandbox", "enabled"]}, ["--sandbox", "enabled"]),
    ("command", {"settings": COMMAND, "custom_args": ["--x", "y z"]}, ["--x", "y z"]),
]


def launches(load, kind, section, *, verbs=("spawn", "resume")):
    """Bind a role to an executor by a file and a variable, and return what it would run."""
    text = json.dumps({"agents": {"executors": {"mine": {"type": kind, **section}}}})
    binding = load(text, environ={"SOW_AGENTS_REVIEWER": "mine"}).binding("reviewer")
    executor = make_executor(binding.executor)
    return [getattr(executor, verb)(REQUEST) for verb in verbs]


def stands_in(words, argv):
    return any(list(argv[start : start + len(words)]) == words for start in range(len(argv)))


@pytest.mark.parametrize(("kind", "section", "words"), EFFECTS)
def test_a_setting_reaches_the_process_of_spawn_and_resume(load, kind, section, words):
    for launch in launches(load, kind, section):
        assert stands_in(words, launch.argv), launch.argv


@pytest.mark.parametrize(("kind", "section", "words"), EFFECTS)
def test_and_nothing_else_brings_it_there(load, kind, section, words):
    other = {"settings": COMMAND} if kind == "command" else {}
    if section == {"settings": {"yolo_mode": False}}:  # the default
        other = {"settings": {"yolo_mode": True}}

    for launch in launches(load, kind, other):
        assert not stands_in(words, launch.argv), launch.argv


def test_allowed_tools_are_added_to_what_sow_allows(load):
    tools = ["Bash(npm test:*)", "WebFetch"]

    for launch in launches(load, "claude", {"settings": {"allowed_tools": tools}}):
        allowed = launch.argv[launch.argv.index("--allowedTools") + 1].split(",")
        assert allowed[-2:] == tools
        assert allowed[:-2] == ["Bash(sow task show:*)", "Bash(sow agent log:*)"]


def test_a_command_is_run_as_it_is_written(load):
    spawn, resume = launches(load, "command", {"settings": COMMAND})

    assert spawn.argv == ("agent", "/tasks/010")
    assert resume.argv == ("agent", "--go-on", "5f0c")


def test_windsurf_runs_the_program_that_is_named(load):
    section = {"settings": {"command": ["surf", "--headless"]}, "custom_args": ["--cascade"]}

    for given, argv in (
        (section, ("surf", "--headless", "--cascade")),
        ({}, ("windsurf",)),
    ):
        [launch] = launches(load, "windsurf", given, verbs=["spawn"])
        assert launch.argv == argv


def test_an_agent_over_acp_gets_its_settings_by_the_orders_of_its_client(load):
    plain = {"settings": {"command": ["cline", "--acp"]}}
    freed = {"settings": {"command": ["pi-acp"], "preset": "pi", "yolo_mode": True}}

    for section, expected in (
        (plain, {"command": ["cline", "--acp"], "preset": None, "allows_all": False}),
        (
            {**freed, "custom_args": ["--x", "y z"]},
            {"command": ["pi-acp", "--x", "y z"], "preset": "pi", "allows_all": True},
        ),
    ):
        for launch, session in zip(launches(load, "acp", section), (None, "5f0c"), strict=True):
            [(name, text)] = launch.files.items()
            assert launch.argv[-1] == f"/run/{name}"
            orders = json.loads(text)
            assert {key: orders[key] for key in expected} == expected
            assert (orders["session"], orders["folder"]) == (session, "/project")
            assert orders["commands"] == ["task show", "agent log"]


def test_every_type_is_tried_here_or_has_a_file_of_cases():
    tried = {kind for kind, _, _ in EFFECTS} | {"windsurf"}
    files = (Path(__file__).parents[1] / "executors").glob("cases_*.py")
    elsewhere = {file.stem.removeprefix("cases_") for file in files}

    assert tried | elsewhere == set(ExecutorType)
