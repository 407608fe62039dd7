"""The plugin as it lies in the package: its version, its files, its hook."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sow import __version__
from sow.cli.named_commands import commands_of
from sow.install.claude import rules
from sow.install.places import MARKETPLACE

PLUGIN = MARKETPLACE / "sow"
HOOK = PLUGIN / "hooks/news.sh"


def test_it_has_the_version_of_sow() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert manifest["version"] == __version__


@pytest.mark.parametrize("file", sorted((PLUGIN / "commands").glob("*.md")), ids=lambda f: f.stem)
def test_what_a_command_tells_to_run_its_session_may_run(file: Path) -> None:
    """But for what is a person's to run, and is named as such."""
    allowed = {tuple(rule[len("Bash(sow ") : -len(":*)")].split()) for rule in rules()}
    named = commands_of(file.read_text(encoding="utf-8"))
    assert named
    for words in (found.words for found in named if found.words):
        assert any(words[: len(rule)] == rule for rule in allowed), words


def run_hook(folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", str(HOOK)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **env},
        input="{}",
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """A `sow` that notes that it was called, fails and complains."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "sow"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho Oh >&2\nexit 2\n')
    script.chmod(0o755)
    return tmp_path / "calls"


def test_the_hook_asks_in_a_workspace_only_and_never_fails(tmp_path: Path, calls: Path) -> None:
    deep = tmp_path / "work/deep"
    deep.mkdir(parents=True)
    path = f"{calls.parent / 'bin'}:/usr/bin:/bin"
    silent = run_hook(deep, PATH=path)
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    assert not calls.exists(), "there is no .sow folder: no program was started"
    (tmp_path / "work/.sow").mkdir()
    assert run_hook(deep, PATH=path, SOW_JOB_ID="1").returncode == 0
    assert not calls.exists(), "an agent of sow's"
    asked = run_hook(deep, PATH=path)
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, "", "")
    assert calls.read_text() == "news --hook\n"
    run_hook(tmp_path, PATH=path, CLAUDE_PROJECT_DIR=str(deep))
    assert calls.read_text().count("\n") == 2, "the project's folder counts"
    without = run_hook(deep, PATH="/usr/bin:/bin")
    assert (without.returncode, without.stdout, without.stderr) == (0, "", "")
