"""The end of an agent's attempt: what it is judged by, and what it does to its task.

Owns what only agents have after the end: the report in their task's status, the session, the
output, and whether an author has changed nothing. In a clone the task's own change tells that, or
the commit that was judged before; in the checkout, where others work as well, only a tree in which
no file was written since the job began. What follows is decided in `worker.next_step`; the order of
the writes, which all kinds share, is `settle`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sow.agents.roles import WITHOUT_FILES
from sow.attempts.fallback import Way, after_left
from sow.attempts.retry import Next, Step
from sow.config.checks import review_is_required
from sow.errors import ConfigurationError, StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault
from sow.files import NotAFile, read_regular
from sow.ids import PhaseName, TaskId
from sow.paths import SOW_FOLDER
from sow.schema.causes import Cause
from sow.schema.job import CHANGED_NOTHING, Job
from sow.schema.kinds import kind_of
from sow.schema.task import ReviewVerdict, Task, TaskState, TaskStatus
from sow.state.statefiles import STATE_LIMIT, parse_state
from sow.state.transitions import NO_REPORTS
from sow.state.verdicts import addressed
from sow.yamlfile import REMOVE
from worker.context import WorkerContext, tell
from worker.gathering import Gathered
from worker.job_end import (
    Ended,
    Outdated,
    end_unwritten,
    ended_job,
    follow,
    refuse_cancelled,
    refuse_raised,
    tell_of_end,
)
from worker.kinds.base import Recording
from worker.next_executor import log_move, without_session
from worker.next_step import spent_by
from worker.running import Running
from worker.task_state import (
    Change,
    both,
    change_under_lease,
    clears_session,
    leaves,
    log_failure,
    mark_again,
    marks_session,
    restore_state,
    session_seen,
)

MOST_ENTRIES = 10_000
"""Of a larger tree nothing is said: a worker has other jobs to look at."""
SKIPPED = frozenset({".git", SOW_FOLDER})
CLOCK_SECONDS = 1.0
"""A file's time may lie a little before that of the clock."""
NEEDS_REVIEW = TaskStatus.NEEDS_REVIEW
OF_OTHERS = ("review", "check", "merged")
"""What others have said of a task's work: kept from its author."""


class PutBack(Outdated):
    """The task was put back to `pending`."""


def persist_session(context: WorkerContext, running: Running) -> None:
    """Write the session that the output tells of into the task's state, if it is news there."""
    seen = running.output.seen
    if seen.session_id is None or running.task is None or not kind_of(running.job).makes_work:
        return
    before = running.task
    if before.session_id == seen.session_id and (before.session_started or not seen.has_begun):
        return
    running.task = change_under_lease(
        context, running.job, running.lease, lambda task: session_seen(task, running)
    )


def undo_own_verdicts(context: WorkerContext, running: Running, job: Job) -> None:
    """Undo in the task's state what an author may not say of its own work. Raises Fenced."""
    awaiting = _completed_awaits_review(context, running, job)
    change = both(_restored_judgements(running), awaiting)
    change_under_lease(context, job, running.lease, change)


def write_down(
    context: WorkerContext,
    running: Running,
    job: Job,
    verdict: Verdict,
    next_step: Next,
    ending: Recording,
) -> None:
    """Change the task as the step asks, and the job with it. Raises Outdated.

    A task that cannot be written any more (its folder is gone, say) ends its job as failed.
    """
    spent = spent_by(job, running, verdict, next_step)
    if next_step.step in (Step.FAIL, Step.PARK):
        verdict = replace(verdict, reason=after_left(job, verdict.reason))
    try:
        _follow(context, running, job, verdict, next_step, spent, ending)
    except PutBack:
        started = running.output.seen.has_begun
        mark_again(context, job, running.lease, running.session_id, started=started)
        raise
    except StateError as error:
        if passing_fault(error) is not None:
            raise  # nothing is wrong with the task: it is written later
        ending()
        unwritable = Verdict(Cause.STATE_UNREADABLE, error.message)
        end_unwritten(context, job, running.lease, unwritable, **spent)


