"""Text of others, made fit for a person's terminal.

Owns what may reach a terminal of what agents and files say. Knows nothing of
what the text means.
"""

import re

STEERING = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
"""What colours and moves on a terminal (ECMA-48)."""


def without_steering(text: str) -> str:
    """Return a text without the sequences that colour and move: their letters would stay else."""
    return STEERING.sub("", text)


def printable(text: str) -> str:
    """Return a text on one line, and with nothing in it that steers a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text, each as `printable` gives it; none for an empty one."""
    return [printable(line).rstrip() for line in text.splitlines()]
