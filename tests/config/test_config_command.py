"""`sow config path` and `sow config show`."""

import json
import os
import subprocess
import sys

import pytest

from sow.cli.root import run
from sow.config.load import load_configuration

TEXT = """
agents:
  executors:
    cursor:
      settings: {yolo_mode: true}
      env: {CURSOR_API_KEY: "${SECRET}", PIN: sk-secret}
    windsurf:
      settings: {yolo_mode: true}
    "gpt 4: on":
      type: command
      settings: {command: [agent, 'say "ü"', "{task_dir}"]}
      timeout: 90m
    "on":
      type: claude
      settings: {allowed_tools: ["Bash(npm test:*)"]}
      max_parallel: 2
      custom_args: []
  bindings:
    implementer: cursor
    reviewer: aider
"""


@pytest.fixture
def place(tmp_path, monkeypatch, config_path):
    """Work in an empty folder with nothing of ours above it, and a file that SOW_CONFIG names."""
    for name in [name for name in os.environ if name.startswith("SOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOW_CONFIG", str(config_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return config_path


def shown(capsys, *arguments):
    assert run(["config", *arguments]) == 0
    return capsys.readouterr().out


def test_path_prints_the_path_and_whether_it_exists(place, capsys):
    assert shown(capsys, "path") == f"{place}\n"
    assert shown(capsys, "path", "--exists") == "false\n"
    place.write_text("not: [valid")
    assert shown(capsys, "path", "--exists") == "true\n"
    assert json.loads(shown(capsys, "path", "--json")) == {"path": str(place), "exists": True}


@pytest.mark.slow
def test_the_true_command_works_without_repository_or_git(tmp_path):
    environ = {"HOME": str(tmp_path / "home"), "PATH": "/nowhere"}

    for arguments, expected in (
        (["path"], f"{tmp_path}/home/.config/sow/config.yaml\n"),
        (["path", "--exists"], "false\n"),
    ):
        printed = subprocess.run(
            [sys.executable, "-P", "-m", "sow", "config", *arguments],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (printed.stdout, printed.stderr) == (expected, "")


def test_show_without_a_file(place, capsys):
    lines = shown(capsys, "show").splitlines()

    assert lines[:4] == [
        "# Effective configuration (merged from defaults + file + environment)",
        f"# Config file: {place} (not found)",
        "# Environment overrides: none",
        "",
    ]
    values = [line for line in lines if line.strip() and not line.rstrip().endswith(":")][3:]
    assert values
    assert all(line.endswith("# (default)") for line in values)
    assert ["implementer:", '"claude-code"', "#", "(default)"] in [line.split() for line in values]


def test_show_tells_the_origin_of_every_value(place, capsys, monkeypatch):
    place.write_text(TEXT)
    monkeypatch.setenv("SOW_AGENTS_ARCHITECT", "windsurf")

    lines = [" ".join(line.split()) for line in shown(capsys, "show").splitlines()]

    assert f"# Config file: {place} (exists)" in lines
    assert "# Environment overrides: SOW_AGENTS_ARCHITECT=windsurf" in lines
    assert (
        "# Warning: agents.executors.windsurf.settings.yolo_mode has no effect: "
        "sow knows no such flag of windsurf; put it into custom_args." in lines
    )
    for line in (
        'type: "cursor" # (default)',
        "yolo_mode: true # (from config file)",
        'command: ["agent", "say \\"ü\\"", "{task_dir}"] # (from config file)',
        'timeout: "90m" # (from config file)',
        "custom_args: [] # (from config file)",
        'implementer: "cursor" # (from config file)',
        'architect: "windsurf" # (from environment: SOW_AGENTS_ARCHITECT)',
        'reviewer: "aider" # (from config file; no such executor)',
        'planner: "claude-code" # (default)',
        'idle_exit: "10m" # (default)',
        'keep_for: "30d" # (default)',
        'keep_size: "2GB" # (default)',
        'min_free_disk: "500MB" # (default)',
        'min_free_memory: "300MB" # (default)',
        "on_quota: true # (default)",
        "worker_deaths: 5 # (default)",
    ):
        assert line in lines


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_show_never_prints_the_value_of_a_variable(place, capsys, monkeypatch, form):
    place.write_text(TEXT)
    monkeypatch.setenv("SECRET", "sk-secret")

    printed = shown(capsys, "show", *form)

    assert "sk-secret" not in printed
    assert "${SECRET}" not in printed
    assert '"***"' in printed


def test_what_show_prints_loads_as_the_same_configuration(place, capsys, tmp_path):
    from sow.agents.roles import AGENTS

    place.write_text(TEXT)
    copy = tmp_path / "copy.yaml"
    copy.write_text(shown(capsys, "show"))

    roles = [agent.name for agent in AGENTS]
    first, second = (
        load_configuration(path=path, repository_path=None, environ={}, roles=roles)
        for path in (place, copy)
    )

    assert second.executors == first.executors
    assert second.bindings == first.bindings
    assert (second.worker, second.retry_on_quota) == (first.worker, first.retry_on_quota)
    assert second.retry_worker_deaths == first.retry_worker_deaths


def test_show_reads_the_repository_it_is_in(place, capsys, tmp_path):
    settings = tmp_path / "here" / ".sow" / "config.yaml"
    settings.parent.mkdir()
    settings.write_text("worker: {concurrency: 7}")

    printed = shown(capsys, "show")

    assert f"# Repository settings: {settings} (exists)\n" in printed
    assert ["concurrency:", "7", "#", "(from", ".sow/config.yaml)"] in [
        line.split() for line in printed.splitlines()
    ]


def test_show_tells_what_only_the_repository_says(place, capsys, tmp_path):
    assert "# reviews" not in shown(capsys, "show"), "outside a repository nobody can say it"
    settings = tmp_path / "here" / ".sow" / "config.yaml"
    settings.parent.mkdir()
    assert '# reviews: "optional" (default)\n' in shown(capsys, "show")
    settings.write_text("reviews: required\nclones: {use: always}\nchecks: {unit: make test}\n")
    assert '# reviews: "required" (from .sow/config.yaml)\n' in shown(capsys, "show")
    record = json.loads(shown(capsys, "show", "--json"))
    own = {key: record["settings"][key] for key in ("clones", "checks", "reviews")}
    assert own == {"clones": {"use": "always"}, "checks": {"unit": "make test"}} | {
        "reviews": "required"
    }
    assert record["origins"]["reviews"] == "repository"


def test_show_as_json(place, capsys, monkeypatch):
    place.write_text(TEXT)
    monkeypatch.setenv("SOW_AGENTS_ARCHITECT", "windsurf")

    record = json.loads(shown(capsys, "show", "--json"))

    assert list(record) == [
        "path",
        "exists",
        "repository_path",
        "environment",
        "settings",
        "origins",
        "warnings",
    ]
    assert (record["path"], record["exists"]) == (str(place), True)
    assert record["environment"] == {"SOW_AGENTS_ARCHITECT": "windsurf"}
    assert record["settings"]["agents"]["executors"]["on"]["max_parallel"] == 2
    assert record["settings"]["agents"]["bindings"]["architect"] == "windsurf"
    assert record["origins"]["agents.bindings.architect"] == "environment:SOW_AGENTS_ARCHITECT"
    assert record["origins"]["agents.executors.on.max_parallel"] == "file"
    assert record["origins"]["worker.concurrency"] == "default"


def test_show_prints_limits_as_they_are_written(place, capsys):
    limits = "{memory: 4GiB, cpu: 90m, processes: 5, disk: 2GB}"
    place.write_text(f"agents: {{executors: {{codex: {{limits: {limits}}}}}}}")

    lines = [" ".join(line.split()) for line in shown(capsys, "show").splitlines()]
    for line in ('memory: "4GiB"', 'cpu: "90m"', "processes: 5", 'disk: "2GB"'):
        assert f"{line} # (from config file)" in lines
    shown_again = json.loads(shown(capsys, "show", "--json"))["settings"]["agents"]["executors"]
    assert shown_again["codex"]["limits"]["memory"] == "4GiB"


def test_show_prints_a_role_s_list_as_a_configuration_that_loads(place, capsys):
    place.write_text("agents: {bindings: {architect: [cursor, nix], planner: [codex]}}")

    lines = [" ".join(line.split()) for line in shown(capsys, "show").splitlines()]
    assert 'architect: ["cursor", "nix"] # (from config file; no such executor: nix)' in lines
    assert 'planner: "codex" # (from config file)' in lines
    assert 'fallback_resume: "stay" # (default)' in lines
    record = json.loads(shown(capsys, "show", "--json"))
    assert record["settings"]["agents"]["bindings"]["architect"] == ["cursor", "nix"]
    place.write_text(shown(capsys, "show"))
    again = json.loads(shown(capsys, "show", "--json"))
    assert again["settings"]["agents"] == record["settings"]["agents"]


def test_show_says_nothing_of_lists_where_there_are_none(place, capsys):
    place.write_text("agents: {bindings: {planner: codex}}")

    assert "fallback_resume" not in shown(capsys, "show")


def test_a_fault_is_shown_with_exit_code_3(place, capsys):
    place.write_text("agents:\n  bindings:\n    implementor: cursor\n")

    assert run(["config", "show"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"Error: {place}, line 3: agents.bindings.implementor: "
        "unknown agent 'implementor'; did you mean 'implementer'?\n"
        "\n"
        "    implementor: cursor\n"
        "    ^\n"
        "\n"
        "`sow agent list` shows the agents.\n"
    )
