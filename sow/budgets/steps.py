"""What budgets that stand in files allow: where one is used up, what raises it comes first.

Pure. Owns which commands begin a run that such a budget would refuse. A task's own budget is
raised by the very command that goes on, and a batch's by its own.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.lifecycle.lifecycle_facts import Remedy
from sow.schema.limits import ScopeKind
from sow.situation.project_steps import LEADS
from sow.situation.situation import Situation
from sow.situation.step import EDITOR

if TYPE_CHECKING:  # of projects that have a budget
    from sow.budgets.accounts import Account

REVIEWER = "reviewer"
"""The role that reviews where none is named."""
ON_SESSION = ("sow agent resume ", "sow agent answer ")
REVIEWS = "sow agent review "
STARTS = "sow start --headless"
BEGIN = (*ON_SESSION, REVIEWS, STARTS, "sow agent spawn ", "sow batch run")
"""What begins a run of an agent."""


def within_budgets(found: Iterable[Remedy], now: Situation) -> Iterator[Remedy]:
    """Yield commands without those that a budget would refuse; first what raises that budget."""
    reached = now.queue.reached
    if not reached:
        yield from found
        return
    refused = [remedy for remedy in found if _is_refused(remedy.command, now)]
    if refused:
        yield from (_raised(account, now) for account in reached)
    yield from (remedy for remedy in found if remedy not in refused)


def _raised(account: "Account", now: Situation) -> Remedy:
    from sow.budgets.words import account_words, raise_words  # few budgets are used up

    why = f"{account_words(account)}. {raise_words(account)}"
    if account.scope.kind is ScopeKind.EXECUTOR or now.workspace is None:
        return Remedy("sow config edit", why)
    from shlex import quote  # as above

    return Remedy(f"{EDITOR} {quote(os.path.relpath(now.workspace.repository_config))}", why)


def _is_refused(command: str, now: Situation) -> bool:
    if not command.startswith(BEGIN):
        return False
    reached = now.queue.reached
    if any(account.scope.kind is ScopeKind.PROJECT for account in reached):
        return True
    used_up = {account.scope.name for account in reached}
    return any(name in used_up for name in executors_of(command, now))


def executors_of(command: str, now: Situation) -> Iterator[str]:
    """Yield the executors whose runs a command begins."""
    bindings = now.configuration.bindings if now.configuration is not None else {}
    if command.startswith(REVIEWS):
        yield bindings.get(REVIEWER, "")
    elif command.startswith(STARTS):
        yield bindings.get(LEADS, "")
    words = command.partition('"')[0].split()
    for task in now.tasks:
        if task.id in words and not command.startswith(REVIEWS):
            goes_on = command.startswith(ON_SESSION) and task.session is not UNSET
            own = bindings.get(task.assigned_agent, "")
            yield task.session.executor if goes_on and task.session is not UNSET else own
