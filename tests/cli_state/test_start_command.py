"""`sow start` as far as no terminal and no agent is needed: what it would run, and its refusals."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sow.agents.rights import commands_for
from sow.calls.start import OPENING
from sow.cli.named_commands import commands_of, fault_of
from sow.cli.tree import root
from sow.commands import CALLABLE
from sow.schema.output.sessions import StartPreview


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a `claude` on PATH that is never run."""
    programs = tmp_path.parent / f"{tmp_path.name}-bin"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\nexit 9\n")
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


def argv_of(sow: Callable, *words: str) -> list[str]:
    done = sow("start", *words, "--dry-run", "--json")
    assert done.code == 0, done.err
    assert set(done.json) == set(StartPreview.__struct_fields__)
    argv: list[str] = done.json["argv"]
    return argv


def instructions_of(argv: list[str]) -> str:
    return argv[argv.index("--append-system-prompt") + 1]


@pytest.mark.usefixtures("claude")
def test_it_lets_the_orchestrator_run_what_it_needs_and_nothing_else(begun) -> None:
    argv = argv_of(begun, "Sign in with JWT")
    rules = argv[argv.index("--allowedTools") + 1].split(",")
    words = {tuple(rule.removeprefix("Bash(sow ").removesuffix(":*)").split()) for rule in rules}
    assert words == set(commands_for("orchestrator"))
    assert {("agent", "spawn"), ("approve",), ("project", "finish")} <= words
    assert all(CALLABLE[each].has_rule for each in words)
    assert ("trust",) not in words
    assert argv[-2:] == ["--", "Sign in with JWT"]
    assert "-p" not in argv


@pytest.mark.usefixtures("claude")
def test_it_is_told_what_sow_prompt_tells_whoever_leads(begun, monkeypatch) -> None:
    argv = argv_of(begun)
    text = instructions_of(argv)
    assert argv[-1] == OPENING
    assert "It is of the type standard, and in the state **planning**" in text
    for line in begun("next").out.splitlines():
        assert line in text
    monkeypatch.setenv("SOW_AGENT", "orchestrator")  # as its own commands have it
    assert begun("prompt").out == text


@pytest.mark.usefixtures("claude")
def test_without_a_project_it_is_told_how_to_begin_one(sow) -> None:
    assert "sow init\n" in instructions_of(argv_of(sow))
    sow("init")
    assert 'sow project new "<name>"' in instructions_of(argv_of(sow))


@pytest.mark.usefixtures("claude")
def test_every_command_that_it_is_told_exists(begun, sow) -> None:
    texts = [instructions_of(argv_of(begun))]
    begun("project", "abandon")
    texts.append(instructions_of(argv_of(sow)))
    for text in texts:
        named = commands_of(text)
        assert named
        assert [fault for each in named if (fault := fault_of(each, root))] == []


@pytest.mark.usefixtures("claude")
def test_it_shows_the_command_in_words_too(begun) -> None:
    out = begun("start", "--dry-run").out
    assert "Command: claude --permission-mode acceptEdits --allowedTools " in out
    assert "SOW_AGENT" in out


@pytest.mark.usefixtures("claude")
def test_what_it_cannot_do_it_says(begun, as_agent) -> None:
    assert "sow start --headless" in begun("start").err
    assert "Add --headless" in begun("start", "--detach").err
    assert begun("start", "--headless", "--dry-run").code == 2
    assert "more than 100 kB" in begun("start", "x" * 200_000, "--dry-run").err
    as_agent(role="orchestrator")
    refused = begun("start", "--headless")
    assert (refused.code, "cannot start another orchestrator" in refused.err) == (4, True)


def test_a_cli_without_an_interactive_mode_is_told(begun, tmp_path, monkeypatch) -> None:
    config = tmp_path.parent / f"{tmp_path.name}-config.yaml"
    config.write_text("agents: {bindings: {orchestrator: windsurf}}\n")
    monkeypatch.setenv("SOW_CONFIG", str(config))
    refused = begun("start", "--dry-run")
    assert (refused.code, "no interactive mode" in refused.err) == (5, True)


@pytest.mark.usefixtures("claude")
def test_an_orchestrators_session_is_no_person(begun, monkeypatch) -> None:
    """Its commands say who they are, wherever their standard input comes from."""
    monkeypatch.setenv("SOW_AGENT", "orchestrator")
    monkeypatch.setattr("sow.cli.approve.is_at_terminal", lambda: True)
    refused = begun("approve", "plan")
    assert (refused.code, "an orchestrator's session" in refused.err) == (4, True)
