"""Marks that somebody has logged or quoted are none of git's; those of a log in conflict are."""

import pytest
from validation.conftest import Validated
from validation.trees import MARKS

from sow.paths import Workspace
from sow.state.log_writing import LogEntry, format_entry


def test_an_agent_may_log_marks(workspace: Workspace, sow, validate) -> None:
    sow("agent", "log", "In conflict", "--body", f"It says:\n{MARKS}and no more.")
    assert validate().code == 0
    assert "\n <<<<<<< HEAD" in (workspace.project / "log.md").read_text()


def test_an_entry_of_before_may_hold_them(workspace: Workspace, validate) -> None:
    entry = LogEntry("2026-01-31T12:00:00Z", "a", "b", text="X", id="0123456789ab")
    text = format_entry(entry).replace("X\n", MARKS)
    (workspace.project / "log.md").write_text(text)
    assert validate().code == 0


@pytest.mark.parametrize("name", ["context/notes.md", "phases/implementation/README"])
def test_elsewhere_they_are_gits(workspace: Workspace, validate, name: str) -> None:
    path = workspace.project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"Words.\n\n{MARKS}")
    found: Validated = validate()
    assert ("conflict", f".sow/project/{name}", 3) in found.findings
    path.write_text(f"~~~\n{MARKS}~~~\n")
    assert ("conflict" in validate().kinds) is not name.endswith(".md")