def _follow(
    context: WorkerContext,
    running: Running,
    job: Job,
    verdict: Verdict,
    next_step: Next,
    spent: dict[str, Any],
    ending: Recording,
) -> None:
    if verdict.cause is Cause.STATE_UNREADABLE:
        restore_state(context, running)
    now = context.now()
    session = both(marks_session(running, verdict), clears_session)
    session = both(session, _tells_files(running))
    session = both(session, _restored_judgements(running))
    awaiting = _completed_awaits_review(context, running, job)
    result = running.gathering.result if running.gathering is not None else None
    is_done = next_step.step is Step.DONE
    is_old = False
    may_be_told = is_done and result is None and job.agent not in WITHOUT_FILES
    if may_be_told and job.started_at is not None:
        # Before the task's lock is taken: in a large tree it takes a moment.
        is_old = tree_is_old(context.workspace.root, job.started_at)
    ended: Ended | None = None
    number = running.attempt.number

    def change(task: Task) -> Mapping[str, Any]:
        _refuse_outdated(context, job, verdict, next_step.step, task)
        word = awaiting(task)
        counted = msgspec.structs.replace(task, status=NEEDS_REVIEW) if word else task
        match next_step.step:
            case Step.CANCEL:
                return {**session(counted), **leaves(counted, TaskStatus.PAUSED, now), **word}
            case Step.FAIL:
                return {**session(task), **leaves(task, TaskStatus.FAILED, now)}
            case Step.DONE:
                return {**session(counted), **addressed(counted), **word}
            case _ if next_step.way is not Way.STAY:
                log_move(context, job, spent)
                return without_session(job, task, session(task))
            case _:
                return session(task)

    def record(task: Task) -> None:
        nonlocal ended
        if is_done:
            noted = notes_on(task, job, result, tree_is_old=is_old)
            spent["warnings"] = (*spent.get("warnings", job.warnings), *noted)
        ending()
        tell_state(task)
        if follow(context, job, running.lease, verdict, next_step, task.status, spent):
            ended = ended_job(context, job)

    def after(task: Task) -> None:
        if ended is not None:  # its log lies in the folder whose lock is held
            folder = context.workspace.task(PhaseName(task.phase), TaskId(task.id))
            tell_of_end(context, job, ended, attempt=number, folder=folder)

    if next_step.step is Step.FAIL:
        change_under_lease(context, job, running.lease, change, attempt=number)
        log_failure(context, job, verdict.reason)
    tell_state = _state_teller(context, running)
    kept = context.state.copies
    change_under_lease(
        context, job, running.lease, change, record, after, attempt=number, kept=kept
    )


def _state_teller(context: WorkerContext, running: Running) -> Callable[[Task], None]:
    """Return what tells of the task's state where that is at home elsewhere."""
    if running.guest is None:
        return lambda _: None
    # Few queues are shared.
    from worker.guests import state_teller

    return state_teller(context, running)


def _tells_files(running: Running) -> Change:
    """Return the change that says where the task's clone is, and which files it has changed."""
    result = running.gathering.result if running.gathering is not None else None
    fields: dict[str, Any] = {}
    if result is not None and result.files is not None:
        fields["files_modified"] = list(result.files)
    if result is not None and result.clone is not None:
        fields["clone"] = msgspec.to_builtins(result.clone)
    return lambda _: fields


def _completed_awaits_review(context: WorkerContext, running: Running, job: Job) -> Change:
    """Return the change that makes an author's own `completed` wait for a review, where one is due.

    `sow task set` does the same at once; here it is done for an author that has
    written the file by hand, or has said that it is somebody else. Nobody else
    can have completed the task: that is refused as long as its job lives. A task
    whose work is a verdict on the whole ends with that verdict, which no review awaits.
    """
    apart = job.works_in_clone
    before = running.task is not None and running.task.clone is not UNSET

    def change(task: Task) -> Mapping[str, Any]:
        if task.status is not TaskStatus.COMPLETED or task.judges_whole:
            return {}
        judged = job.batch is not None or apart or before or task.clone is not UNSET
        if not judged and not _is_review_required(context):
            return {}
        return {"status": NEEDS_REVIEW, "completed_at": REMOVE}

    return change


def _is_review_required(context: WorkerContext) -> bool:
    try:
        return review_is_required(context.workspace.repository_config)
    except ConfigurationError:
        return True  # nobody can tell, and a review does no harm


