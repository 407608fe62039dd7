"""A bug of ours that keeps an attempt from being settled: after some looks its job is closed."""

import errno
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from attempt_cases import is_running, wait_until
from attempts.job_values import PROJECT
from watch_cases import ME, NOW, SESSION, WatchSite, dead_process

from sow.attempts.sessions import is_kept
from sow.errors import StateError
from sow.ids import TaskId, WorkerId
from sow.jobs import jobs, leases, spending, waiters
from sow.jobs.doorbell import Bell
from sow.schema.amounts import Amounts
from sow.schema.job import NOT_BROUGHT_BACK, Cause, Job, JobState, Verb
from sow.schema.job_terms import AuthorTerms, CheckTerms, MergeTerms
from sow.schema.task import TaskStatus
from sow.state.task_log import read_entries
from worker import fail_internal, monitor, recovery
from worker.kinds import worker_kinds
from worker.kinds.work.kind import WorkKind
from worker.recovery import recover
from worker.running import OutputReader, Running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the supervisor reads /proc")
OTHER = WorkerId("w2-bbbbbb")
LOOKS = 3
IMPATIENT = monitor.Pace(tick_seconds=0.02, longest_postponement_seconds=0.01, most_bugs=LOOKS)

Patch = pytest.MonkeyPatch


