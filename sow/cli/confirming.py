"""Questions that a person answers, asked on stderr.

Owns the rule that a program is never left waiting: without a terminal nothing
is asked, and the error names the option that answers beforehand.
"""

import sys

import click

from sow.errors import UsageError


def is_somebody_there() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, option: str) -> bool:
    """Ask, and return the answer; a mere return means no. Raises UsageError."""
    if not is_somebody_there():
        raise UsageError(
            f"nobody is here to answer: {question}", hint=f"Add {option} to do it without asking."
        )
    return click.confirm(question, default=False, err=True)