def _refuse_outdated(
    context: WorkerContext, job: Job, verdict: Verdict, step: Step, task: Task
) -> None:
    """Raise Outdated where an attempt is to be judged again; asked in the critical section.

    Only a report ends a job as done, and nothing else follows one. A job that
    somebody has cancelled is neither tried again nor called failed. A task
    that is `failed` by our own hand is no report: a worker died before the commit.
    A limit that was raised meanwhile may leave another share.
    """
    if task.status is TaskStatus.PENDING:  # what is written next may not follow that
        raise PutBack(task.status)
    failed_by_us = step is Step.FAIL and task.status is TaskStatus.FAILED
    if step is Step.CANCEL or failed_by_us:
        return
    reported = task.status not in NO_REPORTS
    if reported is not (step is Step.DONE):
        raise Outdated(task.status)
    if step is not Step.DONE:
        refuse_cancelled(context, job)
    if step is Step.FAIL:
        refuse_raised(context, job, verdict)


def _restored_judgements(running: Running) -> Change:
    """Return the change that puts back what an author has written of these by hand.

    While an author's job lives, nobody judges, checks or merges its task.
    """
    before = _at_the_start(running)

    def change(task: Task) -> Mapping[str, Any]:
        if before is None:
            return {}
        found = {name: (getattr(task, name), getattr(before, name)) for name in OF_OTHERS}
        back = {name: was for name, (now, was) in found.items() if now != was}
        if back:
            named = ", ".join(back)
            tell(
                running.job, f"its author changed {named} in its state; sow restored the old values"
            )
        return {name: REMOVE if was is UNSET else was for name, was in back.items()}

    return change


def _at_the_start(running: Running) -> Task | None:
    """Return the task as it was when the attempt began; None where that was not kept.

    Read from the attempt's folder: a worker that has adopted it knows the task since then only.
    """
    path = running.paths.last_valid_state
    with suppress(FileNotFoundError, NotAFile, StateError):
        return parse_state(read_regular(path, STATE_LIMIT), TaskState, path=path).task
    return None


def notes_on(task: Task, job: Job, gathered: Gathered | None, *, tree_is_old: bool) -> list[str]:
    """Return the note that an author of this role has changed nothing, if so.

    `task` is as the author left it; `gathered` what was found in its clone; `tree_is_old` says
    of the checkout that no file was written there since the job began.
    """
    if task.status is not TaskStatus.NEEDS_REVIEW or job.agent in WITHOUT_FILES:
        return []
    if task.clone is UNSET:
        is_unchanged = tree_is_old and not task.files_modified
    else:
        is_unchanged = gathered is not None and _is_as_judged(task, gathered)
    return [CHANGED_NOTHING] if is_unchanged else []


def _is_as_judged(task: Task, gathered: Gathered) -> bool:
    """Whether a task's branch holds no change, or ends where it was found wanting before."""
    if gathered.files is None:
        return False
    if not gathered.files:
        return True
    review, check = task.review, task.check
    asked = review is not UNSET and review.verdict is ReviewVerdict.CORRECTIONS
    corrected = [review.commit] if asked and review is not UNSET else []
    red = [check.commit] if check is not UNSET and not check.passed and not check.dirty else []
    return gathered.commit is not None and gathered.commit in (*corrected, *red)


def tree_is_old(root: Path, since: float) -> bool:
    """Whether no file of the repository around `root` was written since a moment.

    False where that cannot be told.
    """
    above = (root, *root.parents)
    top = next((each for each in above if os.path.exists(f"{each}/.git")), root)  # noqa: PTH110
    try:
        if _is_newer(top.stat(), since):
            return False
        for number, entry in enumerate(_entries(os.fspath(top))):
            if number >= MOST_ENTRIES or _is_newer(entry.stat(follow_symlinks=False), since):
                return False
    except OSError:
        return False
    return True


def _is_newer(facts: os.stat_result, since: float) -> bool:
    return max(facts.st_mtime, facts.st_ctime) >= since - CLOCK_SECONDS


def _entries(top: str) -> Iterator[os.DirEntry[str]]:
    """Yield what lies below a folder: a folder's own time tells what was taken out of it."""
    folders = [top]
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in found:
                if entry.name in SKIPPED:
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
