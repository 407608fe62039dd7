"""A job goes on with its next executor in one commit, whenever its worker dies."""

import dataclasses
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from attempts.job_values import CLAUDE
from msgspec import UNSET
from msgspec.structs import replace
from watch_cases import NOW, SESSION, WatchSite, dead_process

from sow.executors.executor_errors import ExecutorBinaryNotFound
from sow.jobs import jobs, leases, spending
from sow.jobs.usage_limits import limited_until
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState, Verb
from sow.schema.job_terms import (
    AuthorTerms,
    Fallback,
    LeftExecutor,
    NextExecutor,
    ReviewTerms,
)
from sow.schema.task import SessionFacts, TaskStatus
from worker import job_end, launch, next_executor
from worker.fork_servers import fork_servers
from worker.next_executor import move_by_error, move_by_limit, move_on
from worker.settle import settle_attempt

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
SECOND = replace(CLAUDE, name="second", max_parallel=3)
THIRD = replace(CLAUDE, name="third")
Patch = pytest.MonkeyPatch


class Killed(BaseException):
    """The worker dies here."""


def die(*_: Any, **__: Any) -> NoReturn:
    raise Killed


def terms(*, hands_over: bool = False, left: tuple[LeftExecutor, ...] = ()) -> AuthorTerms:
    following = (NextExecutor(executor=SECOND),)
    return AuthorTerms(fallback=Fallback(next=following, left=left, hands_over=hands_over))


def failed_to_start(site: WatchSite, **more: Any) -> Job:
    """Return a leased job whose CLI could not be executed; nobody has settled that."""
    job = site.job(**{"terms": terms(), **more})
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 127, "ended_at": 1}')
    spending.begin(site.database, job, site.last_attempt(job), Amounts())
    return job


def moves_in_log(site: WatchSite) -> int:
    """Return how often the log says it: of two entries with one id a reader would see one."""
    return site.state_file().with_name("log.md").read_text().count("Goes on with second")


def assert_moved(site: WatchSite, job: Job) -> None:
    """The job has moved once, and waits for a worker under the limits of its new executor."""
    now = site.get(job)
    assert (now.state, now.executor_name, now.settled) == (JobState.QUEUED, "second", 1)
    row = site.database.row("select executor_name, max_parallel from job where id = ?", (job.id,))
    assert row is not None
    assert tuple(row) == ("second", 3)
    history = site.database.value("select executor from job_history where job_id = ?", (job.id,))
    assert history == "second"
    assert [left.name for left in now.fallback.left] == ["claude-code"]
    assert now.fallback.next == ()
    assert len(now.warnings) == 1
    assert leases.lease_of(site.database, job.id) is None
    assert site.database.value("select count(*) from task") == 1
    assert site.task().session_id is UNSET
    assert site.task().status is TaskStatus.IN_PROGRESS
    assert moves_in_log(site) == 1


def test_an_attempt_that_its_executor_cannot_begin_moves_the_job(site: WatchSite) -> None:
    job = failed_to_start(site)
    settle_attempt(site.context, site.adopt(job))
    assert_moved(site, job)
    assert site.last_attempt(job).cause is Cause.MISSING_BINARY


BEFORE_THE_COMMIT: dict[str, Callable[[Patch], None]] = {
    "before the log": lambda patch: patch.setattr(next_executor, "log_moves", die),
    "after the log": lambda patch: patch.setattr(next_executor, "without_session", die),
    "before the state": lambda patch: patch.setattr(
        next_executor.transitions, "clear_session", die
    ),
    "after the state": lambda patch: patch.setattr(job_end.leases, "requeue", die),
}


@pytest.mark.parametrize("moment", BEFORE_THE_COMMIT.values(), ids=BEFORE_THE_COMMIT)
def test_a_worker_that_dies_before_the_commit_has_changed_nothing_of_the_job(
    site: WatchSite, moment: Callable[[Patch], None]
) -> None:
    job = failed_to_start(site)
    with pytest.MonkeyPatch.context() as patch:
        moment(patch)
        if moment is BEFORE_THE_COMMIT["after the log"]:
            from worker.kinds.work import end

            patch.setattr(end, "without_session", die)
        with pytest.raises(Killed):
            settle_attempt(site.context, site.adopt(job))
    assert site.get(job).executor_name == "claude-code"
    assert site.get(job).state is JobState.RUNNING
    settle_attempt(site.context, site.adopt(job))
    assert_moved(site, job)


def test_a_cancel_that_comes_first_wins(site: WatchSite) -> None:
    job = failed_to_start(site)
    jobs.change_job(site.database, job.id, cancel_requested_at=NOW)
    settle_attempt(site.context, site.adopt(job))
    assert site.get(job).state is JobState.CANCELLED
    assert moves_in_log(site) == 0


def test_a_report_wins_over_a_failure(site: WatchSite) -> None:
    job = failed_to_start(site)
    site.change_task(status=TaskStatus.NEEDS_REVIEW)
    settle_attempt(site.context, site.adopt(job))
    assert (site.get(job).state, site.get(job).executor_name) == (JobState.DONE, "claude-code")


