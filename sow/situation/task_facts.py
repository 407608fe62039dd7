"""How each task stands, as facts for the guards and for what takes it on.

Owns what each fact is found out from. git is asked for all tasks at once, and of
single commits only where that does not tell. Reads only.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import UNSET, Struct, structs

from sow.agents.roles import WITHOUT_FILES
from sow.config.checks import Checks
from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.ids import TaskId
from sow.lifecycle.lifecycle_facts import Remedy, TaskFacts
from sow.lifecycle.project_verdict import ENOUGH
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.stages import ProjectType
from sow.paths import Workspace
from sow.schema.causes import RAISABLE, Cause
from sow.schema.config import CloneUse
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.kinds import kind_of, was_cut_off
from sow.schema.project import Project
from sow.schema.task import CheckRecord, ReviewVerdict, Task, TaskStatus
from sow.situation.branches import Branches
from sow.situation.situation import Queue
from sow.state.lifecycle import approved_units, unit_content
from sow.state.plan_wait import waits

LOOKED_INTO = (Cause.MERGE_CONFLICT, Cause.MERGE_REFUSED)
"""Why a merge can come to nothing so that it is worth asking whether it would again."""
DONE = (TaskStatus.NEEDS_REVIEW, TaskStatus.COMPLETED)
LOOKS = "sow doctor"
"""What is named where no step is known that helps."""
GOES_ON = (TaskStatus.PAUSED, TaskStatus.FAILED, TaskStatus.NEEDS_REVIEW, TaskStatus.IN_PROGRESS)
"""The statuses in which somebody has worked on a task, and somebody has to go on."""


def word_of_checks(task: Task, last: Job | None, checks: Checks, branches: Branches) -> str:
    """Return `green`, `red` or `missing`; empty where there are none, or they cannot be run.

    `last` is the newest job of the task. Where that was a check without an outcome, another one
    may come to the same: whoever judges the work goes on without.
    """
    by_itself = () if task.assigned_agent in WITHOUT_FILES else checks.default
    names = by_itself if task.checks is UNSET else tuple(task.checks)
    if not names or not all(name in checks.commands for name in names):
        return ""
    is_gone = task.clone is not UNSET and not os.path.isdir(task.clone.path)  # noqa: PTH112 - as in task_facts
    if is_gone:
        return ""
    ran: dict[str, str] = {}
    if task.check is not UNSET and _stands(task, task.check, last, branches):
        ran = {result.name: result.command for result in task.check.results}
        if all(checks.is_as_run(name, ran.get(name, "")) for name in names):
            return "green" if task.check.passed else "red"
    is_vain = last is not None and _is_vain_check(last, names, ran)
    return "" if is_vain else "missing"


def _is_vain_check(last: Job, names: Sequence[str], ran: Mapping[str, str]) -> bool:
    """Whether a job was a check that failed, and not by the work as it is now.

    `ran` is what it ran, if the work is still as it was then: none of `names` where something
    else is checked out than the task's branch.
    """
    if not kind_of(last).checks or last.state is not JobState.FAILED:
        return False
    return last.cause is not Cause.CHECK_FAILED or bool(ran and ran.keys().isdisjoint(names))


def _stands(task: Task, check: CheckRecord, last: Job | None, branches: Branches) -> bool:
    """Whether the last check of a task was about its work as it is now."""
    if last is not None and kind_of(last).checks:
        if last.state is not JobState.DONE and last.cause is not Cause.CHECK_FAILED:
            return False
        return task.clone is UNSET or branches.is_as_checked(task, check)
    if task.clone is not UNSET:
        return check.commit == branches.newest(task)
    is_made_since = last is not None and kind_of(last).makes_work
    return last is None or not is_made_since or check.at.timestamp() > last.created_at


class MergeNow(Struct, frozen=True):
    """What a merge of a task would come to."""

    is_in_conflict: bool = False
    in_the_way: tuple[Remedy, ...] = ()
    """What helps where it would be refused for anything else."""


class Looks(Protocol):
    """Who looks at the branches of tasks."""

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""

    def obstacle_to_bring(self, task: Task) -> SowError | None:
        """Return what keeps the work in a task's clone from coming here."""


