"""Gathering what an agent has left in its task's clone: committed, brought back, told.

Owns the order: what is not committed is committed on the task's branch, then
the branch is brought into the main repository, then the task's change is told
file by file. Done again, it changes nothing. Only jobs that work in a clone need it: it is
imported when one of them ends.
"""

from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from sow.clones.bring_back import bring_back
from sow.clones.clearing import clear_special_files
from sow.clones.clone_facts import left_out_words
from sow.clones.leftovers import Leftovers, commit_leftovers
from sow.clones.listing import removal_risks_of
from sow.clones.locks import locked_place
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.clones.place import Place
from sow.clones.task_diff import task_change
from sow.clones.work_tree import COPIED
from sow.git.view import view_of
from sow.schema.job import Job
from sow.schema.task import Task, TaskClone
from sow.state.tasks import read_task
from sow.terminal_text import readable
from worker.context import WorkerContext
from worker.gathering import Gathered, named

LOCK_SECONDS = 60.0
CLEARED = "git would block on a pipe, socket or device, and these contain no work"


def gather(context: WorkerContext, job: Job, before: Task | None = None) -> Gathered:
    """Commit, bring back and tell what a task has changed; `before` is how it stood at the start.

    Raises SowError.
    """
    workspace = context.workspace
    main = main_checkout(workspace, known_settings(workspace))
    task = read_task(workspace, job.task_id)
    if task.clone is UNSET and main.noted(task) is None:
        return Gathered()  # it was never made
    place = main.place(task)
    if main.noted(task) is None:
        place = _with_base_of(main, place, before)
    commits = main.settings.commit or workspace.host is not None  # else nothing of it comes home
    found = _gather(main, place, task, commits=commits)
    if not place.base:
        return found
    clone = TaskClone(path=str(place.path), branch=place.branch, base=place.base)
    return replace(found, clone=clone)


def _with_base_of(main: MainCheckout, place: Place, before: Task | None) -> Place:
    """Return the place with the base that the state had when the attempt began, if it had one.

    For a clone that is on no record of ours. Told against a base that its agent has moved,
    a part of its work would be seen by nobody.
    """
    if before is None or before.clone is UNSET:
        return place
    if view_of(main.repository.top).commit_of(before.clone.base) is None:
        return place
    return place.since(before.clone.base)


def _gather(main: MainCheckout, place: Place, task: Task, *, commits: bool) -> Gathered:
    with locked_place(place, timeout_seconds=LOCK_SECONDS):
        mark = own_mark(place)
        if mark is None:
            return Gathered(warnings=(f"its clone no longer exists at {place.path}",))
        if mark.stage != Stage.WHOLE:  # no agent was in it: what lies there is a setup's
            return Gathered()
        cleared = clear_special_files(place.path, main.repository)
        warnings = [f"removed from its clone: {named(cleared)} ({CLEARED})"] if cleared else []
        base = place.base or mark.base
        facts = place.since(base)
        if commits:
            noted = main.noted(task)
            withheld = noted.made_by_sow if noted is not None else mark.copied
            left = commit_leftovers(
                facts, main.repository, task=task.id, name=task.name, withheld=withheld
            )
            warnings += _warnings_of(left, place.path)
        elif uncommitted := removal_risks_of(main, place).uncommitted:
            why = "clones.commit is false"
            warnings.append(f"not committed in {place.path}: {named(uncommitted)} ({why})")
        brought = bring_back(facts, main.repository)
        if brought is None:
            return Gathered(warnings=(*warnings, f"its clone has no branch {place.branch}"))
        if brought.is_rewritten:
            warnings.append(f"its agent has rewritten {place.branch}")
        return _change_of(main, place, base, warnings)


def _change_of(main: MainCheckout, place: Place, base: str, warnings: list[str]) -> Gathered:
    facts = place.since(base)
    change = task_change(main.repository, facts, main.project_branch)
    if change.state_files:
        warnings.append(left_out_words(facts, change.state_files, change.commit or base))
    if change.steers:
        warnings.append(f"its change steers agents or machines: {named(change.steers)}")
    return Gathered(tuple(map(readable, change.files)), tuple(warnings), change.commit)


def _warnings_of(left: Leftovers, clone: Path) -> list[str]:
    """Return in words what of an agent's work was not committed."""
    found = []
    for untaken in left.untaken:
        if untaken.reason == COPIED:
            continue  # as it is meant to be
        files = f": {named(untaken.paths)}" if untaken.paths else ""
        found.append(f"not committed in {clone}{files} ({untaken.reason})")
    return found
