"""What budgets that stand in files allow: where one is used up, what raises it comes first.

Owns which commands begin a run that such a budget would refuse. A task's own budget is raised by
the very command that goes on, and a batch's by its own. Pure but for `look`.
"""

import os
from collections.abc import Iterator, Sequence

from sow.budgets.accounts import Account, standing_of
from sow.budgets.settings import BudgetSettings
from sow.ids import ProjectId
from sow.jobs.database import Database
from sow.lifecycle.lifecycle_facts import Remedy
from sow.schema.amounts import ScopeKind
from sow.situation.program_steps import ON_SESSION, REVIEWS, STARTS, executors_of
from sow.situation.situation import Situation
from sow.situation.step import EDITOR

BEGIN = (*ON_SESSION, REVIEWS, STARTS, "sow agent spawn ", "sow batch run")
"""What begins a run of an agent."""


def look(
    database: Database, project_id: ProjectId, settings: BudgetSettings, *, now: float
) -> Sequence[Account]:
    """Return the budgets, the project's and the executors', of which nothing is left."""
    bound = [(ScopeKind.EXECUTOR, name, amounts) for name, amounts in settings.executors.items()]
    if settings.project is not None:
        bound.insert(0, (ScopeKind.PROJECT, "", settings.project))
    return [
        account
        for kind, name, amounts in bound
        for account in standing_of(database, project_id, kind, name, amounts, now=now)
        if account.is_reached
    ]


def allowed(
    found: Sequence[Remedy], now: Situation, reached: Sequence[Account]
) -> Iterator[Remedy]:
    """Yield commands without those that a budget would refuse; first what raises that budget."""
    if not reached:
        yield from found
        return
    refused = [remedy for remedy in found if _is_refused(remedy.command, now, reached)]
    if refused:
        yield from (_raised(account, now) for account in reached)
    yield from (remedy for remedy in found if remedy not in refused)


def _raised(account: Account, now: Situation) -> Remedy:
    from sow.budgets.words import account_words, raise_words  # few budgets are used up

    why = f"{account_words(account)}. {raise_words(account)}"
    if account.scope.kind is ScopeKind.EXECUTOR or now.workspace is None:
        return Remedy("sow config edit", why)
    from shlex import quote  # as above

    return Remedy(f"{EDITOR} {quote(os.path.relpath(now.workspace.repository_config))}", why)


def _is_refused(command: str, now: Situation, reached: Sequence[Account]) -> bool:
    if not command.startswith(BEGIN):
        return False
    if any(account.scope.kind is ScopeKind.PROJECT for account in reached):
        return True
    used_up = {account.scope.name for account in reached}
    return any(name in used_up for name in executors_of(command, now))
