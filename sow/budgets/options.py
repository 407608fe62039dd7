"""`--budget` and `--unmetered`, of the commands that start agents."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sow.errors import UsageError

if TYPE_CHECKING:
    from sow.schema.amounts import Amounts

F = TypeVar("F", bound=Callable[..., Any])


def budget_options(function: F) -> F:
    """Give a command both options."""
    budget = click.option(
        "--budget",
        metavar="AMOUNTS",
        help="What the task, or the batch, may cost in all: usd=5,tokens=2M,time=3h.",
    )
    unmetered = click.option(
        "--unmetered", is_flag=True, help="Run it even if its executor cannot keep a budget."
    )
    return budget(unmetered(function))


def given_budget(text: str | None) -> "Amounts | None":
    """Return the budget that was asked for. Raises UsageError."""
    if text is None:
        return None
    # Few calls have a budget.
    from sow.budgets.settings import EXAMPLE, parse_budget

    try:
        return parse_budget(text)
    except ValueError as error:
        raise UsageError(f"not a budget: {error}", hint=f"Such as --budget {EXAMPLE}.") from None
