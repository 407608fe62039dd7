"""Budgets while agents run: the share of each attempt, the watch over it, the warning.

Owns that nothing begins without a share, and that an agent which has used up
its own is ended so that its session can be resumed. The sums are `sow.budgets.accounts`'s.
"""

import time
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from sow.agent_clis.description import Metering
from sow.agent_clis.known import AGENT_CLIS
from sow.budgets.accounts import WARN_AT, Account, accounts_of, lacking, note_warning, offer
from sow.budgets.admission import BudgetIsReached
from sow.budgets.words import (
    account_words,
    raise_words,
    reached_budget,
    scope_words,
    warning_words,
)
from sow.errors import SowError
from sow.executors.base import Verdict
from sow.jobs import jobs, leases, spending, workers
from sow.schema.amounts import Amounts, Measure
from sow.schema.causes import Cause
from sow.schema.job import Job
from worker.context import WorkerContext, tell
from worker.features import CannotGoOn, MustWait, WorkerFeature
from worker.running import Exit, Running

WARNING_SECONDS = 2.0
"""How often it is looked whether little is left."""


class RestIsReserved(MustWait):
    """What is left of a budget is reserved by agents that run: a job waits until they end."""

    def __init__(self, account: Account) -> None:
        super().__init__(
            f"the rest of the budget of {scope_words(account)} is reserved for running jobs"
        )


class BudgetWorker(WorkerFeature):
    """Budgets, as workers ask them."""

    def share_of_next(self, context: WorkerContext, job: Job) -> Amounts:
        """Return what the next attempt may reserve. Raises MustWait, CannotGoOn."""
        if job.budgets is None:
            return Amounts()
        try:
            return share_for(context, job)
        except BudgetIsReached as error:
            if is_raised(context, job):
                raise MustWait(error.message) from None
            reason = SowError(f"{error.message}\n{error.hint}")
            fields = {"budgets": job.budgets, "reached": error.reached}
            raise CannotGoOn(reason, Cause.BUDGET_REACHED, fields) from None

    def on_begin(self, context: WorkerContext, job: Job, share: Amounts) -> None:
        """Reserve an attempt's share, in the transaction that begins it. Raises RestIsReserved."""
        if not share:
            return
        bound = jobs.get_job(context.database, job.id)  # its budgets may have changed
        account = lacking(context.database, bound, share, now=context.now())
        if account is not None:
            raise RestIsReserved(account)

    def on_usage(self, context: WorkerContext, running: Running) -> Verdict | None:
        """Warn if little is left; return why an attempt is ended that has used up its share."""
        if running.job.budgets is None:
            return None
        now = time.monotonic()
        if now >= running.warns_at:
            running.warns_at = now + WARNING_SECONDS
            warn(context, running.job)
        return over_share(context, running)

    def on_judged(
        self,
        context: WorkerContext,
        running: Running,
        job: Job,
        verdict: Verdict,
        exit_facts: Exit | None,
    ) -> Verdict:
        """Return the verdict in words that name the budget and how it is raised.

        What the attempt has used is put on record first: it counts from here on.
        """
        if verdict.cause is not Cause.BUDGET_REACHED:
            return verdict
        ended_at = running.ended_at(exit_facts, now=context.now())
        with leases.under(context.database, running.lease):
            running.note_last_usage(context.database, verdict.cause, ended_at=ended_at)
        for account in accounts_of(context.database, job, now=context.now()):
            if not account.rest and (not account.running or job.parent is not None):
                reason = f"{account_words(account)}\n{raise_words(account)}"
                return structs.replace(verdict, reason=reason, reached=reached_budget(account))
        return verdict

    def may_go_on(self, context: WorkerContext, job: Job, verdict: Verdict) -> bool:
        """Whether a job whose agent has used up its share may have another one, now or later."""
        return verdict.cause is Cause.BUDGET_REACHED and is_left(context, job)

    def on_end(self, job: Job, verdict: Verdict) -> Mapping[str, Any]:
        """Return the budget that has ended a job, and the figures then, not what they became."""
        if verdict.cause is not Cause.BUDGET_REACHED:
            return {}
        return {"budgets": job.budgets, "reached": verdict.reached}

    def is_outdated(self, context: WorkerContext, job: Job, verdict: Verdict) -> bool:
        """Whether the budget that has ended an attempt has another figure by now."""
        return verdict.cause is Cause.BUDGET_REACHED and is_raised(context, job)

    def on_settled(self, context: WorkerContext, job: Job) -> None:
        """Warn if little is left."""
        warn(context, job)

    def on_round(self, context: WorkerContext) -> None:
        """Let the first job go on that waits for a budget's rest, and need wait no longer."""
        let_go_on(context)


