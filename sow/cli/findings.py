"""How the findings of a check are shown: a mark and a line each, for people and for programs."""

import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from sow.cli import late_click as click
from sow.cli.output import shown_state
from sow.findings import Finding, Level, count

MARKS = {
    Level.OK: "✓ ",
    Level.NOTE: "- ",
    Level.WARNING: "⚠ Warning: ",
    Level.ERROR: "✗ Error: ",
}
PLAIN_MARKS = {
    Level.OK: "ok: ",
    Level.NOTE: "- ",
    Level.WARNING: "Warning: ",
    Level.ERROR: "Error: ",
}
"""For a terminal whose character set has no such marks."""


def echo_findings(findings: Sequence[Finding]) -> None:
    """Print each finding with its mark, and below those that share a remedy, that remedy."""
    marks = MARKS if _can_print("✓⚠✗") else PLAIN_MARKS
    for finding, following in zip_longest(findings, findings[1:]):
        mark = shown_state(finding.level, marks[finding.level])
        click.echo(f"{mark}{finding.text}")
        if following is None or following.remedy != finding.remedy:
            for line in finding.remedy.splitlines():
                click.echo(f"  {line}".rstrip())


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def counted(findings: Sequence[Finding], level: Level) -> str:
    """Return how many findings are of a level, in words: `2 warnings`."""
    number = count(findings, level)
    return f"{number} {level}{'' if number == 1 else 's'}"


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a finding for `--json`."""
    return {
        "check_name": finding.check,
        "level": finding.level.value,
        "text": finding.text,
        "remedy": finding.remedy,
        "facts": finding.facts,
    }
