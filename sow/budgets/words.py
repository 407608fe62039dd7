"""A budget in words: how it stands, and how it is raised. Pure.

Owns these words, and the commands. Nobody reads the words again: which budget has stopped a job is
on its record (`ReachedLimit`).
"""

from msgspec import structs

from sow.budgets.accounts import NO_BATCH, WARN_AT, Account
from sow.budgets.settings import write_budget, write_count
from sow.clock import format_duration
from sow.schema.amounts import Measure, ReachedLimit, ScopeKind

EDIT_REPOSITORYS = '"${EDITOR:-vi}" .sow/config.yaml'
"""What opens the repository's own settings."""


def reached_budget(account: Account) -> ReachedLimit:
    """Return what is put on record of a budget that is reached."""
    scope, measure = account.scope, account.measure
    total = structs.replace(scope.budget, **{measure.value: enough(account)})
    return ReachedLimit(kind=scope.kind, name=scope.label or scope.name, enough=total)


def option_of(reached: ReachedLimit | None) -> str:
    """Return the option with which a call raises its task's budget; empty for any other budget."""
    if reached is None or reached.kind is not ScopeKind.TASK:
        return ""
    return f"--budget {write_budget(reached.enough)}"


def command_of(reached: ReachedLimit | None) -> str:
    """Return the command that raises a budget; empty for a task's, which a call raises."""
    match reached.kind if reached is not None else None:
        case ScopeKind.EXECUTOR:
            return "sow config edit"
        case ScopeKind.PROJECT:
            return EDIT_REPOSITORYS
        case ScopeKind.BATCH if reached is not None:
            return f"sow batch resume {reached.name} --budget {write_budget(reached.enough)}"
        case _:
            return ""


def account_words(account: Account) -> str:
    """Say that a budget is reached: `the budget of task 010 is reached: $5.02 of $5`."""
    return f"the budget of {scope_words(account)} is reached: {standing_words(account)}"


def warning_words(account: Account) -> str:
    """Say that little is left of a budget."""
    part = round(100 * account.used / account.total)
    return f"{part} % of the budget of {scope_words(account)} is used: {standing_words(account)}"


def standing_words(account: Account) -> str:
    """Return how much of a budget is used: `$4.02 of $5`; with what counts besides."""
    words = f"{_shown(account.measure, account.used)} of {_shown(account.measure, account.total)}"
    beyond = account.charged - account.used
    if beyond > account.total / 1000:
        words += f", and {_shown(account.measure, beyond)} for what runs or was never told"
    return words


def scope_words(account: Account) -> str:
    """Return whose budget it is."""
    match account.scope.kind:
        case ScopeKind.TASK:
            return f"task {account.scope.name}"
        case ScopeKind.EXECUTOR:
            return f"executor {account.scope.name}"
        case ScopeKind.BATCH:
            return f"batch {account.scope.label or account.scope.name}"
        case ScopeKind.PROJECT:
            return "the project"


def raise_words(account: Account) -> str:
    """Return how a budget is raised, with the command or the setting."""
    scope, measure = account.scope, account.measure
    reached = reached_budget(account)
    batch = scope.values["batch"]
    again = "call again" if batch == NO_BATCH else f"`sow batch wait {batch}`"
    match scope.kind:
        case ScopeKind.TASK:
            return f"Call again with a new total, such as {option_of(reached)}."
        case ScopeKind.EXECUTOR:
            key = f"agents.executors.{scope.name}.budget.{measure}"
            return f"Raise {key} in your configuration (`sow config edit`), then {again}."
        case ScopeKind.BATCH:
            return f"Raise it: `{command_of(reached)}`."
        case ScopeKind.PROJECT:
            return f"Raise budget.{measure} in .sow/config.yaml, then {again}."


def enough(account: Account) -> float:
    """Return a new total with which a budget goes on: doubled until that is well above its use."""
    total = 2 * account.total
    while account.charged > WARN_AT * total:
        total *= 2
    return total


def _shown(measure: Measure, amount: float) -> str:
    match measure:
        case Measure.USD:
            return f"${amount:.4f}"
        case Measure.TOKENS:
            return f"{write_count(amount)} tokens"
        case Measure.TIME:
            return format_duration(amount)
