"""The facts of a batch, gathered from the records, the state files and the branches.

Owns what is read of each, and when git is asked: of finished work in a clone alone.
Reads only. A task that has not changed since the last look is not parsed again.
"""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import UNSET

from sow.batches.brakes import Brake, brake_of, brake_of_refusals
from sow.batches.item_facts import BatchFacts, Dependency, ItemFacts, LiveJob
from sow.batches.item_history import History
from sow.batches.other_tasks import Others
from sow.config.checks import Checks, checks_of, read_repository
from sow.errors import SowError, StateError
from sow.faults import passing_fault
from sow.ids import BatchId, TaskId
from sow.jobs import batches
from sow.jobs.batches import JobInBatch
from sow.jobs.database import Database
from sow.jobs.jobs import get_job, last_job
from sow.paths import Workspace
from sow.schema.amounts import ReachedLimit
from sow.schema.batch import RETURNS, Action, Batch, BatchItem, BatchState
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.job import WAITING_STATES, HeldFor, JobState
from sow.schema.kinds import was_cut_off
from sow.schema.project import Project
from sow.schema.task import FeedbackStatus, ReviewVerdict, Task, TaskReview, TaskStatus
from sow.state.plan_wait import waits
from sow.state.projects import read_project
from sow.state.state_errors import UnknownTask
from sow.state.tasks import find_task, read_task_at
from sow.state.verdicts import feedback_status

if TYPE_CHECKING:
    from sow.clones.task_branches import TaskBranches

Version = tuple[int, int, int]


class Limits(Protocol):
    """The limits of what may be spent, as they stand now. Who knows them is the caller's matter."""

    def has_room(self, reached: ReachedLimit) -> bool:
        """Whether a limit that was reached, and stands in a file, has something left by now."""

    def is_raised(self, job: JobInBatch, policy: BatchPolicy) -> bool:
        """Whether the batch's limit that has ended a job has another figure by now."""


