"""Whether a budget that stands in a file has room again, after it has stopped an item.

A batch's or a task's budget is raised by a command, which says so itself; of a file nobody is
told.
"""

from sow.budgets.accounts import standing_of
from sow.config.configuration import Configuration
from sow.ids import ProjectId
from sow.jobs.database import Database
from sow.schema.amounts import Amounts
from sow.schema.limits import ReachedLimit, ScopeKind


def has_room(
    reached: ReachedLimit,
    *,
    database: Database,
    project_id: ProjectId,
    configuration: Configuration,
    now: float,
) -> bool:
    """Whether a budget that was reached has a rest by now. No, for one that is in no file."""
    match reached.kind:
        case ScopeKind.EXECUTOR:
            budget = configuration.budgets.get(reached.name)
        case ScopeKind.PROJECT:
            budget = configuration.project_budget
        case _:
            return False
    standing = standing_of(
        database, project_id, reached.kind, reached.name, budget or Amounts(), now=now
    )
    return all(account.rest for account in standing)
