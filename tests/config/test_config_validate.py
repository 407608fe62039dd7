"""`sow config validate`: every check has its line, and a count ends them."""

import json

import pytest
from config.seed_examples import (
    ADVANCED,
    GENERATED,
    MINIMAL,
    MIXED,
    SHOWN,
    STRUCTURE,
    THREE_EXECUTORS,
)

from sow.config.defaults import BUILT_IN_EXECUTORS

CLEAN = """\
Validating configuration at {path}...

✓ YAML syntax valid
✓ Schema valid
✓ Executor types valid (claude)
✓ All bindings reference defined executors

Configuration is valid.
"""

WARNED = """\
Validating configuration at {path}...

✓ YAML syntax valid
✓ Schema valid
✓ Executor types valid (claude, cursor)
✓ All bindings reference defined executors
⚠ Warning: cursor-agent binary not found on PATH
  The 'cursor' executor requires cursor-agent CLI to be installed.
  Install cursor-agent: see https://cursor.com/cli

Configuration is valid with 1 warning.
"""


@pytest.fixture
def installed(anywhere):
    """Claude Code's program is on PATH, and no other."""
    anywhere.program("claude", "exit 0")
    return anywhere


def test_a_clean_file(installed):
    installed.write(MINIMAL)
    done = installed.sow("config", "validate")
    assert (done.code, done.err) == (0, "")
    assert done.out == CLEAN.format(path=installed.config)


def test_the_seeds_own_example(installed):
    """Seed 000, "Configuration Validation": the warning and the count, line for line."""
    installed.write(MIXED)
    done = installed.sow("config", "validate")
    assert (done.code, done.out) == (0, WARNED.format(path=installed.config))


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (MINIMAL, 0),
        (MIXED, 1),
        (ADVANCED, 1),
        (STRUCTURE, 3),
        (GENERATED, 0),
        (SHOWN, 1),
        (THREE_EXECUTORS, 3),
    ],
)
def test_every_example_of_the_seeds_is_valid(installed, text, warnings):
    """Of seed 001's: a yolo_mode without effect, and two programs missing."""
    installed.write(text)
    record = json.loads(installed.sow("config", "validate", "--json").out)
    assert record["valid"] is True
    assert [each["level"] for each in record["findings"]].count("warning") == warnings


def test_no_file_is_valid_and_says_so(installed):
    done = installed.sow("config", "validate")
    assert done.code == 0
    assert "- ~/.config/sow/config.yaml does not exist: the defaults are in effect\n" in done.out
    assert done.out.endswith("\nConfiguration is valid.\n")


FAULTS = {
    "syntax": ("agents: ]\n", "yaml", 1, "", []),
    "not UTF-8": ("agents: \udcff\n", "yaml", 1, "", []),
    "a list": ("- agents\n", "schema", 1, "", ["yaml"]),
    "unknown key": ("worker:\n  concurency: 2\n", "schema", 2, "worker.concurency", ["yaml"]),
    "wrong type": ("worker:\n  concurrency: x\n", "schema", 2, "worker.concurrency", ["yaml"]),
    "unknown role": (
        "agents:\n  bindings:\n    tseter: cursor\n",
        "schema",
        3,
        "agents.bindings.tseter",
        ["yaml"],
    ),
    "model on a type without models": (
        "agents:\n  executors:\n    windsurf:\n      settings:\n        model: x\n",
        "schema",
        5,
        "agents.executors.windsurf.settings.model",
        ["yaml"],
    ),
    "unknown type": (
        "agents:\n  executors:\n    x:\n      type: aider\n",
        "types",
        4,
        "agents.executors.x.type",
        ["yaml"],
    ),
    "no type": (
        "agents:\n  executors:\n    x: {retries: 1}\n",
        "types",
        3,
        "agents.executors.x",
        ["yaml"],
    ),
    "undefined executor": (
        "agents:\n  bindings:\n    tester: cursr\n",
        "bindings",
        3,
        "agents.bindings.tester",
        ["yaml", "schema", "types"],
    ),
}


FAULTS["undefined executor in a list"] = (
    "agents:\n  bindings:\n    tester:\n      - cursor\n      - cursr\n",
    "bindings",
    5,
    "agents.bindings.tester[1]",
    ["yaml", "schema", "types"],
)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_line_key_and_reason(installed, name):
    text, check, line, key, passed = FAULTS[name]
    installed.config.parent.mkdir(parents=True)
    installed.config.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = installed.sow("config", "validate", "--json")
    record = json.loads(done.out)
    assert (done.code, done.err, record["valid"]) == (3, "", False)
    assert [each["check_name"] for each in record["findings"] if each["level"] == "ok"] == passed
    (fault,) = [each for each in record["findings"] if each["level"] == "error"]
    assert (fault["check_name"], fault["facts"]["line"], fault["facts"]["key"]) == (
        check,
        line,
        key,
    )
    assert fault["facts"]["reason"] in fault["text"]
    shown = installed.sow("config", "validate")
    assert f"✗ Error: {fault['text']}\n" in shown.out
    assert shown.out.endswith("\nConfiguration is not valid: 1 error.\n")


def test_a_fault_is_shown_with_the_line_and_a_caret(installed):
    installed.write("worker:\n  concurency: 2\n")
    out = installed.sow("config", "validate").out
    assert "line 2: worker.concurency: unknown key 'concurency'; did you mean" in out
    assert "\n    concurency: 2\n    ^\n" in out


def test_a_variable_that_binds_a_role_to_nothing_is_an_error(installed):
    done = installed.sow("config", "validate", SOW_AGENTS_REVIEWER="aider")
    assert done.code == 3
    assert "✗ Error: SOW_AGENTS_REVIEWER names an unknown executor: aider\n" in done.out
    assert f"  Available executors: {', '.join(BUILT_IN_EXECUTORS)}\n" in done.out


def test_the_remedy_of_several_is_told_once(installed):
    installed.write("agents: {bindings: {tester: nix, reviewer: nix}}")
    out = installed.sow("config", "validate").out
    assert out.count("unknown executor: nix") == 2
    assert out.count("Available executors") == 1


def test_a_reference_to_a_variable_that_is_not_set_is_a_warning(installed):
    installed.write("agents: {executors: {claude-code: {env: {A: '${TOKEN}', B: secret}}}}")
    out = installed.sow("config", "validate").out
    assert "agents.executors.claude-code.env.A needs TOKEN, which is not set here\n" in out
    assert "secret" not in out
    assert "TOKEN" not in installed.sow("config", "validate", TOKEN="x").out


def test_the_settings_of_the_repository_are_checked_too(installed):
    (installed.base / ".sow").mkdir()
    (installed.base / ".sow/config.yaml").write_text("agents: {}\n")
    done = installed.sow("config", "validate", "--json")
    (fault,) = [each for each in json.loads(done.out)["findings"] if each["level"] == "error"]
    assert (done.code, fault["check_name"]) == (3, "repository")
    assert fault["facts"]["path"] == str(installed.base / ".sow/config.yaml")


def test_marks_for_a_terminal_that_has_no_such_letters(installed):
    done = installed.sow("config", "validate", PYTHONIOENCODING="latin-1")
    assert done.code == 0
    assert "ok: Schema valid\n" in done.out
