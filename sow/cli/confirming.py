"""Questions that a person answers, asked on stderr, and the option that a person alone may give.

Owns the rule that a program is never left waiting: without a terminal nothing
is asked, and the error names the option that answers beforehand.
"""

import sys
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.errors import UsageError

if TYPE_CHECKING:
    from sow.calls.caller import Caller

before_approval_option = click.option(
    "--before-approval",
    is_flag=True,
    help="Start it before the plan is approved; for a person at a terminal.",
)


def is_somebody_there() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, option: str, without: str = "") -> bool:
    """Ask, and return the answer; a mere return means no.

    Raises UsageError where nobody is there, whose hint is `without`, else the option that answers.
    """
    if not is_somebody_there():
        raise UsageError(
            f"nobody can answer this here: {question}",
            hint=without or f"Add {option} to do it without asking.",
        )
    try:
        return bool(click.confirm(question, default=False, err=True))
    except click.Abort:
        raise KeyboardInterrupt from None


def refuse_override_here(caller: "Caller", is_given: bool) -> None:
    """Raise StateError where the option is given by somebody else than a person."""
    if is_given:
        # Few calls give it.
        from sow.calls.approving import refuse_override

        refuse_override(caller, at_terminal=is_somebody_there())
