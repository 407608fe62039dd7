"""What an agent has left in its task's clone, gathered when its attempt is over.

Owns the order: what is not committed is committed on the task's branch, then
the branch is brought into the main repository, then the task's change is told
file by file. Git may take a while over it, so each runs in a thread of its own,
and the attempt is settled when it has come to an end. Done again, it changes
nothing. What cannot be gathered is told; it lies where it lay.
"""

import errno
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from sow.errors import SowError
from sow.faults import passing_fault
from sow.git.view import view_of
from sow.schema.job import NOT_BROUGHT_BACK, Job
from sow.schema.task import Task, TaskClone
from sow.state.tasks import read_task
from sow.terminal_text import printable, readable
from worker.context import WorkerContext, logger

LOCK_SECONDS = 60.0
MOST_NAMED = 5
CLEARED = "git would block on a pipe, socket or device, and these contain no work"


@dataclass(frozen=True)
class Gathered:
    """What has come of it."""

    files: tuple[str, ...] | None = None
    """All that the task has changed; None where that cannot be told."""
    warnings: tuple[str, ...] = ()
    """What a person should look at, a sentence each."""
    commit: str | None = None
    """The last commit of the task's branch."""
    clone: TaskClone | None = None
    """Where the clone is, by sow's own word: an agent can write another into its task's state."""


class Gathering:
    """One attempt's, from its start to its result, or to the passing fault that prevents it."""

    def __init__(self, job: Job, work: Callable[[], Gathered]) -> None:
        self._job = job
        self._work = work
        self._result: Gathered | None = None
        self._fault: Exception | None = None

    @property
    def result(self) -> Gathered | None:
        """What has come of it; None while it goes on, or where it is to be done again."""
        return self._result

    @property
    def fault(self) -> Exception | None:
        """What prevents it just now, and passes: a lock, a full disk. Then it is done again."""
        return self._fault

    def give_up(self) -> None:
        """Treat the fault as lasting: it becomes a warning, and the work stays in its place."""
        if self._fault is not None:
            self._result, self._fault = self._as_warning(self._fault), None

    def start(self, when_done: Callable[[], None]) -> None:
        """Begin, in a thread that calls `when_done` at its end.

        A machine that allows no further thread now is a passing fault like any other.
        """

        def run() -> None:
            self.run()
            when_done()

        try:
            threading.Thread(target=run, name="gathering", daemon=True).start()
        except RuntimeError as error:  # what Python says where the system allows no more of them
            self._fault = OSError(errno.EAGAIN, str(error))
            when_done()

    def run(self) -> None:
        """Gather. Raises nothing: what stays wrong becomes a warning."""
        try:
            self._result = self._work()
        except Exception as error:
            if passing_fault(error) is not None:
                self._fault = error
            else:
                self._result = self._as_warning(error)

    def _as_warning(self, error: Exception) -> Gathered:
        if isinstance(error, SowError):
            return Gathered(warnings=(_not_gathered(error.message),))
        logger.error("job %s: its work cannot be gathered", self._job.id, exc_info=error)
        return Gathered(warnings=(_not_gathered(str(error)),))


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
    found = _gather(main, place, task, commits=main.settings.commit)
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


def named(paths: Sequence[str]) -> str:
    """Return some files by name, and of more than a few how many there are."""
    rest = len(paths) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(printable(readable(path)) for path in paths[:MOST_NAMED]) + more


def _not_gathered(why: str) -> str:
    return readable(f"{NOT_BROUGHT_BACK}: {why}")
