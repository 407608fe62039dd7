"""Whether a budget that stands in a file has room again, after it has stopped an item.

Owns how such an end is known again: by sow's own words (`reports.budgets`). A batch's or
a task's budget is raised by a command, which says so itself; of a file nobody is told.
"""

from collections.abc import Mapping

from msgspec import Struct

from sow.config.configuration import Configuration
from sow.ids import ProjectId
from sow.jobs.budgets import standing_of
from sow.jobs.database import Database
from sow.reports.budgets import scope_in_file
from sow.schema.budget import Amounts, ScopeKind


class Figures(Struct, frozen=True):
    """The budgets that stand in files, as they stand now."""

    executors: Mapping[str, Amounts]
    project: Amounts | None
    at: float
    """Now, in seconds since the epoch."""


def figures_of(configuration: Configuration, *, now: float) -> Figures:
    """Return the budgets of a configuration."""
    return Figures(configuration.budgets, configuration.project_budget, now)


def has_room(database: Database, project_id: ProjectId, words: str, figures: Figures) -> bool:
    """Whether the budget that some words say is reached has a rest by now. No, for other words."""
    scope = scope_in_file(words)
    if scope is None:
        return False
    kind, name = scope
    budget = figures.executors.get(name) if kind is ScopeKind.EXECUTOR else figures.project
    accounts = standing_of(database, project_id, kind, name, budget or Amounts(), now=figures.at)
    return all(account.rest for account in accounts)
