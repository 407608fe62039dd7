"""Questions that a person answers, asked on stderr, and whose word a call is.

Owns the rule that a program is never left waiting: without a terminal nothing
is asked, and the error names the option that answers beforehand. Owns when a call counts as a
person's at a terminal: for whatever is recorded or logged with its author, and for the option that
a person alone may give.
"""

import os
import sys
from typing import TYPE_CHECKING

from sow.cli import late_click as click
from sow.errors import UsageError
from sow.state.authors import Author, caller_of

if TYPE_CHECKING:
    from sow.calls.caller import Caller

before_approval_option = click.option(
    "--before-approval",
    is_flag=True,
    help="Start it before the plan is approved; for a person at a terminal.",
)


def is_somebody_there() -> bool:
    """Whether standard input is a terminal: somebody can answer there."""
    return sys.stdin is not None and sys.stdin.isatty()


def is_at_terminal() -> bool:
    """Whether standard input or standard error is a terminal: somebody has typed this call.

    Standard input may be a pipe that brings along what they say. The controlling terminal tells
    nothing: programs that a person has started, agents' CLIs among them, hand it down.
    """
    return is_somebody_there() or (sys.stderr is not None and sys.stderr.isatty())


def author_here() -> Author:
    """Return who calls this command, as its change is recorded."""
    return caller_of(os.environ, at_terminal=is_at_terminal())


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

        refuse_override(caller, at_terminal=is_at_terminal())
