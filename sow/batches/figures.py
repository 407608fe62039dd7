"""Whether a budget that stands in a file has room again, after it has stopped an item.

A batch's or a task's budget is raised by a command, which says so itself; of a file nobody is
told.
"""

from collections.abc import Mapping

from msgspec import Struct

from sow.config.configuration import Configuration
from sow.ids import ProjectId
from sow.jobs.budgets import standing_of
from sow.jobs.database import Database
from sow.schema.budget import Amounts, ReachedBudget, ScopeKind


class Figures(Struct, frozen=True):
    """The budgets that stand in files, as they stand now."""

    executors: Mapping[str, Amounts]
    project: Amounts | None
    at: float
    """Now, in seconds since the epoch."""


def figures_of(configuration: Configuration, *, now: float) -> Figures:
    """Return the budgets of a configuration."""
    return Figures(configuration.budgets, configuration.project_budget, now)


def has_room(
    database: Database, project_id: ProjectId, reached: ReachedBudget | None, figures: Figures
) -> bool:
    """Whether a budget that was reached has a rest by now. No, for one that is in no file."""
    if reached is None or reached.kind not in (ScopeKind.EXECUTOR, ScopeKind.PROJECT):
        return False
    kind, name = reached.kind, reached.name
    budget = figures.executors.get(name) if kind is ScopeKind.EXECUTOR else figures.project
    accounts = standing_of(database, project_id, kind, name, budget or Amounts(), now=figures.at)
    return all(account.rest for account in accounts)
