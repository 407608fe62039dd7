"""`--budget` and `--unmetered`, of the commands that start agents (`sow.cli.call_options`)."""

from collections.abc import Mapping
from typing import Any

from sow.errors import UsageError
from sow.features import Option

OPTIONS = (
    Option(
        "budget",
        "What the task, or the batch, may cost in all: usd=5,tokens=2M,time=3h.",
        metavar="AMOUNTS",
    ),
    Option("unmetered", "Run it even if its executor cannot keep a budget.", is_flag=True),
)


def parse(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget that was asked for, and whether it need not be kept. Raises UsageError."""
    text, unmetered = values["budget"], values["unmetered"]
    asked: dict[str, Any] = {"unmetered": True} if unmetered else {}
    if text is None:
        return asked
    # Few calls have a budget.
    from sow.budgets.settings import OPTION_EXAMPLE, parse_budget

    try:
        return {**asked, "budget": parse_budget(text)}
    except ValueError as error:
        raise UsageError(
            f"not a budget: {error}", hint=f"Such as --budget {OPTION_EXAMPLE}."
        ) from None