def merge_now(task: Task, last: Job | None, looks: Looks, *, times: int) -> MergeNow:
    """Return what the next merge of a task would come to, where its last job was a vain one.

    Work that is in its clone alone is asked about whatever the last job was. `times` is how often
    in a row a merge of this task alone was refused: one that nobody finds a reason for is tried
    again, and then a person looks at it.
    """
    if task.clone is UNSET or is_in_merge(task):
        return MergeNow()  # what a merge that is under way in its clone needs is known
    if last is None or last.cause not in LOOKED_INTO:
        kept = looks.obstacle_to_bring(task) if task.status in DONE else None
        return MergeNow(in_the_way=_helps(kept) if kept is not None else ())
    found = looks.obstacle(task)
    if found is None:
        vain = last.cause is Cause.MERGE_REFUSED and times >= ENOUGH
        return MergeNow(in_the_way=_asks_person(task, last, times) if vain else ())
    from sow.clones.merge_tasks import MergeConflict  # only where one came to nothing

    if isinstance(found, MergeConflict):
        return MergeNow(is_in_conflict=True)
    return MergeNow(in_the_way=_helps(found))


def _helps(error: SowError) -> tuple[Remedy, ...]:
    return tuple(after(error)) or (Remedy(LOOKS, error.message),)


def is_in_merge(task: Task) -> bool:
    """Whether a merge is under way in a task's clone."""
    if task.clone is UNSET:
        return False
    return os.path.lexists(Path(task.clone.path) / ".git" / "MERGE_HEAD")


def _asks_person(task: Task, last: Job, times: int) -> tuple[Remedy, ...]:
    reason = last.reason.strip().partition("\n")[0]
    why = f"the merge of task {task.id} was refused {times} times: {reason}"
    again = Remedy(f"sow merge {task.id}", "once that is put right")
    return (Remedy(f"sow job show {last.id}", why), again)