FEATURE = BudgetWorker()


def is_raised(context: WorkerContext, job: Job) -> bool:
    """Whether a job's budgets have other figures by now."""
    return jobs.get_job(context.database, job.id).budgets != job.budgets


def share_for(context: WorkerContext, job: Job) -> Amounts:
    """Return what the next attempt of a job may reserve; nothing without a budget.

    Raises BudgetIsReached, RestIsReserved. A job that another agent has queued
    does not wait: that agent may be what holds the rest, and waits for it.
    """
    accounts = accounts_of(context.database, job, now=context.now())
    for account in accounts:
        if not account.rest:
            if account.running and job.parent is None:
                raise RestIsReserved(account)
            raise BudgetIsReached(account)
    return offer(watched(job, accounts), at_once(context, job))


def at_once(context: WorkerContext, job: Job) -> int:
    """Return how many attempts may run beside each other, for the size of a share."""
    most = job.agents_executor.max_parallel
    slots = context.configuration.worker.concurrency
    return slots if most is None else min(slots, most)


def watched(job: Job, accounts: list[Account]) -> list[Account]:
    """Return those that can be kept while its agent runs: of the others it has no share."""
    if AGENT_CLIS[job.agents_executor.type].metering is Metering.AT_ONCE:
        return accounts
    return [account for account in accounts if account.measure is Measure.TIME]


def over_share(context: WorkerContext, running: Running) -> Verdict | None:
    """Return why an attempt should be ended now: it has used up its share."""
    if running.output.seen.concluded:
        return None
    if running.share is None:
        attempt = running.attempt
        running.share = spending.share_of(context.database, attempt.job_id, attempt.number)
    used = Amounts(time=time.monotonic() - running.begun_at)
    if running.output.seen.meter.is_told and (running.share.tokens or running.share.usd):
        run = running.usage(context.database, ended=False)
        tokens = run.tokens.total if run.tokens is not None else None
        used = Amounts(time=used.time, usd=run.usd, tokens=tokens)
    for measure in Measure:
        share, spent = running.share.of(measure), used.of(measure)
        if share is not None and spent is not None and spent >= share:
            return Verdict(Cause.BUDGET_REACHED, f"has used up its share of a budget ({measure})")
    return None


def let_go_on(context: WorkerContext) -> None:
    """Let the first job go on that waits for a budget's rest, and need wait no longer.

    Its start reserves a share, or finds that nothing will be left; the next one is looked at after
    that. So none is taken only to be put back.
    """
    for job in jobs.waiting_for_share(context.database):
        try:
            share_for(context, job)
        except RestIsReserved:
            continue
        except BudgetIsReached:
            pass  # nobody runs who could leave something: its start says so
        leases.let_go_on(context.database, job.id, now=context.now())
        workers.wake(context.workspace)
        return


def is_left(context: WorkerContext, job: Job) -> bool:
    """Whether a job whose agent has used up its share may have another one, now or later."""
    try:
        share_for(context, job)
    except BudgetIsReached:
        return False
    except RestIsReserved:
        return True
    return job.budgets is not None


def warn(context: WorkerContext, job: Job) -> None:
    """Put on record, once for each figure, that little is left of a budget."""
    if job.budgets is None:
        return
    now = context.now()
    for account in accounts_of(context.database, job, now=now):
        if account.used < WARN_AT * account.total:
            continue
        words = warning_words(account)
        if note_warning(context.database, job, account, words, now=now):
            tell(job, words)
