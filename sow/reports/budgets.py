"""A budget in words: how it stands, and how it is raised. Pure.

A record keeps these words, and nothing else of the budget that has stopped a job: so what writes
them and what reads them again stand here together. Words are read that begin as ours do,
of a job that a budget has ended: an agent's words may hold any command.
"""

import re

from msgspec import structs

from sow.clock import format_duration
from sow.config.budgets import write_budget, write_count
from sow.jobs.budgets import NO_BATCH, WARN_AT, Account
from sow.schema.budget import Amounts, Measure, ScopeKind
from sow.schema.job import Job

EDIT_REPOSITORYS = '"${EDITOR:-vi}" .sow/config.yaml'
"""What opens the repository's own settings."""
REACHED = re.compile(r"the budget of (?:task|batch|executor|the project)\b")
SCOPE_IN_FILE = re.compile(r"the budget of (?:the project|executor (\S+)) is reached: ")
OF_TASK = "the budget of task"
"""How the words begin that tell of a task's own budget."""


def raised(job: Job) -> str:
    """Return the option that raises the budget of a job's task: the one that its reason names."""
    if option := option_in(job.reason):
        return option
    task = job.budgets.task if job.budgets is not None else None
    doubled = {
        measure.value: 2 * amount
        for measure in Measure
        if (amount := (task or Amounts()).of(measure)) is not None
    }
    return f"--budget {write_budget(Amounts(**doubled))}"


def option_in(words: str) -> str:
    """Return the option that raises a task's budget, where words say that one is reached."""
    found = REACHED.match(words) and re.search(r"such as (--budget \S+)\.", words)
    return found[1] if found else ""


def command_in(words: str) -> str:
    """Return the command that raises a budget, where words say that one is reached."""
    if not REACHED.match(words):
        return ""
    found = re.search(r"`(sow [^`]*--budget [^`]+|sow config edit)`", words)
    if found is not None:
        return found[1]
    return EDIT_REPOSITORYS if " in .sow/config.yaml, then " in words else ""


def scope_in_file(words: str) -> tuple[ScopeKind, str] | None:
    """Return whose budget is reached by some words, where it stands in a file; else None."""
    found = SCOPE_IN_FILE.match(words)
    if found is None:
        return None
    return (ScopeKind.EXECUTOR, found[1]) if found[1] else (ScopeKind.PROJECT, "")


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
    scope, measure = account.scope, account.measure
    total = write_budget(structs.replace(scope.budget, **{measure.value: enough(account)}))
    batch = scope.values["batch"]
    again = "call again" if batch == NO_BATCH else f"`sow batch wait {batch}`"
    match scope.kind:
        case ScopeKind.TASK:
            return f"Call again with a new total, such as --budget {total}."
        case ScopeKind.EXECUTOR:
            key = f"agents.executors.{scope.name}.budget.{measure}"
            return f"Raise {key} in your configuration (`sow config edit`), then {again}."
        case ScopeKind.BATCH:
            return f"Raise it: `sow batch resume {scope.name} --budget {total}`."
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