class TaskLook:
    """One look at the tasks of a project, whose queue and configuration are known."""

    def __init__(
        self,
        workspace: Workspace,
        project: Project,
        queue: Queue,
        configuration: Configuration | None,
        branches: Branches,
    ) -> None:
        self._workspace = workspace
        self._project = project
        self._queue = queue
        self._configuration = configuration
        self._branches = branches
        self._units = approved_units(project)
        self._live = {task: job for job in queue.live for task in job.tasks}
        self._batches = {
            found.task: now.batch
            for now in queue.batches
            for found in (now.plan.standings if now.plan is not None else ())
        }

    def facts(self, tasks: Sequence[Task]) -> tuple[TaskFacts, ...]:
        """Return how each of some tasks stands."""
        return tuple(map(self._facts, tasks))

    def _facts(self, task: Task) -> TaskFacts:
        live = self._live.get(TaskId(task.id))
        is_held = live is not None and live.state is JobState.HELD
        driver = self._batches.get(task.id)
        facts = TaskFacts(
            id=task.id,
            status=task.status.value,
            depends_on=tuple(task.depends_on),
            phase=task.phase,
            is_at_work=live is not None and not is_held,
            waits_for_reader=task.id in self._queue.above_reader,
            held_for=(live.held_for or HeldFor.TRUST).value if live and is_held else "",
            batch=driver.id if driver is not None else 0,
            batch_label=driver.label if driver is not None else "",
            waits_for_plan=waits(self._project, task),
            has_session=task.session_started,
            has_clone=task.clone is not UNSET,
            is_unmerged=self._branches.is_unmerged(task),
        )
        more = {**self._as_unit(task), **self._unbegun(task), **self._begun(task, live)}
        return structs.replace(facts, **more) if more else facts

    def _as_unit(self, task: Task) -> dict[str, bool]:
        if self._project.kind is not ProjectType.BREAKDOWN:
            return {}
        from sow.state.units import is_published  # of work units alone

        approved = self._units.get(task.id)
        return {
            "is_approved": approved is not None and approved == unit_content(self._workspace, task),
            "is_published": is_published(self._workspace, self._project, task),
        }

    def _unbegun(self, task: Task) -> dict[str, object]:
        """Return what is in the way of a task's clone, where nobody has made it yet."""
        config = self._configuration
        if config is None or config.clones.use is CloneUse.NEVER:
            return {}
        if not _is_pending(task) or task.clone is not UNSET:
            return {}
        found = self._branches.cloned_elsewhere(task)
        return {"in_the_way": tuple(after(found))} if found is not None else {}

    def _begun(self, task: Task, live: Job | None) -> dict[str, object]:
        """Return what is asked of a task that somebody has worked on, and nobody does now."""
        last = self._queue.last.get(TaskId(task.id))
        waits = is_left(task, self._branches)
        if live is not None or not (waits or (task.clone is not UNSET and _is_pending(task))):
            return {}
        ended = _ending(task, last)
        times = self._queue.refused_merges.get(TaskId(task.id), 0)
        merge = merge_now(task, last, self._branches, times=times)
        return {
            **ended,
            **self._verdict(task),
            "vain_reviews": self._queue.vain_reviews.get(TaskId(task.id), 0),
            "can_resume": not task.session_started or self._can_resume(task),
            "feedback_is_open": _has_open_feedback(task),
            "clone": self._clone(task, is_in_conflict=merge.is_in_conflict),
            "check": self._checks(task, last),
            "in_the_way": merge.in_the_way,
        }

    def _verdict(self, task: Task) -> dict[str, object]:
        if task.review is UNSET:
            return {}
        if task.clone is not UNSET:
            holds = self._branches.stands(task)
        else:  # nobody can tell whose a change in the working tree is: it has to be newer
            holds = task.review.at >= task.updated_at
        accepted = task.review.verdict is ReviewVerdict.ACCEPTED
        return {"verdict": "accepted" if accepted else "corrections", "verdict_holds": holds}

    def _checks(self, task: Task, last: Job | None) -> str:
        config = self._configuration
        if config is None or task.status is not TaskStatus.NEEDS_REVIEW:
            return ""
        return word_of_checks(task, last, config.checks, self._branches)

    def _can_resume(self, task: Task) -> bool:
        """Whether the executor that made a task's session can go on with it, or hands it over."""
        config = self._configuration
        if config is None:
            return True
        # Only where a session is to go on.
        from sow.executors.registry import make_executor, maker_of

        bound = config.bindings.get(task.assigned_agent, "")
        if task.session is UNSET:
            executor = config.executors.get(bound)
        else:
            executor = maker_of(config, task.session)
        if executor is None:
            return config.hands_over and bool(bound)
        return make_executor(executor).supports_resumption

    def _clone(self, task: Task, *, is_in_conflict: bool) -> str:
        """Return what is in the way of merging a task's work."""
        if task.clone is UNSET:
            return ""
        if is_in_merge(task):
            return "conflict"
        path = Path(task.clone.path)
        if not _is_pending(task) and self._branches.tip(task) is None:
            if self._branches.is_in_clone(task):
                return "untaken"
            if not os.path.isdir(path):  # noqa: PTH112 - no system's fault with one hides the others
                return "gone"
        return "behind" if is_in_conflict else ""


def is_left(task: Task, branches: Branches) -> bool:
    """Whether somebody has worked on a task, and somebody has to go on."""
    return task.status in GOES_ON or branches.is_unmerged(task)


def _is_pending(task: Task) -> bool:
    return task.status is TaskStatus.PENDING


def _has_open_feedback(task: Task) -> bool:
    if not task.feedback:
        return False
    from sow.state.verdicts import open_feedback_of  # few tasks have any

    return bool(open_feedback_of(task))


def _ending(task: Task, last: Job | None) -> dict[str, object]:
    """Return how the last job of a task has come to nothing, if it has."""
    if last is None:
        return {}
    kind = kind_of(last)
    ended_in = {"ended_in_merge": kind.merges, "ended_in_review": kind.judges}
    if last.state is JobState.CANCELLED:
        is_so = task.status is TaskStatus.PAUSED and was_cut_off(last)
        return {"ended": Cause.CANCELLED.value, **ended_in} if is_so else {}
    if last.state is not JobState.FAILED:
        return {}
    from sow.schema.cause_table import CAUSES  # of failures alone

    cause = last.cause or Cause.INTERNAL
    reason = last.reason.strip().partition("\n")[0]
    return {
        "ended": cause.value,
        **ended_in,
        "ended_job": last.id,
        "was_together": len(last.tasks) > 1,
        "ended_words": reason or CAUSES[cause].words,
        "raises": _raising(last) if cause in RAISABLE else "",
    }


def _raising(job: Job) -> str:
    from sow.reports.limits import option_of  # few jobs are ended by one

    return option_of(job.reached)
