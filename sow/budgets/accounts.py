"""The budgets that bind a job: how much of each is used and reserved, and a new attempt's share.

The promises:
* An attempt reserves its share in the transaction that begins it. The shares of
  the attempts that run never exceed what is left of a budget, whoever begins them.
* What an attempt has used counts for what it is known to be, and where that is not
  known, for its whole share.

Owns the scopes that a budget can have (`_CONDITIONS`: a further one is a row
there), and the SQL of what was spent in them.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import ACTIVE, Database
from sow.schema.amounts import Amounts, Measure, ScopeKind
from sow.schema.job import Budgets, Job

NO_BATCH = "0"
"""The number of the batch of a job that is in none."""
WARN_AT = 0.8
"""The part of a budget at which it warns."""
LEAST_PART = 0.1
"""No share is smaller than this part of a budget, as long as so much is left: an agent that has
used up its share is ended and begins another turn, which costs something by itself."""
GRAINS = {Measure.USD: 0.0001, Measure.TOKENS: 1.0, Measure.TIME: 1.0}
"""Less than this is nothing."""

USED = {
    Measure.USD: "coalesce(usd, 0)",
    Measure.TOKENS: "coalesce(input + output + cache_read + cache_write, 0)",
    Measure.TIME: "coalesce(ended_at, max(:now, began_at)) - began_at",
}
"""What an attempt is known to have used."""
UNKNOWN = {Measure.USD: "is_unpriced", Measure.TOKENS: "input is null", Measure.TIME: "false"}
"""Whether an attempt that has ended may have used more than that."""
SHARE = {
    Measure.USD: "coalesce(share_usd, 0)",
    Measure.TOKENS: "coalesce(share_tokens, 0)",
    Measure.TIME: "coalesce(share_time, 0)",
}
CHARGED = {
    measure: f"case when ended_at is null or {UNKNOWN[measure]}"
    f" then max({USED[measure]}, {SHARE[measure]}) else {USED[measure]} end"
    for measure in Measure
}
"""What an attempt counts for: what it has used, and no less than its share where that is unknown
or goes on to grow."""

SUMS = {
    Measure.USD: "usd as used, charged_usd as charged",
    Measure.TOKENS: "tokens as used, charged_tokens as charged",
    Measure.TIME: "time as used, time as charged",
}
"""The same of all attempts that have ended, as `spent` has it."""

_CONDITIONS: Mapping[ScopeKind, str] = {
    ScopeKind.TASK: "project_id = :project and task_id = :task",
    ScopeKind.EXECUTOR: "{executor} = :executor",
    ScopeKind.BATCH: "batch = cast(:batch as bigint)",
    ScopeKind.PROJECT: "project_id = :project",
}
"""Which rows of `spending`, and of `job`, belong to a scope; they call the executor differently."""


class Scope(Struct, frozen=True):
    """One budget that binds a job."""

    kind: ScopeKind
    name: str
    """The task's id, the executor's name, the batch's number; empty of the project."""
    budget: Amounts
    values: Mapping[str, str]
    """What its condition asks for."""
    label: str = ""
    """What a command calls it, where that is not its name: a batch that goes on has one."""


class Account(Struct, frozen=True):
    """How one measure of one budget stands."""

    scope: Scope
    measure: Measure
    total: float
    used: float
    """What is known to be used."""
    charged: float
    """What counts: the shares of what runs, and of what nobody knows the cost of, among it."""
    running: int
    """How many attempts run in the scope."""
    waiting: int
    """How many live jobs of the scope run none."""

    @property
    def rest(self) -> float:
        """What may still be reserved; less than a grain is nothing."""
        rest = self.total - self.charged
        return rest if rest >= GRAINS[self.measure] else 0.0

    @property
    def is_reached(self) -> bool:
        """Whether nothing is left, and nothing can be given back by an attempt that runs."""
        return not self.rest and not self.running


def scopes_of(job: Job) -> Iterator[Scope]:
    """Yield the budgets that bind a job."""
    budgets = job.budgets or Budgets()
    values: dict[str, str] = {
        ScopeKind.PROJECT: job.project_id,
        ScopeKind.TASK: job.task_id,
        ScopeKind.EXECUTOR: job.executor_name,
        ScopeKind.BATCH: str(job.batch or NO_BATCH),
    }
    names = {**values, ScopeKind.PROJECT: ""}
    for kind in ScopeKind:
        budget = budgets.of(kind)
        if budget is not None:
            yield Scope(kind, names[kind], budget, values)


def accounts_of(database: Database, job: Job, *, now: float) -> list[Account]:
    """Return how each measure of each budget stands that binds a job."""
    scopes = [_labelled(database, scope) for scope in scopes_of(job)]
    return [account for scope in scopes for account in _accounts(database, scope, now)]


