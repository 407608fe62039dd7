"""Which budgets bind a call's job, and the refusals that are due before anything is placed.

Owns that a task's budget goes on with its later calls until another figure is
given, and what is said of a budget that cannot be kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sow.agent_clis.description import Metering
from sow.agent_clis.known import AGENT_CLIS
from sow.budgets.accounts import Account, accounts_of, standing_of
from sow.calls.features import CallFeature, LimitIsReached
from sow.calls.request import Request
from sow.config.configuration import Configuration
from sow.errors import ExecutorError
from sow.ids import BatchId, ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.schema.amounts import Amounts, Measure, ReachedLimit, ScopeKind
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Budgets, Job

if TYPE_CHECKING:  # large, and few jobs are of a batch
    from sow.jobs.batches import JobInBatch

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


class BudgetIsReached(LimitIsReached):
    """Nothing is left of a budget: nothing new starts."""

    def __init__(self, account: Account) -> None:
        # Every call that places a job imports this module; few budgets are reached.
        from sow.budgets.words import account_words, raise_words, reached_budget

        super().__init__(account_words(account), hint=raise_words(account))
        self.account = account
        self.reached = reached_budget(account)


class BudgetCalls(CallFeature):
    """Budgets, as calls ask them."""

    def on_admit(
        self, database: Database, config: Configuration, request: Request, job: Job, *, now: float
    ) -> Job:
        """Return a job with the budgets that bind it. Raises CannotBeKept, BudgetIsReached."""
        if job.executor is None:
            return job
        last = jobs.last_job(database, job.project_id, job.task_id)
        earlier = (last.budgets if last is not None else None) or Budgets()
        asked = request.asked.get("budget")
        goes_on = earlier.unmetered and asked is None
        unmetered = request.asked.get("unmetered", False) or goes_on
        number = job.batch or jobs.batch_of_task(database, job.project_id, job.task_id)
        policy = _policy_of(database, number) if number is not None else None
        executors, project = _in_files(config)
        bound = Budgets(
            task=asked or earlier.task,
            executor=executors.get(job.executor_name),
            batch=policy.budget if policy is not None else None,
            project=project,
            unmetered=unmetered or (policy is not None and policy.unmetered),
        )
        if not any(bound.of(kind) for kind in ScopeKind):
            return job
        job = replace(job, budgets=bound, batch=number)
        if not bound.unmetered:
            for words in unkept(job.agents_executor, bound):
                raise CannotBeKept(words)
        for account in accounts_of(database, job, now=now):
            if account.is_reached:
                raise BudgetIsReached(account)
        return job

    def on_attach(self, database: Database, request: Request, job: Job) -> Job:
        """Give a job that lives the new figure that the same call asks for."""
        bound, asked = job.budgets or Budgets(), request.asked.get("budget")
        if asked is None or bound.task == asked or job.state.is_final:
            return job
        jobs.change_job(database, job.id, budgets=replace(bound, task=asked))
        return jobs.get_job(database, job.id)

    def notes_on(self, job: Job) -> Iterable[str]:
        """Return what a caller should know of the budgets of a job that runs all the same."""
        if job.budgets is None or not job.budgets.unmetered:
            return ()
        return unkept(job.agents_executor, job.budgets)

    def refuse_batch(self, policy: BatchPolicy, executors: Iterable[ExecutorConfig]) -> None:
        """Refuse a budget that an agent of the batch could not keep. Raises CannotBeKept."""
        if policy.budget is None or policy.unmetered:
            return
        for executor in executors:
            for words in unkept(executor, Budgets(batch=policy.budget)):
                raise CannotBeKept(words)

    def policy_asked(self, policy: BatchPolicy, asked: Mapping[str, Any]) -> BatchPolicy:
        """Return a batch's policy with a new total; without one it keeps what it has."""
        return replace(
            policy,
            budget=asked.get("budget") or policy.budget,
            unmetered=asked.get("unmetered", False) or policy.unmetered,
        )

    def on_policy(self, database: Database, job: Job, policy: BatchPolicy) -> None:
        """Give the batch's new total to a job of it that lives."""
        bound = job.budgets or Budgets()
        unmetered = bound.unmetered or policy.unmetered
        bound = replace(bound, batch=policy.budget, unmetered=unmetered)
        jobs.change_job(database, job.id, budgets=bound)

    def on_leaving(self, database: Database, job: Job) -> None:
        """Take the batch's budget from a job whose task leaves the batch."""
        if job.budgets is not None:
            jobs.change_job(database, job.id, budgets=replace(job.budgets, batch=None))

    def has_room(
        self,
        reached: ReachedLimit,
        database: Database,
        project_id: ProjectId,
        config: Configuration,
        *,
        now: float,
    ) -> bool:
        """Whether a budget that was reached has a rest by now. No, for one that is in no file.

        A batch's or a task's budget is raised by a command, which says so itself; of a file nobody
        is told.
        """
        executors, project = _in_files(config)
        match reached.kind:
            case ScopeKind.EXECUTOR:
                budget = executors.get(reached.name)
            case ScopeKind.PROJECT:
                budget = project
            case _:
                return False
        amounts = budget or Amounts()
        found = standing_of(database, project_id, reached.kind, reached.name, amounts, now=now)
        return all(account.rest for account in found)

    def is_raised(self, database: Database, job: "JobInBatch", policy: BatchPolicy) -> bool:
        """Whether the batch's budget has another figure than when it ended a job."""
        if job.cause != Cause.BUDGET_REACHED:
            return False
        bound = jobs.get_job(database, job.id).budgets
        return (bound.batch if bound is not None else None) != policy.budget


FEATURE = BudgetCalls()


def _in_files(config: Configuration) -> tuple[Mapping[str, Amounts], Amounts | None]:
    """Return the budgets of executors, and the project's."""
    found = config.features.get("budget")
    return ({}, None) if found is None else (found.executors, found.project)


def _policy_of(database: Database, number: BatchId) -> BatchPolicy:
    # Large, and few jobs are of a batch.
    from sow.jobs.batches import get_batch

    return get_batch(database, number).policy


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
