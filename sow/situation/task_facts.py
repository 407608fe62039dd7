"""How each task stands, as facts for the guards and for what takes it on.

Owns what each fact is found out from. git is asked for all tasks at once, and of
single commits only where that does not tell. Reads only.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from sow.config.configuration import Configuration
from sow.ids import TaskId
from sow.lifecycle.lifecycle_facts import TaskFacts
from sow.lifecycle.refusal_steps import after
from sow.lifecycle.stages import ProjectType
from sow.paths import Workspace
from sow.schema.causes import CAUSES, RAISABLE, Cause
from sow.schema.config import CloneUse
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.project import Project
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from sow.situation.branches import Branches
from sow.situation.obstacles import is_in_merge, merge_now
from sow.situation.situation import Queue
from sow.situation.task_checks import word_of_checks
from sow.state.lifecycle import approved_units, unit_content
from sow.state.plan_wait import waits

if TYPE_CHECKING:
    pass

GOES_ON = (TaskStatus.PAUSED, TaskStatus.FAILED, TaskStatus.NEEDS_REVIEW, TaskStatus.IN_PROGRESS)
"""The statuses in which somebody has worked on a task, and somebody has to go on."""


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
        self._resumable: dict[str, bool] = {}
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
        """Whether the executor that made a task's session can go on with it."""
        config = self._configuration
        if config is None:
            return True
        if task.session is not UNSET:
            name = task.session.executor
        else:
            name = config.bindings.get(task.assigned_agent, "")
        if name not in self._resumable:
            self._resumable[name] = _resumes(config, name)
        return self._resumable[name]

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


def _resumes(config: Configuration, name: str) -> bool:
    from sow.executors.registry import make_executor  # only where a session is to go on

    executor = config.executors.get(name)
    return executor is not None and make_executor(executor).supports_resumption


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
        is_so = task.status is TaskStatus.PAUSED and last.was_cut_off
        return {"ended": Cause.CANCELLED.value, **ended_in} if is_so else {}
    if last.state is not JobState.FAILED:
        return {}
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
