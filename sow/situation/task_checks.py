"""What the checks of a task say of its work as it stands. Reads only.

Owns which checks count, and when they have judged what is there now: a change since then, or
another command line, makes their word worth nothing.
"""

import os

from msgspec import UNSET

from sow.agents.roles import WITHOUT_FILES
from sow.config.checks import Checks
from sow.schema.causes import Cause
from sow.schema.job import Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.task import CheckRecord, Task
from sow.situation.branches import Branches

"""The step of a job that runs checks."""


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
    if task.check is not UNSET and _stands(task, task.check, last, branches):
        ran = {result.name: result.command for result in task.check.results}
        if all(checks.is_as_run(name, ran.get(name, "")) for name in names):
            return "green" if task.check.passed else "red"
    is_vain = last is not None and kind_of(last).checks and last.state is JobState.FAILED
    return "" if is_vain else "missing"


def _stands(task: Task, check: CheckRecord, last: Job | None, branches: Branches) -> bool:
    """Whether the last check of a task was about its work as it is now."""
    if last is not None and kind_of(last).checks:
        return last.state is JobState.DONE or last.cause is Cause.CHECK_FAILED
    if task.clone is not UNSET:
        return check.commit == branches.tip(task)
    is_made_since = last is not None and kind_of(last).makes_work
    return last is None or not is_made_since or check.at.timestamp() > last.created_at
