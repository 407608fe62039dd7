"""Puts executables named as the agent CLIs are into a folder for PATH.

Each is a two-line shell launcher of `agent.py`, so that the interpreter's path
may be long or hold spaces. `-E -s -S` keeps the user's Python settings out and
the start fast; after `exec` the process id is the one that the caller started.
"""

import shlex
from enum import StrEnum
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "agent.py"


class CursorDialect(StrEnum):
    """Which command line the installed `cursor-agent` speaks."""

    TODAY = "today"
    SEEDS = "seeds"


def install_standins(
    bin_dir: Path, python: str, *, cursor: CursorDialect = CursorDialect.TODAY
) -> None:
    """Write the launchers into `bin_dir` (made if missing); `python` runs the program."""
    bin_dir.mkdir(parents=True, exist_ok=True)
    for name, role in {
        "claude": "claude",
        "codex": "codex",
        "copilot": "copilot",
        "cursor-agent": f"cursor-{cursor}",
        "gemini": "gemini",
        "qwen": "qwen",
        "windsurf": "windsurf",
        "opencode": "opencode",
    }.items():
        _write_launcher(bin_dir / name, [python, "-E", "-s", "-S", str(PROGRAM), role])


def install_gh(bin_dir: Path, python: str) -> None:
    """Write a launcher named `gh`: the stand-in for GitHub's own program."""
    bin_dir.mkdir(parents=True, exist_ok=True)
    program = PROGRAM.with_name("gh_cli.py")
    _write_launcher(bin_dir / "gh", [python, "-E", "-s", "-S", str(program)])


def _write_launcher(path: Path, argv: list[str]) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
