"""An agent's events as lines: the mark and the colour of each kind, and how much of it is shown."""

import pytest

from sow.cli.attempt_logs import lines_of
from sow.reports.agent_events import Event, Kind


def painted(event: Event) -> list[str]:
    return list(lines_of(event, lambda word, text: f"<{word}>{text}"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event(Kind.TEXT, "I read", "I read\non"), ["  I read", "  on"]),
        (Event(Kind.TOOL, "Bash: make"), ["<running>> Bash: make"]),
        (Event(Kind.TOOL_RESULT, "ok", "ok\nmore\nstill"), ["< ok (+2 lines)"]),
        (
            Event(Kind.TOOL_RESULT, "no", "no\nmore", failed=True),
            ["<error>< no", "<error>  more"],
        ),
        (
            Event(Kind.RETRY, "request failed (429)", "rate_limit\nslowly", failed=True),
            ["<warning>! request failed (429): rate_limit", "<warning>  slowly"],
        ),
        (Event(Kind.ERROR, "a limit was reached", failed=True), ["<error>! a limit was reached"]),
        (
            Event(Kind.RESULT, "ended: Done.", "Done.\nAll of it."),
            ["<completed>= ended: Done.", "<completed>  All of it."],
        ),
        (Event(Kind.RESULT, "ended: no", "no", failed=True), ["<error>= ended: no"]),
        (Event(Kind.NOTE, "session began"), ["- session began"]),
    ],
)
def test_each_kind_has_its_mark_and_its_colour(event: Event, expected: list[str]) -> None:
    assert painted(event) == expected
