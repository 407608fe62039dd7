"""A job that waits until agents which run have left something of a budget."""

import pytest
from recorded_changes import read_after
from test_budget_races import SMALL, TOTAL, first_attempt
from watch_cases import ME, NOW, WatchSite

from sow.jobs import changes, jobs, leases, spending
from sow.schema.amounts import Amounts
from sow.schema.change import ChangeKind
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.usage import RunUsage, Tokens
from worker import launch
from worker.budgeting import let_go_on
from worker.fork_servers import fork_servers

LATER = NOW + 3600


@pytest.fixture
def other(site: WatchSite) -> Job:
    """Return a job whose agent runs and has reserved the whole budget."""
    found = site.job("900", budgets=SMALL)
    site.lease(found)
    spending.begin(site.database, found, first_attempt(site, found), Amounts(tokens=TOTAL))
    return found


def waiting(site: WatchSite, task: str = "010") -> Job:
    job = site.job(task, budgets=SMALL)
    site.lease(job)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    return site.get(job)


def claim(site: WatchSite) -> bytes | None:
    return leases.claim(site.database, ME, total=9, own=9, now=LATER)


def told_of(site: WatchSite, job: Job, seq: int) -> list[ChangeKind]:
    return [change.kind for change in read_after(site.database, seq, changes.Filter(job=job.id))]


def ends(site: WatchSite, job: Job, tokens: int) -> None:
    run = RunUsage(tokens=Tokens(input=tokens), usd=0.0)
    spending.note(site.database, job, first_attempt(site, job), run, None, ended_at=NOW)


def test_it_is_told_once_that_it_waits_and_once_that_it_goes_on(
    site: WatchSite, other: Job
) -> None:
    job = waiting(site)
    assert (job.state, job.held_for) == (JobState.BACKOFF, HeldFor.SHARE)
    assert "is reserved for running jobs" in job.reason
    seq = changes.newest(site.database).seq
    for _ in range(3):
        let_go_on(site.context)
        assert claim(site) is None, "nobody takes it only to put it back"
    assert told_of(site, job, seq) == []
    ends(site, other, 10)
    let_go_on(site.context)
    assert claim(site) is not None
    assert told_of(site, job, seq) == [ChangeKind.RUNNING]
    assert site.get(job).held_for is None


def test_one_whose_budget_is_used_up_meanwhile_is_taken_and_ends(
    site: WatchSite, other: Job
) -> None:
    job = waiting(site)
    ends(site, other, TOTAL)
    let_go_on(site.context)
    assert claim(site) is not None
    assert launch.start(site.context, fork_servers({}), job.id) is None
    assert site.get(job).state is JobState.FAILED


def test_they_go_on_one_after_another(site: WatchSite, other: Job) -> None:
    first, second = waiting(site, "010"), waiting(site, "020")
    ends(site, other, 10)
    let_go_on(site.context)
    assert [site.get(job).held_for for job in (first, second)] == [None, HeldFor.SHARE]
    let_go_on(site.context)
    assert jobs.waiting_for_share(site.database) == []
