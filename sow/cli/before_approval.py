"""The option `--before-approval`: a person begins tasks before the plan is approved."""

import click

from sow.calls.caller import Caller
from sow.cli.confirming import is_somebody_there

before_approval_option = click.option(
    "--before-approval",
    is_flag=True,
    help="Start it before the plan is approved; for a person at a terminal.",
)


def refuse_override_here(caller: Caller, is_given: bool) -> None:
    """Raise StateError where the option is given by somebody else than a person."""
    if is_given:
        # Few calls give it.
        from sow.calls.approving import refuse_override

        refuse_override(caller, at_terminal=is_somebody_there())