def test_work_that_has_begun_is_left_only_by_a_hand_over(site: WatchSite) -> None:
    job = failed_to_start(site)
    jobs.change_attempt(site.database, job.id, 1, tool_uses=2)
    settle_attempt(site.context, site.adopt(job))
    assert (site.get(job).state, site.get(job).executor_name) == (JobState.FAILED, "claude-code")


def test_work_that_has_begun_is_handed_over(site: WatchSite) -> None:
    job = failed_to_start(site, terms=terms(hands_over=True))
    jobs.change_attempt(site.database, job.id, 1, tool_uses=2)
    settle_attempt(site.context, site.adopt(job))
    assert_moved(site, job)
    (left,) = site.get(job).fallback.left
    assert (left.hands_over, left.session) == (True, SESSION)


def test_a_program_that_is_missing_before_the_attempt_moves_the_job(
    site: WatchSite, tmp_path: Any
) -> None:
    job = site.job(terms=terms(), path_variable=str(tmp_path))
    site.lease(job)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    now = site.get(job)
    assert (now.state, now.executor_name, now.settled) == (JobState.QUEUED, "second", 0)
    assert now.fallback.left[0].cause is Cause.MISSING_BINARY
    assert moves_in_log(site) == 1


def test_a_worker_that_dies_on_such_a_move_has_changed_nothing(
    site: WatchSite, tmp_path: Any
) -> None:
    job = site.job(terms=terms(), path_variable=str(tmp_path))
    lease = site.lease(job)
    error = ExecutorBinaryNotFound("claude-code", "claude", install="")
    move = move_by_error(site.context, job, (), error)
    assert move is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_executor.leases, "requeue", die)
        with pytest.raises(Killed):
            move_on(site.context, job, lease, move)
    assert site.get(job).executor_name == "claude-code"
    move_on(site.context, job, lease, move)
    assert site.get(job).executor_name == "second"
    assert moves_in_log(site) == 1


@pytest.mark.parametrize("moment", ["before the state", "after the state"])
def test_a_worker_that_dies_on_a_hand_over_has_not_lost_the_session(
    site: WatchSite, tmp_path: Any, moment: str
) -> None:
    job = site.job(verb=Verb.RESUME, terms=terms(hands_over=True), path_variable=str(tmp_path))
    site.change_task(session=SessionFacts(executor="claude-code", started=True))
    site.lease(job)
    with pytest.MonkeyPatch.context() as patch:
        target = next_executor.leases if moment == "after the state" else next_executor.transitions
        patch.setattr(target, "requeue" if target is next_executor.leases else "clear_session", die)
        with pytest.raises(Killed):
            launch.start(site.context, fork_servers({}), job.id)
    assert (site.task().session_id is UNSET) is (moment == "after the state")
    assert site.get(job).executor_name == "claude-code"
    assert launch.start(site.context, fork_servers({}), job.id) is None
    (left,) = site.get(job).fallback.left
    assert (left.name, left.session, left.hands_over) == ("claude-code", SESSION, True)
    assert site.get(job).fallback.leaving is None
    assert moves_in_log(site) == 1


def test_a_session_is_put_back_where_the_move_is_not_made_after_all(
    site: WatchSite, tmp_path: Any
) -> None:
    """The worker died between the state and the commit; then somebody cancelled the job."""
    job = site.job(verb=Verb.RESUME, terms=terms(hands_over=True), path_variable=str(tmp_path))
    facts = SessionFacts(executor="claude-code", started=True, dialect="old")
    site.change_task(session=facts)
    site.lease(job)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_executor.leases, "requeue", die)
        with pytest.raises(Killed):
            launch.start(site.context, fork_servers({}), job.id)
    assert site.task().session is UNSET
    jobs.change_job(site.database, job.id, cancel_requested_at=NOW)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    assert site.get(job).state is JobState.CANCELLED
    assert (site.task().session_id, site.task().session) == (SESSION, facts)
    assert site.get(job).fallback.leaving is None
    assert site.get(job).fallback.next == terms().fallback.next


@pytest.mark.parametrize("kind", [UNSET, "codex", "unheard"])
def test_a_session_is_put_back_without_a_type_that_nobody_knows(
    site: WatchSite, tmp_path: Any, kind: Any
) -> None:
    """The executor that made it is gone: the job's record has another one for it."""
    gone = replace(CLAUDE, name="gone")
    job = site.job(
        executor=gone,
        verb=Verb.RESUME,
        terms=terms(hands_over=True),
        path_variable=str(tmp_path),
    )
    facts = SessionFacts(executor="gone", type=kind, started=True)
    site.change_task(session=facts)
    site.lease(job)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(next_executor.leases, "requeue", die)
        with pytest.raises(Killed):
            launch.start(site.context, fork_servers({}), job.id)
    assert site.task().session is UNSET
    jobs.change_job(site.database, job.id, cancel_requested_at=NOW)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    assert (site.task().session_id, site.task().session) == (SESSION, facts)


