"""A budget in words: how it stands, and how it is raised. Pure."""

from sow.clock import format_duration
from sow.config.budgets import write_amount, write_budget, write_count
from sow.jobs.budgets import Account
from sow.schema.budget import Amounts, Measure, ScopeKind
from sow.schema.job import Job

OF_TASK = "the budget of task"
"""How the words begin that tell of a task's own budget."""


def raised(job: Job) -> str:
    """Return the option that doubles the budget of a job's task."""
    task = job.budgets.task if job.budgets is not None else None
    doubled = {
        measure.value: 2 * amount
        for measure in Measure
        if (amount := (task or Amounts()).of(measure)) is not None
    }
    return f"--budget {write_budget(Amounts(**doubled))}"


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
            return f"batch {account.scope.name}"
        case ScopeKind.PROJECT:
            return "the project"


def raise_words(account: Account) -> str:
    """Return how a budget is raised, with the command or the setting."""
    measure, doubled = account.measure, write_amount(account.measure, 2 * account.total)
    match account.scope.kind:
        case ScopeKind.TASK:
            return f"Call again with a new total, such as --budget {measure}={doubled}."
        case ScopeKind.EXECUTOR:
            key = f"agents.executors.{account.scope.name}.budget.{measure}"
            return f"Raise {key} in your configuration (`sow config edit`), then call again."
        case ScopeKind.BATCH:
            name = account.scope.name
            return f"Raise it: `sow batch resume {name} --budget {measure}={doubled}`."
        case ScopeKind.PROJECT:
            return f"Raise budget.{measure} in .sow/config.yaml, then call again."


def _shown(measure: Measure, amount: float) -> str:
    match measure:
        case Measure.USD:
            return f"${amount:.4f}"
        case Measure.TOKENS:
            return f"{write_count(amount)} tokens"
        case Measure.TIME:
            return format_duration(amount)
