"""Which budgets bind a call's job, and the refusals that are due before anything is placed.

Owns that a task's budget goes on with its later calls until another figure is
given, and what is said of a budget that cannot be kept.
"""

from collections.abc import Iterator

import msgspec

from sow.agent_clis.description import Metering
from sow.agent_clis.known import AGENT_CLIS
from sow.budgets.accounts import Account, accounts_of
from sow.calls.request import Request
from sow.config.configuration import Configuration
from sow.errors import ExecutorError, StateError
from sow.ids import BatchId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.schema.amounts import Amounts, Measure
from sow.schema.batch import BatchPolicy
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Budgets, Job
from sow.schema.limits import ScopeKind

REASONS = {
    Metering.AT_END: "its CLI tells what it has used only when it ends",
    Metering.NEVER: "its CLI does not tell what it uses",
}


class CannotBeKept(ExecutorError):
    """A budget is asked for that nobody could watch while the agent runs."""

    def __init__(self, words: str) -> None:
        super().__init__(
            words,
            hint="--unmetered runs it all the same: then only what can be counted is, when it is"
            " known. A time can always be kept: --budget time=1h.",
        )


class BudgetIsReached(StateError):
    """Nothing is left of a budget: nothing new starts."""

    def __init__(self, account: Account) -> None:
        # Every call that places a job imports this module; few budgets are reached.
        from sow.budgets.words import account_words, raise_words

        super().__init__(account_words(account), hint=raise_words(account))
        self.account = account


def with_budgets(
    database: Database, config: Configuration, request: Request, job: Job, *, now: float
) -> Job:
    """Return a job with the budgets that bind it. Raises CannotBeKept, BudgetIsReached."""
    if job.executor is None:
        return job
    last = jobs.last_job(database, job.project_id, job.task_id)
    earlier = (last.budgets if last is not None else None) or Budgets()
    goes_on = earlier.unmetered and request.budget is None
    number = job.batch or jobs.batch_of_task(database, job.project_id, job.task_id)
    policy = _policy_of(database, number) if number is not None else None
    bound = Budgets(
        task=request.budget or earlier.task,
        executor=config.budgets.get(job.executor_name),
        batch=policy.budget if policy is not None else None,
        project=config.project_budget,
        unmetered=request.unmetered or goes_on or (policy is not None and policy.unmetered),
    )
    if not any(bound.of(kind) for kind in ScopeKind):
        return job
    job = msgspec.structs.replace(job, budgets=bound, batch=number)
    if not bound.unmetered:
        for words in unkept(job.agents_executor, bound):
            raise CannotBeKept(words)
    for account in accounts_of(database, job, now=now):
        if account.is_reached:
            raise BudgetIsReached(account)
    return job


def _policy_of(database: Database, number: BatchId) -> BatchPolicy:
    # Large, and few jobs are of a batch.
    from sow.jobs.batches import get_batch

    return get_batch(database, number).policy


def raise_budget(database: Database, request: Request, job: Job) -> Job:
    """Give a job that lives the new figure that the same call asks for."""
    bound = job.budgets or Budgets()
    if request.budget is None or bound.task == request.budget or job.state.is_final:
        return job
    bound = msgspec.structs.replace(bound, task=request.budget)
    jobs.change_job(database, job.id, budgets=bound)
    return jobs.get_job(database, job.id)


def notes_on(job: Job) -> tuple[str, ...]:
    """Return what a caller should know of the budgets of a job that runs all the same."""
    if job.budgets is None or not job.budgets.unmetered:
        return ()
    return tuple(unkept(job.agents_executor, job.budgets))


def unkept(executor: ExecutorConfig, bound: Budgets) -> Iterator[str]:
    """Yield why a budget cannot be kept, a sentence each."""
    metering = AGENT_CLIS[executor.type].metering
    if metering is Metering.AT_ONCE:
        return
    for kind in ScopeKind:
        budget = bound.of(kind) or Amounts()
        for measure in (Measure.USD, Measure.TOKENS):
            if budget.of(measure) is not None:
                yield (
                    f"the budget {measure} of the {kind} cannot be kept by {executor.name}:"
                    f" {REASONS[metering]}"
                )
