"""Budgets while somebody else acts: another start at the same moment, a figure that is raised."""

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from attempt_cases import wait_until
from watch_cases import NOW, WatchSite

from sow.budgets import accounts
from sow.executors.base import Verdict
from sow.ids import AttemptId
from sow.jobs import jobs, spending
from sow.jobs.database import open_queue
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Budgets, Job, JobState, Lease, Verb
from sow.schema.task import TaskStatus
from sow.schema.usage import RunUsage, Tokens
from worker import launch
from worker.budgeting import RestIsReserved, is_left, share_for
from worker.fork_servers import fork_servers
from worker.settle import settle_attempt

TOTAL = 1000
SMALL = Budgets(project=Amounts(tokens=TOTAL))
RAISED = Budgets(project=Amounts(tokens=9 * TOTAL))
STARTERS = 6


def first_attempt(site: WatchSite, job: Job) -> Attempt:
    return Attempt(
        job_id=job.id,
        number=1,
        id=AttemptId(f"{job.id}.1.abc"),
        verb=Verb.SPAWN,
        worker_id=site.context.worker_id,
        created_at=NOW,
    )


def test_starts_at_the_same_moment_never_reserve_more_than_the_rest(site: WatchSite) -> None:
    """Each has seen the whole rest before any of them begins, and begins on its own connection."""
    found = [site.job(f"{number:03d}", budgets=SMALL) for number in range(STARTERS)]
    leases = [site.lease(job) for job in found]
    shares = [share_for(site.context, job) for job in found]
    assert sum(share.tokens or 0 for share in shares) > TOTAL
    at_once = threading.Barrier(STARTERS)
    refused: list[Job] = []

    def start(job: Job, lease: Lease, share: Amounts) -> None:
        with closing(open_queue(site.workspace)) as database:
            context = replace(site.context, database=database)
            at_once.wait()
            try:
                launch._record_attempt(context, job, lease, first_attempt(site, job), share, job)
            except RestIsReserved:
                refused.append(job)

    threads = [
        threading.Thread(target=start, args=each)
        for each in zip(found, leases, shares, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (account,) = accounts.accounts_of(site.database, found[0], now=NOW)
    assert account.charged <= TOTAL
    assert account.running == STARTERS - len(refused) > 0
    for job in refused:
        assert jobs.last_attempt(site.database, job.id) is None, "it has not begun"


def use_all(site: WatchSite) -> None:
    """Have the agent of another task use the whole budget."""
    other = site.job("900", budgets=SMALL, state=JobState.DONE)
    run = RunUsage(tokens=Tokens(input=TOTAL), usd=0.0)
    spending.note(site.database, other, first_attempt(site, other), run, None, ended_at=NOW)


def raised_meanwhile(
    site: WatchSite, job: Job, monkeypatch: pytest.MonkeyPatch, place: str, asks: Callable[..., Any]
) -> None:
    """Have somebody raise the budget of a job when it has just been found out how it stands."""
    left = [RAISED]

    def found(*given: Any) -> Any:
        try:
            return asks(*given)
        finally:
            while left:
                jobs.change_job(site.database, job.id, budgets=left.pop())

    monkeypatch.setattr(place, found)


def test_a_budget_that_is_raised_while_a_start_is_refused_lets_the_job_start(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_all(site)
    job = site.job(budgets=SMALL)
    site.lease(job)
    raised_meanwhile(site, job, monkeypatch, "worker.budgeting.share_for", share_for)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    assert site.get(job).state is JobState.BACKOFF
    assert site.task().status is TaskStatus.IN_PROGRESS


def test_a_start_that_a_budget_refuses_ends_the_job_with_the_figure_on_record(
    site: WatchSite,
) -> None:
    use_all(site)
    job = site.job(budgets=SMALL)
    site.lease(job)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    ended = site.get(job)
    assert (ended.state, ended.cause, ended.budgets) == (
        JobState.FAILED,
        Cause.BUDGET_REACHED,
        SMALL,
    )


@pytest.mark.parametrize("is_raised", [True, False])
def test_a_budget_that_is_raised_while_an_attempt_is_ended_by_it_leaves_another_share(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, is_raised: bool
) -> None:
    use_all(site)
    job = site.job(budgets=SMALL)
    site.lease(job)
    attempt = site.run(job, "exit 0")
    wait_until(attempt.paths.exit.exists)
    running = site.adopt(job)
    running.ended_for = Verdict(Cause.BUDGET_REACHED, "has used up its share")
    if is_raised:
        raised_meanwhile(site, job, monkeypatch, "worker.budgeting.is_left", is_left)
    settle_attempt(site.context, running)
    ended = site.get(job)
    if is_raised:
        assert (ended.state, ended.budgets) == (JobState.QUEUED, RAISED)
        assert site.task().status is TaskStatus.IN_PROGRESS
    else:
        assert (ended.state, ended.budgets) == (JobState.FAILED, SMALL)
        assert "the budget of the project is reached" in ended.reason