class Seen:
    """What earlier looks have read, as long as it cannot have changed since."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tasks: dict[str, tuple[Version, Task]] = {}
        self._project: tuple[Version | None, Project] | None = None
        self.answers: dict[tuple[str, ...], bool] = {}
        """What git has said of commits, which is true for ever."""

    def task(self, task_id: str) -> Task:
        """Return a task as it stands now. Raises what `read_task` does."""
        place = find_task(self._workspace, task_id)
        version = _version(place.state)
        known = self._tasks.get(task_id)
        if known is not None and version is not None and known[0] == version:
            return known[1]
        task = read_task_at(place)
        if version is not None:
            self._tasks[task_id] = (version, task)
        return task

    def project(self) -> Project:
        """Return the project as it stands now. Raises what `read_project` does."""
        version = _version(self._workspace.project_state)
        if self._project is None or version is None or self._project[0] != version:
            self._project = (version, read_project(self._workspace))
        return self._project[1]


def _version(path: os.PathLike[str]) -> Version | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked of every item
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def gather(
    workspace: Workspace,
    database: Database,
    batch: Batch,
    seen: Seen,
    limits: Limits,
    asking: Collection[TaskId] = (),
    resumes: Callable[[Task], bool] = lambda _: True,
) -> tuple[list[ItemFacts], BatchFacts]:
    """Return the facts of a batch, whose project is checked out.

    The jobs are read first: a call that is placed meanwhile may have marked its task, and
    its job be missing. Then there is a newer change, and the look is not to be trusted.
    `limits` says whether a limit that was reached has a rest by now.
    `asking` are the tasks of the agent that looks, and of those above it: they wait for it.
    `resumes` says of a task whether its executor continues a session. Raises QueueError, and
    StateError where the machine lacks something for now.
    """
    items = batches.items_of(database, batch.id)
    histories: dict[TaskId, History] = {item.task_id: History() for item in items}
    all_jobs = batches.jobs_of(database, batch.id)
    for job in all_jobs:
        if job.task_id in histories:
            histories[job.task_id].jobs.append(job)
    look = _Look(workspace, database, batch, seen, limits, histories, asking, resumes)
    found = [look.item(item) for item in items]
    turn = batches.turn_of(database, batch.project_id)
    mine = turn is not None and turn[0] == batch.id
    paused = batch.state is not BatchState.RUNNING  # nothing is begun in one that has ended, too
    refusals = [item.refusal for item in items if item.refusal and item.reached is None]
    brake = Brake() if paused else brake_of(all_jobs, batch.forgiven)
    refused = "" if paused else brake_of_refusals(refusals)
    return found, BatchFacts(
        is_paused=paused,
        turn=turn[1] if turn is not None and mine else None,
        turn_is_elsewhere=turn is not None and not mine,
        brake=brake.reason or refused,
        suspect=brake.suspect,
    )


class _Look:
    """One look at the items of a batch."""

    def __init__(
        self,
        workspace: Workspace,
        database: Database,
        batch: Batch,
        seen: Seen,
        limits: Limits,
        histories: Mapping[TaskId, History],
        asking: Collection[TaskId],
        resumes: Callable[[Task], bool],
    ) -> None:
        self._resumes = resumes
        self._workspace = workspace
        self._seen = seen
        self._limits = limits
        self._others = Others(database, batch.project_id, seen.task, asking)
        self._batch = batch
        self._histories = histories
        self._carried = batches.carried_by(database, batch.project_id)
        if batch.state.has_ended:  # somebody else may be at work on its tasks
            self._carried |= batches.live_jobs(database, batch.project_id)
        self._open: Mapping[TaskId, BatchId] = batches.open_tasks(database, batch.project_id)
        self._database = database

    @cached_property
    def _branches(self) -> "TaskBranches":
        # Only of tasks that are finished is git asked.
        from sow.clones.task_branches import TaskBranches

        return TaskBranches(self._workspace, self._seen.answers)

    def item(self, item: BatchItem) -> ItemFacts:
        """Return the facts of one item; what cannot be read is a fault of it, not of the others."""
        history = self._histories[item.task_id]
        try:
            task = self._seen.task(item.task_id)
            facts = self._facts(item, task, history)
            return self._with_tree(self._with_branch(facts, task, history))
        except SowError as error:
            if passing_fault(error) is not None:
                raise
            return ItemFacts(
                task=item.task_id,
                status=None,
                fault=error.message,
                is_gone=isinstance(error, UnknownTask),
                batch=self._batch.label,
                steps=max((job.step or 0 for job in history.jobs), default=0),
            )

    def _facts(self, item: BatchItem, task: Task, history: History) -> ItemFacts:
        needed = [TaskId(other) for other in task.depends_on]
        last = next(reversed(history.ended), None)
        done_last, in_a_row = history.in_a_row(item.forgiven)
        return ItemFacts(
            task=item.task_id,
            status=task.status,
            in_batch=tuple(other for other in needed if other in self._histories),
            outside=tuple(self._outside(o) for o in needed if o not in self._histories),
            waits_for_plan=self._waits_for_plan(task),
            session_started=task.session_started,
            resumes=self._resumes(task),
            was_interrupted=self._was_interrupted(task),
            missing=history.not_brought_back,
            has_clone=task.clone is not UNSET or self._was_cloned(task),
            verdict=None if task.review is UNSET else task.review.verdict,
            feedback_is_open=feedback_status(task) is FeedbackStatus.OPEN,
            check_passed=None if task.check is UNSET else task.check.passed,
            live=self._live(item.task_id, history),
            last=last,
            may_go_on=self._may_go_on(last),
            returns=history.count(RETURNS, item.forgiven),
            changed_nothing=history.changed_nothing,
            asked_for_change=history.count((Action.ASK_FOR_CHANGE,), item.forgiven),
            conflicts_handed=history.count((Action.SOLVE,), item.forgiven),
            vain_reviews=history.vain_reviews,
            done_last=done_last,
            in_a_row=in_a_row,
            steps=max((job.step or 0 for job in history.jobs), default=0),
            forgiven=item.forgiven,
            batch=self._batch.label,
            begins_in_clone=self._batch.policy.clone is True,
            refusal="" if self._has_room(item.reached) else item.refusal,
            refused_by=item.reached if item.refusal else None,
        )

    def _with_tree(self, facts: ItemFacts) -> ItemFacts:
        """Add where the files lie that are in no commit, if any are."""
        if not facts.left_in_tree and not any(other.left_in_tree for other in facts.outside):
            return facts
        return msgspec.structs.replace(facts, tree=str(self._branches.main.repository.top))

    def _was_cloned(self, task: Task) -> bool:
        """Whether a finished task has a clone of which its state says nothing any more."""
        is_finished = task.status in (TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED)
        merges = self._batch.policy.merge
        return merges and is_finished and self._branches.is_noted(task)

    def _waits_for_plan(self, task: Task) -> bool:
        return not self._batch.policy.before_approval and waits(self._seen.project(), task)

    def _has_room(self, reached: ReachedLimit | None) -> bool:
        return reached is not None and self._limits.has_room(reached)

    def _may_go_on(self, last: JobInBatch | None) -> bool:
        """Whether a limit has ended a job that was raised since; one of a file, that has room."""
        if last is None:
            return False
        return self._has_room(last.reached) or self._limits.is_raised(last, self._batch.policy)

    def _was_interrupted(self, task: Task) -> bool:
        """Whether a task is paused by a cancel."""
        if task.status is not TaskStatus.PAUSED:
            return False
        newest = last_job(self._database, self._batch.project_id, TaskId(task.id))
        return newest is not None and was_cut_off(newest)

    def _outside(self, task_id: TaskId) -> Dependency:
        try:
            task = self._seen.task(task_id)
        except StateError:
            return Dependency(task=task_id, status=None)
        status = task.status
        left: tuple[str, ...] = ()
        if status is TaskStatus.COMPLETED and task.clone is UNSET and not self._was_cloned(task):
            merges = self._batch.policy.merge
            left = self._branches.left_in_tree(task, with_later=False) if merges else ()
        driven = task_id in self._open or status is TaskStatus.IN_PROGRESS
        goes_on = status is not TaskStatus.COMPLETED and self._others.go_on(task_id)
        return Dependency(
            task=task_id,
            status=status,
            is_under_way=driven,
            goes_on=goes_on,
            left_in_tree=left,
        )

    def _live(self, task_id: TaskId, history: History) -> LiveJob | None:
        job = history.live
        if job is not None:
            is_held = job.state is JobState.HELD
            for_tasks = job.held_for == HeldFor.DEPENDENCIES
            return LiveJob(
                id=job.id,
                verb=job.verb,
                is_held=is_held and not for_tasks,
                waits_for_tasks=is_held and for_tasks,
                action=job.action,
                has_begun=job.started_at is not None,
                put_off=_put_off(job),
                waits_for_batch=job.step is not None and job.state in WAITING_STATES,
            )
        other = self._carried.get(task_id)
        if other is None:
            return None
        return LiveJob(id=other, verb=get_job(self._database, other).verb)

    def _with_branch(self, facts: ItemFacts, task: Task, history: History) -> ItemFacts:
        """Add what is known of the work: whether verdict and check are about what is there."""
        if facts.status not in (TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED):
            return facts
        if not facts.has_clone:
            merges = self._batch.policy.merge and facts.live is None
            left = self._branches.left_in_tree(task, with_later=True) if merges else ()
            return msgspec.structs.replace(
                facts,
                left_in_tree=left,
                verdict_stands=_is_later(task.review, history),
                check_stands=history.was_checked() and not self._is_outdated(task),
            )
        if facts.status is TaskStatus.COMPLETED and not self._batch.policy.merge:
            return facts
        tip = self._branches.tip(task)
        facts = self._with_untaken(facts, task, tip)
        if tip is None:
            words = "its branch is not in the repository"
            return msgspec.structs.replace(facts, is_merged=task.merged is not UNSET, missing=words)
        return self._in_clone(facts, task, history, tip)

    def _with_untaken(self, facts: ItemFacts, task: Task, tip: str | None) -> ItemFacts:
        """Add whether its clone has what the repository lacks, as that is now.

        What an earlier attempt told of it is forgotten where the repository has it by now.
        """
        if facts.live is not None or facts.status is not TaskStatus.NEEDS_REVIEW:
            return facts
        untaken = self._branches.is_untaken(task, tip, was_prevented=bool(facts.missing))
        is_whole = not untaken and tip is not None and not self._clone_is_gone(task)
        missing = "" if is_whole else facts.missing
        return msgspec.structs.replace(facts, is_untaken=untaken, missing=missing)

    def _in_clone(self, facts: ItemFacts, task: Task, history: History, tip: str) -> ItemFacts:
        accepted = facts.verdict is ReviewVerdict.ACCEPTED or facts.status is TaskStatus.COMPLETED
        judged = task.review.commit if task.review is not UNSET else UNSET
        stands = judged is not UNSET and self._branches.stands(task, judged, tip)
        known = task.merged is not UNSET and task.merged.commit == tip
        merged = known and tip not in self._lost
        on_its_way = self._batch.policy.merge and accepted and not merged
        checked = task.check is not UNSET and task.check.commit == tip and not task.check.dirty
        was_checked = history.was_checked() and self._branches.is_as_checked(task)
        return msgspec.structs.replace(
            facts,
            verdict_stands=stands,
            clone_is_gone=self._clone_is_gone(task),
            taken_back=self._taken_back(task, tip) if accepted and not stands else (),
            is_merged=merged,
            merge_is_gone=known and not merged,
            check_stands=(checked or was_checked) and not self._is_outdated(task),
            is_behind=on_its_way and facts.live is None and self._branches.is_behind(tip),
        )

    def _clone_is_gone(self, task: Task) -> bool:
        """Whether a task lacks its clone, and only its next agent makes it again.

        In a shared queue whoever needs it does: other hosts' agents have none here.
        """
        return not self._database.is_shared and self._branches.clone_is_gone(task)

    @cached_property
    def _lost(self) -> Collection[str]:
        """The merged commits of the batch's tasks that the project's branch has no more.

        How a batch has ended stays as it is.
        """
        if self._batch.state.has_ended:
            return ()
        merges = []
        for task_id in self._histories:
            with suppress(SowError):  # its own look says what is wrong with it
                merges.append(self._seen.task(task_id).merged)
        return self._branches.lost_merges(merge for merge in merges if merge is not UNSET)

    @cached_property
    def _checks(self) -> Checks | None:
        """The checks as they are written now; None where nobody can tell."""
        with suppress(SowError):
            return checks_of(read_repository(self._workspace.repository_config))
        return None

    def _is_outdated(self, task: Task) -> bool:
        """Whether a green check of a task has run other command lines than are written now."""
        if task.check is UNSET or not task.check.passed or self._checks is None:
            return False
        ran = task.check.results
        return not all(self._checks.is_as_run(result.name, result.command) for result in ran)

    def _taken_back(self, task: Task, tip: str) -> tuple[str, ...]:
        judged = task.review.commit if task.review is not UNSET else UNSET
        return () if judged is UNSET else self._branches.taken_back(task, judged, tip)


def _put_off(job: JobInBatch) -> str:
    """Return what keeps a job waiting that passes; empty where nothing does."""
    if job.state is not JobState.BACKOFF or job.cause is None:
        return ""
    from sow.schema.cause_table import CAUSES, RetryRule  # few jobs wait so

    if CAUSES[Cause(job.cause)].retry is not RetryRule.PATIENT:
        return ""
    return job.reason.strip().partition("\n")[0]


def _is_later(review: object, history: History) -> bool:
    """Whether a verdict on work without a clone came after its author's last job.

    Its commit says nothing there: others commit in the same working tree.
    """
    if not isinstance(review, TaskReview):
        return False
    authors = history.authors
    if not authors:
        return True
    if review.job is not UNSET:
        return review.job > authors[-1].id
    return review.at.timestamp() + 1 > (authors[-1].ended_at or 0.0)  # it is of whole seconds
