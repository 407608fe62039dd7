"""Shares never exceed what is left of a budget, in any order of begins, ends and kills."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_cases import NOW, PROJECT, WORKER, make_job

from sow.budgets import accounts
from sow.budgets.accounts import GRAINS, Account, Scope, offer, share_of
from sow.ids import AttemptId
from sow.jobs import jobs, known_jobs, spending
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.amounts import Amounts, Measure, ScopeKind
from sow.schema.job import Attempt, Budgets, Job, JobState, Verb
from sow.schema.usage import RunUsage, Tokens

TOTAL = Amounts(usd=10.0, tokens=1000.0)
TOKENS = st.integers(0, 400)
NONE = Amounts()


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    with closing(open_queue(workspace)) as opened:
        yield opened


def bound_job(database: Database, task_id: str, **more: Amounts) -> Job:
    job = make_job(task_id, state=JobState.RUNNING, budgets=Budgets(**(more or {"project": TOTAL})))
    return jobs.insert_job(database, job)


def begin(database: Database, job: Job, share: Amounts, number: int = 1) -> Attempt:
    attempt = Attempt(
        job_id=job.id,
        number=number,
        id=AttemptId(f"{job.id}.{number}.x"),
        verb=Verb.SPAWN,
        worker_id=WORKER,
        created_at=NOW,
        started_at=NOW,
    )
    with database.transaction():
        assert accounts.lacking(database, job, share, now=NOW) is None
        spending.begin(database, job, attempt, share)
    return attempt


def run_of(tokens: int | None, *, unpriced: bool = False) -> RunUsage:
    """Return what was used; a token costs a cent."""
    if tokens is None:
        return RunUsage(is_partial=True, is_unpriced=True)
    usd = None if unpriced else tokens / 100
    return RunUsage(tokens=Tokens(input=tokens), usd=usd, is_unpriced=unpriced)


@dataclass
class Life:
    """An attempt as the model of the test knows it."""

    job: Job
    attempt: Attempt
    share: Amounts
    run: RunUsage = field(default_factory=lambda: run_of(0))
    ended: bool = False

    def charge(self, measure: Measure) -> float:
        share, tokens = self.share.of(measure) or 0.0, self.run.tokens
        spent = self.run.usd if measure is Measure.USD else tokens.total if tokens else None
        unknown = self.run.is_unpriced if measure is Measure.USD else tokens is None
        least = share if unknown or not self.ended else 0.0
        return max(spent or 0.0, least)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "use", "end", "killed", "lost"]), st.integers(0, 5), TOKENS
    ),
    max_size=25,
)


@settings(
    max_examples=min(40, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(EVENTS, st.integers(1, 4))
def test_shares_never_exceed_the_rest(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[tuple[str, int, int]],
    at_once: int,
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("budget"))
    workspace.sow.mkdir()
    with closing(open_queue(workspace)) as database:
        lives: list[Life] = []
        for event, which, tokens in events:
            running = [life for life in lives if not life.ended]
            if event == "begin":
                _begin(database, lives, at_once)
            elif running:
                _go_on(database, running[which % len(running)], event, tokens)


def _begin(database: Database, lives: list[Life], at_once: int) -> None:
    """Begin one more attempt, and hold its share against the model's own rest."""
    job = bound_job(database, f"{jobs.newest_id(database) + 1:03d}")
    found = accounts.accounts_of(database, job, now=NOW)
    share = offer(found, at_once)
    for account in found:
        rest = (account.total) - sum(life.charge(account.measure) for life in lives)
        assert (share.of(account.measure) or 0.0) <= max(0.0, rest) + 1e-9
        assert bool(account.rest) == (rest >= GRAINS[account.measure])
    if all(account.rest for account in found):
        lives.append(Life(job, begin(database, job, share), share))


def _go_on(database: Database, life: Life, event: str, tokens: int) -> None:
    """An attempt uses more, ends, is killed with its tokens known, or with nothing known."""
    before = life.run.tokens.total if life.run.tokens else 0
    more: dict[str, float] = {} if event == "use" else {"ended_at": NOW + 1}
    life.run = run_of(None if event == "lost" else before + tokens, unpriced=event == "killed")
    life.ended = event != "use"
    spending.note(database, life.job, life.attempt, life.run, None, **more)


def test_a_share_that_others_have_taken_meanwhile_is_not_reserved(database: Database) -> None:
    first, second = (bound_job(database, task) for task in ("010", "020"))
    share = offer(accounts.accounts_of(database, second, now=NOW), 1)
    assert share == TOTAL
    begin(database, first, Amounts(usd=0.5))
    account = accounts.lacking(database, second, share, now=NOW)
    assert account is not None
    assert (account.measure, account.rest) == (Measure.USD, 9.5)