def test_a_review_hands_no_session_of_its_author_over(site: WatchSite, tmp_path: Any) -> None:
    fallback = Fallback(next=(NextExecutor(executor=SECOND),), hands_over=True)
    terms = ReviewTerms(fallback=fallback)
    job = site.job(verb=Verb.REVIEW, terms=terms, path_variable=str(tmp_path))
    lease = site.lease(job)
    site.attempt(job, tool_uses=1, ended_at=NOW)
    history = jobs.attempts(site.database, job.id)
    error = ExecutorBinaryNotFound("claude-code", "claude", install="")
    move = move_by_error(site.context, job, history, error)
    assert move is not None
    move_on(site.context, job, lease, move)
    (left,) = site.get(job).fallback.left
    assert (left.hands_over, left.session) == (True, None)
    assert site.task().session_id == SESSION


def test_a_job_that_was_queued_before_the_limit_was_met_moves_without_an_attempt(
    site: WatchSite,
) -> None:
    job = site.job(terms=terms())
    site.lease(job)
    limited(site, "claude-code", NOW + 1e6)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    now = site.get(job)
    assert (now.state, now.executor_name, now.settled) == (JobState.QUEUED, "second", 0)
    assert now.fallback.left[0].until == NOW + 1e6
    assert jobs.last_attempt(site.database, job.id) is None
    assert moves_in_log(site) == 1


def test_where_all_others_have_met_a_limit_the_job_waits_for_the_first_that_ends(
    site: WatchSite, tmp_path: Any
) -> None:
    job = site.job(terms=terms(), path_variable=str(tmp_path))
    site.lease(job)
    limited(site, "second", NOW + 1e6)
    assert launch.start(site.context, fork_servers({}), job.id) is None
    now = site.get(job)
    assert (now.state, now.executor_name) == (JobState.PARKED, "second")
    assert now.retry_at > NOW + 1e6


def test_nobody_waits_for_a_limit_who_does_not_want_to(site: WatchSite, tmp_path: Any) -> None:
    job = site.job(terms=terms(), path_variable=str(tmp_path))
    site.lease(job)
    limited(site, "second", NOW + 1e6)
    impatient = replace(site.context.configuration, retry_on_quota=False)
    context = dataclasses.replace(site.context, configuration=impatient)
    assert launch.start(context, fork_servers({}), job.id) is None
    assert (site.get(job).state, site.get(job).executor_name) == (JobState.FAILED, "claude-code")


def test_a_job_whose_task_cannot_be_written_fails_instead(site: WatchSite) -> None:
    job = site.job(terms=terms())
    limited(site, "claude-code", NOW + 1e6)
    site.lease(job)
    site.state_file().write_text("task: [")
    assert launch.start(site.context, fork_servers({}), job.id) is None
    now = site.get(job)
    assert (now.state, now.cause) == (JobState.FAILED, Cause.STATE_UNREADABLE)
    assert now.executor_name == "claude-code"


def limited(site: WatchSite, name: str, until: float) -> None:
    """Have another job wait for the usage limit of an executor."""
    other = site.job(f"0{name[0]}0".replace("c", "4").replace("s", "5"))
    executor = replace(CLAUDE, name=name)
    state = {"state": JobState.PARKED, "retry_at": until}
    jobs.change_job(site.database, other.id, executor=executor, executor_name=name, **state)


def test_a_job_does_not_begin_with_an_executor_whose_limit_others_wait_for(
    site: WatchSite,
) -> None:
    job = site.job(terms=terms())
    assert move_by_limit(site.context, job, ()) is None
    limited(site, "claude-code", NOW + 1e6)
    move = move_by_limit(site.context, job, ())
    assert move is not None
    assert move.verdict.resets_at == NOW + 1e6
    assert move_by_limit(site.context, replace(job, verb=Verb.RESUME), ()) is None
    assert move_by_limit(site.context, replace(job, terms=None), ()) is None
    limited(site, "second", NOW + 1e6)
    assert move_by_limit(site.context, job, ()) is None, "the next one has met its own"


def test_a_limit_is_known_from_jobs_that_wait_for_it_and_from_those_that_moved(
    site: WatchSite,
) -> None:
    gone = LeftExecutor(name="gone", cause=Cause.RATE_LIMITED, until=NOW + 50)
    job = site.job(terms=terms(left=(gone,)))
    limited(site, "claude-code", NOW + 70)
    find = lambda name, **more: limited_until(site.database, name, now=NOW, **more)  # noqa: E731
    assert find("gone") == NOW + 50
    assert find("claude-code") == NOW + 70
    assert find("second") is None
    assert limited_until(site.database, "gone", now=NOW + 60) is None
    parked = site.database.value("select id from job where state = 'parked'")
    assert find("claude-code", without=parked) is None
    assert job.fallback.left == (gone,)