def _labelled(database: Database, scope: Scope) -> Scope:
    if scope.kind is not ScopeKind.BATCH:
        return scope
    row = database.row(
        "select name, ended_at from batch where id = cast(? as bigint)", (scope.name,)
    )
    if row is None:
        return scope
    from sow.schema.batch import label_of  # few budgets are a batch's

    label = label_of(int(scope.name), row["name"], has_ended=row["ended_at"] is not None)
    return msgspec.structs.replace(scope, label=label)


def standing_of(
    database: Database,
    project_id: ProjectId,
    kind: ScopeKind,
    name: str,
    budget: Amounts,
    *,
    now: float,
) -> list[Account]:
    """Return how each measure of one budget stands, an executor's or the project's, for no job."""
    values = {"project": project_id, "executor": name, "task": "", "batch": NO_BATCH}
    return list(_accounts(database, Scope(kind, name, budget, values), now))


def _accounts(database: Database, scope: Scope, now: float) -> Iterator[Account]:
    for measure in Measure:
        total = scope.budget.of(measure)
        if total is not None:
            yield _account(database, scope, measure, total, now)


def _account(
    database: Database, scope: Scope, measure: Measure, total: float, now: float
) -> Account:
    spent, live = (
        _CONDITIONS[scope.kind].format(executor=column) for column in ("executor", "executor_name")
    )
    ended = ""
    if scope.kind is not ScopeKind.TASK:  # those that have ended are summed up (`spent`)
        ended = (
            f"select {SUMS[measure]}, 0 as running from spent where scope = '{scope.kind}'"  # noqa: S608
            f" and name = :{scope.kind} union all"
        )
        spent = f"ended_at is null and +{spent}"
    (sums,) = database.rows(
        "select coalesce(sum(used), 0) as used, coalesce(sum(charged), 0) as charged,"  # noqa: S608
        " coalesce(sum(running), 0) as running from ("
        f"{ended} select {USED[measure]} as used, {CHARGED[measure]} as charged,"
        " case when ended_at is null then 1 else 0 end as running"
        f" from spending where {spent}) as each",
        {**scope.values, "now": now},
    )
    waiting = database.value(
        f"select count(*) from job where {ACTIVE} and {live}"  # noqa: S608
        " and not exists (select 1 from spending where job_id = job.id and ended_at is null)",
        scope.values,
    )
    return Account(scope, measure, total, sums["used"], sums["charged"], sums["running"], waiting)


def share_of(account: Account, at_once: int) -> float:
    """Return what one more attempt may reserve of a budget that has a rest.

    The rest is divided by the attempts that may begin now: as many as jobs of
    the scope wait, two at the least, for another may come, and as many as there
    are slots at the most. A task has one job at a time.
    """
    rest = account.rest
    if account.scope.kind is ScopeKind.TASK:
        return rest
    parts = min(max(2, account.waiting), max(1, at_once - account.running))
    share = max(rest / parts, min(rest, LEAST_PART * account.total))
    grain = GRAINS[account.measure]
    return min(rest, max(grain, int(share / grain) * grain))


def offer(accounts: list[Account], at_once: int) -> Amounts:
    """Return the share that one more attempt may reserve; of each measure the smallest.

    It is nothing of a measure whose budget has no rest.
    """
    shares: dict[str, float] = {}
    for account in accounts:
        share = share_of(account, at_once)
        shares[account.measure] = min(share, shares.get(account.measure, share))
    return Amounts(**shares)


def lacking(database: Database, job: Job, share: Amounts, *, now: float) -> Account | None:
    """Return a budget that has too little left for a share; None where it may be reserved.

    Asked in the transaction that then begins the attempt with it.
    """
    for account in accounts_of(database, job, now=now):
        if (share.of(account.measure) or 0.0) > account.rest:
            return account
    return None


def note_warning(database: Database, job: Job, account: Account, words: str, *, now: float) -> bool:
    """Put a warning on the record of changes, once for each figure; return whether it was news."""
    key = (account.scope.kind.value, account.scope.name, account.measure.value, account.total)
    with database.transaction():
        project = job.project_id if account.scope.kind is ScopeKind.PROJECT else ""
        is_new = database.run(
            "insert into budget_warning (scope, name, measure, total, at)"
            " values (?, ?, ?, ?, ?) on conflict do nothing",
            (key[0], key[1] or project, key[2], key[3], now),
        )
        if is_new:
            from sow.schema.change import ChangeKind  # few budgets come so near to their end

            jobs.note_change(database, job, ChangeKind.WARNING, words)
        return bool(is_new)