def fail(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("a bug\nof ours")


def ended_attempt(site: WatchSite, **more: Any) -> Job:
    """Return a leased job whose agent has ended by itself, and that nobody has settled."""
    job = site.job(**more)
    site.lease(job)
    attempt = site.attempt(job, supervisor=dead_process())
    attempt.paths.exit.write_text('{"code": 127, "ended_at": 1}')
    spending.begin(site.database, job, site.last_attempt(job), Amounts())
    return job


def watched(site: WatchSite, job: Job, adopted: Running | None = None) -> Job:
    """Let a monitor watch a job's attempt until it has let go of it."""
    watch = site.start_monitor(IMPATIENT)
    watch.watch(adopted or site.adopt(job))
    try:
        assert watch.wait_until_idle(60)
    finally:
        watch.stop()
    return site.get(job)


def in_ending(name: str) -> Callable[[Patch], None]:
    """Have a part of an ending fail, as it is for agents and for steps."""

    def break_it(patch: Patch) -> None:
        for kind in worker_kinds().values():
            patch.setattr(type(kind), name, fail)

    return break_it


BUGS: dict[str, Callable[[Patch], None]] = {
    "reading": lambda patch: patch.setattr(OutputReader, "read_for", fail),
    "gathering": lambda patch: patch.setattr(WorkKind, "gathering", fail),
    "judging": in_ending("judge"),
    "deciding": in_ending("decide"),
    "metering": lambda patch: patch.setattr(Running, "note_last_usage", fail),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_an_attempt_that_a_bug_keeps_from_being_settled_fails_its_job(
    site: WatchSite, monkeypatch: Patch, bug: Callable[[Patch], None]
) -> None:
    """It was tried again for ever: the job held its task and its slot, and no cancel helped."""
    job = ended_attempt(site)
    bell = Bell(waiters.bell_path(site.workspace, "c1"))
    waiters.begin(site.database, "c1", job.id, on_behalf_of=None, now=0.0)
    bug(monkeypatch)
    ended = watched(site, job)
    attempt = site.last_attempt(job)
    assert (ended.state, ended.cause) == (JobState.FAILED, Cause.INTERNAL)
    assert ended.outcome_status is TaskStatus.FAILED
    assert ended.reason.startswith("sow itself failed: a bug")
    assert ended.settled == attempt.number
    assert (attempt.cause, attempt.reason) == (Cause.INTERNAL, ended.reason)
    assert attempt.ended_at is not None
    assert leases.lease_of(site.database, job.id) is None
    assert site.task().status is TaskStatus.FAILED
    assert bell.wait(0.0)
    assert site.database.row("select 1 from spending where ended_at is null") is None
    entries = read_entries(site.state_file().with_name("log.md"))
    assert len([entry for entry in entries if entry.job == job.id and entry.event == "job"]) == 1
    bell.close()


def test_a_group_that_a_bug_keeps_from_being_removed_harms_no_job(
    site: WatchSite, monkeypatch: Patch
) -> None:
    """It is removed once the job has ended: nobody waits for it."""
    job = ended_attempt(site)
    states: list[JobState] = []

    def fail_then(*_: Any) -> None:
        states.append(site.get(job).state)
        fail()

    monkeypatch.setattr(monitor, "remove_fence", fail_then)
    assert watched(site, job).cause is Cause.MISSING_BINARY
    wait_until(lambda: states == [JobState.FAILED], "the removal")


def test_a_cause_that_is_on_record_stays(site: WatchSite, monkeypatch: Patch) -> None:
    job = ended_attempt(site)
    in_ending("write")(monkeypatch)
    assert watched(site, job).cause is Cause.INTERNAL
    attempt = site.last_attempt(job)
    assert (attempt.cause, attempt.ended_at) == (Cause.MISSING_BINARY, NOW)
    assert not attempt.transcript_seen


@pytest.mark.parametrize(
    ("reported", "stands"),
    [
        (TaskStatus.NEEDS_REVIEW, TaskStatus.NEEDS_REVIEW),
        (TaskStatus.PAUSED, TaskStatus.PAUSED),
        (TaskStatus.COMPLETED, TaskStatus.NEEDS_REVIEW),
    ],
)
def test_a_report_stands_and_an_author_s_own_judgement_does_not(
    site: WatchSite, monkeypatch: Patch, reported: TaskStatus, stands: TaskStatus
) -> None:
    """A batch would merge what says that it is completed."""
    job = ended_attempt(site, terms=AuthorTerms(clone=True))
    done = {"completed_at": "2026-01-31T12:00:00Z"} if reported is TaskStatus.COMPLETED else {}
    site.change_task(status=reported, **done)
    in_ending("judge")(monkeypatch)
    ended = watched(site, job)
    assert (ended.state, ended.outcome_status) == (JobState.FAILED, stands)
    assert site.task().status is stands


def test_what_stays_in_a_clone_is_told_so_that_a_batch_asks(
    site: WatchSite, monkeypatch: Patch
) -> None:
    job = ended_attempt(site, terms=AuthorTerms(clone=True))
    monkeypatch.setattr(WorkKind, "gathering", fail)
    (warning,) = watched(site, job).warnings
    assert warning.startswith(NOT_BROUGHT_BACK)


def test_words_that_cannot_be_taken_back_become_a_warning(
    site: WatchSite, monkeypatch: Patch
) -> None:
    job = ended_attempt(site)
    in_ending("judge")(monkeypatch)
    monkeypatch.setattr(fail_internal, "undo_own_verdicts", fail)
    (warning,) = watched(site, job).warnings
    assert "the status that its author set was not checked" in warning


def test_a_job_whose_end_was_asked_for_is_cancelled(site: WatchSite, monkeypatch: Patch) -> None:
    job = ended_attempt(site)
    jobs.change_job(site.database, job.id, cancel_requested_at=1.0)
    in_ending("judge")(monkeypatch)
    ended = watched(site, job)
    assert (ended.state, ended.outcome_status) == (JobState.CANCELLED, TaskStatus.PAUSED)
    assert site.task().status is TaskStatus.PAUSED


def test_an_agent_at_work_is_neither_ended_nor_closed(site: WatchSite, monkeypatch: Patch) -> None:
    job = site.job()
    site.lease(job)
    attempt = site.run(job, "exec sleep 600")
    monkeypatch.setattr(OutputReader, "read_for", fail)
    adopted = site.adopt(job)
    watch = site.start_monitor(IMPATIENT)
    watch.watch(adopted)
    wait_until(lambda: adopted.failures > 2 * LOOKS)
    watch.stop()
    assert adopted.bugs == 0
    assert site.get(job).state is JobState.RUNNING
    assert is_running(attempt.agent_pid())


FAULTS = [StateError("broken"), OSError(errno.ENOSPC, "full"), MemoryError()]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=["ours", "disk", "memory"])
def test_an_error_of_ours_and_a_fault_that_passes_close_no_job(
    site: WatchSite, monkeypatch: Patch, fault: Exception
) -> None:
    """A person mends the project's state, or the machine has room again: then it is settled."""

    def refuse(*_: Any) -> NoReturn:
        raise fault

    job = ended_attempt(site)
    usual = WorkKind.judge
    monkeypatch.setattr(WorkKind, "judge", refuse)
    adopted = site.adopt(job)
    watch = site.start_monitor(IMPATIENT)
    watch.watch(adopted)
    wait_until(lambda: adopted.failures >= 30)
    assert site.get(job).state is JobState.RUNNING
    monkeypatch.setattr(WorkKind, "judge", usual)
    assert site.ended(job).cause is Cause.MISSING_BINARY
    watch.stop()


def test_a_close_that_was_cut_off_is_made_good_by_the_next_worker(
    site: WatchSite, monkeypatch: Patch
) -> None:
    job = ended_attempt(site)
    with monkeypatch.context() as broken:
        in_ending("judge")(broken)
        broken.setattr(fail_internal, "end_unwritten", fail)
        adopted = site.adopt(job)
        watch = site.start_monitor(IMPATIENT)
        watch.watch(adopted)
        wait_until(lambda: site.last_attempt(job).cause is Cause.INTERNAL)
        watch.stop()
    assert site.get(job).state is JobState.RUNNING
    ended = watched(site, job)
    assert (ended.state, ended.cause) == (JobState.FAILED, Cause.INTERNAL)
    assert site.task().status is TaskStatus.FAILED


def test_a_job_that_was_taken_over_is_let_go_of(site: WatchSite, monkeypatch: Patch) -> None:
    job = ended_attempt(site)
    adopted = site.adopt(job)
    (taken,) = leases.take_over(site.database, ME, OTHER, now=0.0)
    state = site.state_file().read_bytes()
    in_ending("judge")(monkeypatch)
    assert watched(site, job, adopted).state is JobState.RUNNING
    assert leases.lease_of(site.database, job.id) == taken
    assert site.last_attempt(job).cause is None
    assert site.state_file().read_bytes() == state


def test_a_session_of_which_nothing_is_known_is_kept(site: WatchSite, monkeypatch: Patch) -> None:
    job = ended_attempt(site)
    in_ending("judge")(monkeypatch)
    watched(site, job)
    assert is_kept(site.database, SESSION, started=True)


def test_a_merge_frees_all_its_tasks_and_leaves_them_as_they_are(
    site: WatchSite, monkeypatch: Patch
) -> None:
    terms = MergeTerms(tasks=(TaskId("010"), TaskId("020")))
    job = ended_attempt(site, verb=Verb.MERGE, agent="", executor=None, terms=terms)
    in_ending("judge")(monkeypatch)
    ended = watched(site, job)
    assert (ended.state, ended.owes_task, ended.outcome_status) == (JobState.FAILED, False, None)
    assert jobs.live_job(site.database, PROJECT, TaskId("020")) is None
    assert site.task().status is TaskStatus.IN_PROGRESS


def test_a_check_owes_nothing(site: WatchSite, monkeypatch: Patch) -> None:
    terms = CheckTerms(names=("unit",))
    job = ended_attempt(site, verb=Verb.CHECK, agent="", executor=None, terms=terms)
    in_ending("judge")(monkeypatch)
    ended = watched(site, job)
    assert (ended.cause, ended.owes_task, ended.warnings) == (Cause.INTERNAL, False, ())


# a worker's start


def test_a_bug_with_one_task_keeps_no_worker_from_its_start(
    site: WatchSite, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each worker gave tasks back before it began with anything else, and ended there."""
    for task in ("010", "020"):
        owing = {"state": JobState.FAILED, "owes_task": True}
        jobs.change_job(site.database, site.job(task).id, **owing)
    usual = recovery.give_back

    def first_fails(*given: Any, **more: Any) -> bool:
        return fail() if given[2].task_id == "010" else usual(*given, **more)

    monkeypatch.setattr(recovery, "give_back", first_fails)
    recover(site.context, monitor.Monitor(site.context))
    assert "its task cannot be updated yet" in caplog.text
    assert [site.task(task).status for task in ("010", "020")] == [
        TaskStatus.IN_PROGRESS,
        TaskStatus.FAILED,
    ]


def test_a_bug_with_one_attempt_keeps_no_worker_from_the_others(
    site: WatchSite, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = ended_attempt(site, task="010"), ended_attempt(site, task="020")
    usual = recovery.adopt

    def first_fails(*given: Any, **more: Any) -> Running | None:
        return fail() if given[1].job_id == first.id else usual(*given, **more)

    monkeypatch.setattr(recovery, "adopt", first_fails)
    watch = monitor.Monitor(site.context)
    recover(site.context, watch)
    assert f"job {first.id} cannot be recovered yet" in caplog.text
    assert (watch.watches(first.id), watch.watches(second.id)) == (False, True)
