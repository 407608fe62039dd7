"""How a job ends of which an attempt is not judged: nothing of it stays open, and the words fit."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attempt_cases import wait_until
from test_budget_races import RAISED, SMALL, TOTAL
from watch_cases import NOW, PROJECT, WatchSite, dead_process

from sow.attempts.retry import Next, Step
from sow.budgets import accounts
from sow.budgets.admission import BudgetIsReached
from sow.calls.caller import Caller
from sow.calls.cancel import cancel_job
from sow.executors.base import Verdict
from sow.jobs import jobs, leases, spending
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import CHANGED_NOTHING, Job, JobState
from sow.schema.task import TaskStatus
from sow.trust.accepted import NotTrusted
from worker import launch
from worker.budgeting import RestIsReserved
from worker.context import WorkerContext
from worker.features import MustWait
from worker.fork_servers import ForkServers, fork_servers
from worker.job_end import cancel_unstarted, end_unwritten, follow
from worker.kinds.work import end
from worker.running import Running
from worker.settle import settle_attempt

LATER = 1e12
OTHER_PROJECT = "5e0a7d7c-1111-4b58-9d8e-0e0e0e0e0e0e"


def check_out_another_project(site: WatchSite) -> None:
    state = site.workspace.project_state
    state.write_text(state.read_text().replace(PROJECT, OTHER_PROJECT))


def over(site: WatchSite, **more: Any) -> Running:
    """Return an attempt that has ended and has reserved the whole budget."""
    job = site.job(budgets=SMALL, **more)
    site.lease(job)
    attempt = site.run(job, "exit 0")
    spending.begin(site.database, job, site.last_attempt(job), Amounts(tokens=TOTAL))
    wait_until(attempt.paths.exit.exists)
    return site.adopt(job)


def kept(site: WatchSite) -> Job:
    """Return a job whose agent has ended while another project is checked out."""
    running = over(site)
    check_out_another_project(site)
    settle_attempt(site.context, running)
    job = site.get(running.job)
    assert (job.state, job.settled) == (JobState.BACKOFF, 0)
    return job


def reserved(site: WatchSite, job: Job) -> tuple[int, float]:
    """Return how many attempts count as running in a job's budget, and what counts as used."""
    (account,) = accounts.accounts_of(site.database, job, now=NOW)
    return account.running, account.charged


def open_rows(site: WatchSite) -> int:
    return len(site.database.rows("select 1 from spending where ended_at is null"))


def as_an_older_sow_left_it(site: WatchSite, job: Job) -> None:
    site.database.run("update spending set ended_at = null where job_id = ?", (job.id,))


def test_what_has_ended_reserves_nothing_while_its_project_is_not_checked_out(
    site: WatchSite,
) -> None:
    """The budget of its executor would be kept from every other project meanwhile."""
    job = kept(site)
    assert reserved(site, job) == (0, 0.0)
    attempt = site.last_attempt(job)
    assert attempt.cause is None, "that is judged when the task can be read"
    assert (attempt.exit_code, attempt.ended_at is not None) == (0, True)


def test_what_is_on_record_of_why_it_ended_stays_while_its_project_is_not_checked_out(
    site: WatchSite,
) -> None:
    running = over(site)
    jobs.change_attempt(site.database, running.job.id, 1, cause=Cause.AUTH, reason="no key")
    check_out_another_project(site)
    settle_attempt(site.context, site.adopt(running.job))
    attempt = site.last_attempt(running.job)
    assert (attempt.cause, attempt.reason) == (Cause.AUTH, "no key")


@pytest.mark.parametrize("is_older", [False, True])
def test_a_cancel_of_what_was_kept_closes_its_attempt(site: WatchSite, is_older: bool) -> None:
    job = kept(site)
    if is_older:
        as_an_older_sow_left_it(site, job)
        assert reserved(site, job)[0] == 1
    caller = Caller(site.workspace, dict(os.environ), site.workspace.root, site.context.now)
    cancelled = cancel_job(caller, site.database, job).job
    assert cancelled.state is JobState.CANCELLED
    assert open_rows(site) == 0
    attempt = site.last_attempt(job)
    assert (attempt.cause, attempt.ended_at is not None) == (Cause.CANCELLED, True)


