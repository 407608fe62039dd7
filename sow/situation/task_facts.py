"""How each task stands, as facts for the guards and for what takes it on.

Owns what each fact is found out from. git is asked for all tasks at once, and of
single commits only where that does not tell. Reads only.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from sow.config.configuration import Configuration
from sow.errors import SowError
from sow.ids import TaskId
from sow.lifecycle.facts import TaskFacts
from sow.lifecycle.stages import ProjectType
from sow.paths import Workspace
from sow.schema.causes import CAUSES, Cause
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.project import Project
from sow.schema.task import ReviewVerdict, Task, TaskStatus
from sow.situation.obstacles import merge_now
from sow.situation.situation import Queue
from sow.state.lifecycle import approved_units, unit_content
from sow.state.plan_wait import waits

if TYPE_CHECKING:
    from sow.clones.task_branches import TaskBranches

BRANCHES = "refs/heads/sow/"
"""Where the branches of tasks are."""
GOES_ON = (TaskStatus.PAUSED, TaskStatus.FAILED, TaskStatus.NEEDS_REVIEW, TaskStatus.IN_PROGRESS)
"""The statuses in which somebody has worked on a task, and somebody has to go on."""


class Branches:
    """What git says of the tasks' branches: asked once for all of them, where anybody asks."""

    def __init__(self, workspace: Workspace, tell: Callable[[SowError], None]) -> None:
        self._workspace = workspace
        self._tell = tell

    @cached_property
    def tips(self) -> Mapping[str, str]:
        """The last commit of each branch of a task, by the branch's name."""
        return dict(self._listed())

    @cached_property
    def _unmerged(self) -> frozenset[str]:
        return frozenset(name for name, _ in self._listed("--no-merged=HEAD"))

    def _listed(self, *which: str) -> Iterator[tuple[str, str]]:
        from sow.git.run import git  # most projects have no clone

        words = ("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", *which, BRANCHES)
        try:
            lines = git(self._workspace.root, *words).splitlines()
        except SowError as error:
            self._tell(error)
            return
        for line in lines:
            commit, _, name = line.partition(" ")
            yield name, commit

    def tip(self, task: Task) -> str | None:
        """Return the last commit of a task's branch; None where there is none."""
        return None if task.clone is UNSET else self.tips.get(task.clone.branch)

    def is_unmerged(self, task: Task) -> bool:
        """Whether a completed task's work is on a branch of its own alone."""
        if task.clone is UNSET or task.status is not TaskStatus.COMPLETED:
            return False
        tip = self.tip(task)
        if tip is None:
            return task.merged is UNSET
        if task.merged is not UNSET and task.merged.commit == tip:
            return False
        return task.clone.branch in self._unmerged

    def stands(self, task: Task) -> bool:
        """Whether a verdict on a task's clone is about what lies in its branch now."""
        tip, judged = self.tip(task), UNSET if task.review is UNSET else task.review.commit
        if tip is None or judged is UNSET:
            return False
        return tip == judged or self._differs_by_merges(task, judged, tip)

    @cached_property
    def _exact(self) -> "TaskBranches":
        from sow.clones.task_branches import TaskBranches  # asked of few commits

        return TaskBranches(self._workspace, {})

    def _differs_by_merges(self, task: Task, judged: str, tip: str) -> bool:
        try:
            return self._exact.stands(task, judged, tip)
        except SowError:
            return False

    def obstacle(self, task: Task) -> SowError | None:
        """Return what a merge of a task alone would be refused for now."""
        try:
            return None if self.tip(task) is None else self._exact.obstacle(task)
        except SowError as error:
            return error


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
            found.task: now.batch.id
            for now in queue.batches
            for found in (now.plan.standings if now.plan is not None else ())
        }

    def facts(self, tasks: Sequence[Task]) -> tuple[TaskFacts, ...]:
        """Return how each of some tasks stands."""
        return tuple(map(self._facts, tasks))

    def _facts(self, task: Task) -> TaskFacts:
        live = self._live.get(TaskId(task.id))
        is_held = live is not None and live.state is JobState.HELD
        facts = TaskFacts(
            id=task.id,
            status=task.status.value,
            depends_on=tuple(task.depends_on),
            phase=task.phase,
            is_at_work=live is not None and not is_held,
            held_for=(live.held_for or HeldFor.TRUST).value if live and is_held else "",
            batch=self._batches.get(task.id, 0),
            waits_for_plan=waits(self._project, task),
            has_session=task.session_started,
            has_clone=task.clone is not UNSET,
            is_unmerged=self._branches.is_unmerged(task),
        )
        more = {**self._as_unit(task), **self._begun(task, live)}
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

    def _begun(self, task: Task, live: Job | None) -> dict[str, object]:
        """Return what is asked of a task that somebody has worked on, and nobody does now."""
        last = self._queue.last.get(TaskId(task.id))
        waits = is_left(task, self._branches)
        if live is not None or not (waits or (task.clone is not UNSET and _is_pending(task))):
            return {}
        ended = _ending(task, last)
        times = self._queue.refused_merges.get(TaskId(task.id), 0)
        merge = merge_now(task, last, self._branches.obstacle, times=times)
        return {
            **ended,
            **self._verdict(task),
            "vain_reviews": self._queue.vain_reviews.get(TaskId(task.id), 0),
            "can_resume": not task.session_started or self._can_resume(task),
            "feedback_is_open": _has_open_feedback(task),
            "clone": self._clone(task, is_in_conflict=merge.is_in_conflict),
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
        path = Path(task.clone.path)
        if os.path.lexists(path / ".git" / "MERGE_HEAD"):
            return "conflict"
        is_begun = not _is_pending(task)
        is_there = os.path.isdir(path)  # noqa: PTH112 - no system's fault with one hides the others
        if is_begun and self._branches.tip(task) is None and not is_there:
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
    if last.state is JobState.CANCELLED:
        is_so = task.status is TaskStatus.PAUSED and last.was_cut_off
        return {"ended": Cause.CANCELLED.value, "ended_verb": last.verb.value} if is_so else {}
    if last.state is not JobState.FAILED:
        return {}
    cause = last.cause or Cause.INTERNAL
    reason = last.reason.strip().partition("\n")[0]
    return {
        "ended": cause.value,
        "ended_verb": last.verb.value,
        "ended_words": reason or CAUSES[cause].words,
        "budget": _raised(last) if cause is Cause.BUDGET_REACHED else "",
    }


def _raised(job: Job) -> str:
    from sow.reports.budgets import option_of  # few jobs have come to the end of one

    return option_of(job.reached)