def test_an_ended_attempt_gives_back_what_it_has_not_used(database: Database) -> None:
    job = bound_job(database, "010")
    attempt = begin(database, job, TOTAL)
    (usd, tokens) = accounts.accounts_of(database, job, now=NOW)
    assert (usd.rest, tokens.rest, usd.running) == (0.0, 0.0, 1)
    assert not usd.is_reached, "what runs may give something back"
    for _ in range(2):  # a worker that takes over writes the end again
        spending.note(database, job, attempt, run_of(100), None, ended_at=NOW + 5)
    (usd, tokens) = accounts.accounts_of(database, job, now=NOW)
    assert (usd.rest, tokens.rest, usd.running) == (9.0, 900.0, 0)


def test_a_lost_cost_counts_for_the_whole_share_and_known_tokens_for_themselves(
    database: Database,
) -> None:
    job = bound_job(database, "010")
    attempt = begin(database, job, Amounts(usd=4.0, tokens=500.0))
    spending.note(database, job, attempt, run_of(100, unpriced=True), None, ended_at=NOW + 5)
    (usd, tokens) = accounts.accounts_of(database, job, now=NOW)
    assert (usd.charged, usd.used, tokens.charged) == (4.0, 0.0, 100.0)


def test_each_scope_counts_what_belongs_to_it(database: Database) -> None:
    budget = Amounts(tokens=1000.0)
    mine = bound_job(database, "010", task=budget, executor=budget, project=budget)
    attempt = begin(database, mine, NONE)
    spending.note(database, mine, attempt, run_of(10), None, ended_at=NOW)
    other = make_job("020", executor="another", state=JobState.RUNNING, budgets=mine.budgets)
    other = jobs.insert_job(database, other)
    spending.note(database, other, begin(database, other, NONE), run_of(5), None)
    found = accounts.accounts_of(database, mine, now=NOW)
    used = {account.scope.kind: account.used for account in found}
    assert used == {ScopeKind.TASK: 10, ScopeKind.EXECUTOR: 10, ScopeKind.PROJECT: 15}


def test_time_is_that_of_all_agents_together(database: Database) -> None:
    job = bound_job(database, "010", project=Amounts(time=100.0))
    attempt = begin(database, job, Amounts(time=40.0))
    (account,) = accounts.accounts_of(database, job, now=NOW + 10)
    assert (account.used, account.charged) == (pytest.approx(10), 40.0)
    spending.note(database, job, attempt, run_of(1), None, ended_at=NOW + 30)
    (account,) = accounts.accounts_of(database, job, now=NOW + 99)
    assert (account.used, account.charged) == (pytest.approx(30), pytest.approx(30))


def account(
    kind: ScopeKind = ScopeKind.PROJECT,
    *,
    total: float = 8.0,
    charged: float = 0.0,
    running: int = 0,
    waiting: int = 1,
) -> Account:
    scope = Scope(kind, "", Amounts(usd=total), {"project": PROJECT})
    return Account(scope, Measure.USD, total, charged, charged, running, waiting)


def test_the_rest_is_divided_by_what_may_begin() -> None:
    assert share_of(account(waiting=1), 4) == 4.0, "another may come"
    assert share_of(account(waiting=3), 4) == pytest.approx(8 / 3, abs=0.0001)
    assert share_of(account(waiting=30), 4) == 2.0, "no more than there are slots"
    assert share_of(account(waiting=9, running=3), 4) == 8.0, "this is the last slot"
    assert share_of(account(ScopeKind.TASK, waiting=9), 4) == 8.0, "a task has one job at a time"


def test_no_share_is_too_small_to_be_of_use() -> None:
    assert share_of(account(charged=7.0, waiting=4), 4) == pytest.approx(0.8)
    assert share_of(account(charged=7.9), 4) == pytest.approx(0.1, abs=0.0002)
    assert account(charged=8.0).rest == account(charged=7.99999).rest == 0.0


def test_a_warning_is_given_once_for_each_figure(database: Database) -> None:
    job = bound_job(database, "010")
    (usd, _) = accounts.accounts_of(database, job, now=NOW)
    assert accounts.note_warning(database, job, usd, "80 %", now=NOW)
    assert not accounts.note_warning(database, job, usd, "81 %", now=NOW)
    assert known_jobs.warnings_of(database, job.id) == ["80 %"]


@pytest.mark.parametrize("kind", ScopeKind)
def test_what_runs_counts_in_each_budget_that_binds_it(database: Database, kind: ScopeKind) -> None:
    """For its share while it runs, and for what it has used after that."""
    job = bound_job(database, "010", **{kind.value: TOTAL})
    jobs.change_job(database, job.id, batch=7)
    job = jobs.get_job(database, job.id)
    attempt = begin(database, job, Amounts(tokens=600.0))

    def tokens() -> Account:
        found = accounts.accounts_of(database, job, now=NOW)
        return next(account for account in found if account.measure is Measure.TOKENS)

    assert (tokens().charged, tokens().running, tokens().waiting) == (600.0, 1, 0)
    spending.note(database, job, attempt, run_of(100), None, ended_at=NOW)
    assert (tokens().charged, tokens().running, tokens().waiting) == (100.0, 0, 1)
