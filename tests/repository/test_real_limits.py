"""The limits of tests with real agents: a CLI takes seconds to start or to go on where others work.

One of 2 s has failed a whole run of CI, with nothing wrong.
"""

import re

from repository.sources import ROOT

LEAST_SECONDS = 10.0
LIMIT = re.compile(r"\b(?:\w*timeout|\w*seconds|[A-Z_]*SECONDS)\b(?:: \w+)? ?= ?\"?([\d.]+)")
"""A limit, as an argument, a setting or a constant has it."""


def short_limits(text: str) -> list[str]:
    """Return the limits in a source that are too short."""
    return [found[0] for found in LIMIT.finditer(text) if float(found[1]) < LEAST_SECONDS]


def test_no_limit_of_a_real_agent_is_too_short_for_a_busy_machine() -> None:
    files = sorted((ROOT / "tests/real").glob("*.py"))
    texts = {path.name: path.read_text("utf-8") for path in files}
    assert sum(len(LIMIT.findall(text)) for text in texts.values()) > 20
    found = {name: short_limits(text) for name, text in texts.items()}
    assert {name: limits for name, limits in found.items() if limits} == {}


def test_a_short_one_would_be_seen() -> None:
    for text in (
        'journey.configure(stall_timeout="2s")',
        "end_of(call, seconds=9)",
        "PATIENCE_SECONDS: float = 5.0",
        "connect(address, timeout=5)",
    ):
        assert short_limits(text), text
    assert short_limits('api_timeout="25s", retries=2, seconds=600') == []