@pytest.mark.parametrize("is_older", [False, True])
def test_one_that_is_cancelled_as_it_is_taken_up_again_says_so_and_is_closed(
    site: WatchSite, is_older: bool
) -> None:
    job = kept(site)
    if is_older:
        as_an_older_sow_left_it(site, job)
    leases.claim(site.database, site.context.worker_id, total=9, own=9, now=LATER)
    jobs.change_job(site.database, job.id, cancel_requested_at=NOW)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    ended = site.get(job)
    assert (ended.state, ended.reason) == (JobState.CANCELLED, "cancelled")
    assert site.last_attempt(job).cause is Cause.CANCELLED
    assert open_rows(site) == 0


@pytest.mark.parametrize(("agent", "looks"), [("implementer", 1), ("planner", 0)])
def test_the_tree_is_looked_through_only_for_an_agent_whose_work_is_files(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, agent: str, looks: int
) -> None:
    """In a large one that is ten thousand entries."""
    seen: list[Path] = []

    def tree_is_old(root: Path, _: float) -> bool:
        seen.append(root)
        return True

    monkeypatch.setattr(end, "tree_is_old", tree_is_old)
    running = over(site, agent=agent)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    settle_attempt(site.context, running)
    job = site.get(running.job)
    assert job.state is JobState.DONE
    assert (CHANGED_NOTHING in job.warnings, len(seen)) == (bool(looks), looks)


def test_an_attempt_whose_task_is_reported_while_it_is_settled_is_judged_again(
    site: WatchSite,
) -> None:
    running = over(site)

    def clock() -> float:
        if site.task().status is TaskStatus.IN_PROGRESS:
            site.change_task(status=TaskStatus.NEEDS_REVIEW)
        return NOW

    settle_attempt(replace(site.context, clock=clock), running)
    job = site.get(running.job)
    assert (job.state, job.cause) == (JobState.DONE, Cause.REPORTED)
    assert job.outcome_status is TaskStatus.NEEDS_REVIEW


def test_a_job_that_is_cancelled_while_its_attempt_is_settled_is_not_tried_again(
    site: WatchSite,
) -> None:
    running = over(site)

    def clock() -> float:
        jobs.change_job(site.database, running.job.id, cancel_requested_at=NOW)
        return NOW

    settle_attempt(replace(site.context, clock=clock), running)
    assert site.get(running.job).state is JobState.CANCELLED


def test_a_job_that_is_tried_again_waits_until_its_time_has_come(site: WatchSite) -> None:
    job = site.job()
    lease = site.lease(job)
    verdict, later = Verdict(Cause.CRASHED, "it crashed"), Next(Step.RETRY, retry_at=LATER)
    with site.database.transaction():
        assert not follow(site.context, job, lease, verdict, later, None, {})
    waits = site.get(job)
    assert (waits.state, waits.retry_at) == (JobState.BACKOFF, LATER)


def test_a_start_that_is_given_up_after_its_attempt_was_recorded_closes_it(
    site: WatchSite,
) -> None:
    running = over(site)
    launch.give_up(site.context, running.job.id, RuntimeError("broken"))
    ended, attempt = site.get(running.job), site.last_attempt(running.job)
    assert (ended.state, ended.cause, attempt.cause) == (
        JobState.FAILED,
        Cause.INTERNAL,
        Cause.INTERNAL,
    )
    assert attempt.transcript_seen, "nobody can tell that its session was not kept"
    assert reserved(site, ended) == (0, TOTAL), "what it has used is not known"


def test_a_cancelled_job_whose_state_cannot_be_written_was_started(site: WatchSite) -> None:
    running = over(site)
    jobs.change_attempt(site.database, running.job.id, 1, cause=Cause.STATE_UNREADABLE)
    jobs.change_job(site.database, running.job.id, cancel_requested_at=NOW)
    verdict = Verdict(Cause.STATE_UNREADABLE, "its folder is gone")
    end_unwritten(site.context, running.job, running.lease, verdict)
    ended = site.get(running.job)
    assert (ended.state, ended.reason) == (JobState.CANCELLED, "cancelled")
    assert site.last_attempt(running.job).cause is Cause.STATE_UNREADABLE


@pytest.mark.parametrize(
    ("attempts", "words"),
    [(0, "cancelled before it was started"), (1, "cancelled before it was started again")],
)
def test_a_job_that_is_cancelled_before_an_attempt_says_before_which(
    site: WatchSite, attempts: int, words: str
) -> None:
    job = site.job()
    lease = site.lease(job)
    if attempts:
        site.attempt(job, cause=Cause.AUTH, ended_at=NOW)
        jobs.change_job(site.database, job.id, settled=attempts)
    cancel_unstarted(site.context, site.get(job), lease)
    assert site.get(job).reason == words
    assert site.task().status is (TaskStatus.PAUSED if attempts else TaskStatus.PENDING)


def test_a_broken_state_that_cannot_be_moved_aside_ends_its_job(site: WatchSite) -> None:
    """An agent that has put a folder there would have the job run for ever, cancels and all."""
    job = site.job()
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 0}')
    state = site.state_file()
    state.write_text("task: [")
    state.with_name(f"state.yaml.invalid-{attempt.attempt_id}").mkdir()
    settle_attempt(site.context, site.adopt(job))
    ended = site.get(job)
    assert (ended.state, ended.cause) == (JobState.FAILED, Cause.STATE_UNREADABLE)
    assert "was not written" in ended.reason
    assert ended.owes_task, "it is given its status as soon as it can be written"
    assert state.read_text() == "task: ["


@pytest.mark.parametrize(
    ("recorded", "ended_at"),
    [
        ("null", 60.0),
        ("1", 0.0),
        ("-1e300", 0.0),
        ("1e17", 60.0),
        ("now+61", 60.0),
        ("now+30", 30.0),
    ],
)
def test_an_attempt_ends_neither_before_it_began_nor_later_than_now(
    site: WatchSite, recorded: str, ended_at: float
) -> None:
    """An agent that wrote the record itself made time budgets endless, and `job show` fail."""
    job = site.job(budgets=SMALL)
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    spending.begin(site.database, job, site.last_attempt(job), Amounts())
    if recorded.startswith("now"):
        recorded = repr(NOW + float(recorded.removeprefix("now")))
    attempt.paths.exit.write_text(f'{{"code": 0, "ended_at": {recorded}}}')
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    settle_attempt(replace(site.context, clock=lambda: NOW + 60), site.adopt(job))
    assert site.last_attempt(job).ended_at == NOW + ended_at
    used = spending.used_by_job(site.database, job.id, now=NOW)
    assert (used.running, used.seconds) == (0, pytest.approx(ended_at))


def test_where_the_clock_was_set_back_an_attempt_ends_when_it_began(site: WatchSite) -> None:
    running = over(site)
    assert running.ended_at(None, now=NOW - 60) == NOW


def refused_start(site: WatchSite, error: Exception) -> Callable[..., None]:
    """Return a start that is refused in the moment in which somebody raises and cancels its job."""

    def start(_context: WorkerContext, _servers: ForkServers, job: Job, *_more: Any) -> None:
        jobs.change_job(site.database, job.id, cancel_requested_at=NOW, budgets=RAISED)
        raise error

    return start


def account(site: WatchSite, job: Job) -> accounts.Account:
    (found,) = accounts.accounts_of(site.database, job, now=NOW)
    return found


@pytest.mark.parametrize("why", ["held", "reserved", "raised"])
def test_a_job_that_is_cancelled_as_it_is_put_aside_ends_so(
    site: WatchSite, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """It ended by way of a start that had failed, with the story of a bug in the log."""
    job = site.job(budgets=SMALL)
    site.lease(job)
    error = {
        "held": NotTrusted(site.workspace.root, changed=False),
        "reserved": RestIsReserved(account(site, job)),
        "raised": MustWait(BudgetIsReached(account(site, job)).message),
    }[why]
    monkeypatch.setattr(launch, "_start_attempt", refused_start(site, error))
    assert launch.start(site.context, fork_servers({}), job.id) is None
    ended = site.get(job)
    assert (ended.state, ended.reason) == (JobState.CANCELLED, "cancelled before it was started")
