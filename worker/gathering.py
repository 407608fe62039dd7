"""What an agent has left in its task's clone, gathered when its attempt is over.

Owns the order: what is not committed is committed on the task's branch, then
the branch is brought into the main repository, then the task's change is told
file by file. Git may take a while over it, so each runs in a thread of its own,
and the attempt is settled when it has come to an end. Done again, it changes
nothing. What cannot be gathered is told; it lies where it lay.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import UNSET

from sow.clones.bring_back import bring_back
from sow.clones.leftovers import Leftovers, commit_leftovers
from sow.clones.locks import locked_place
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.mark import Stage, own_mark
from sow.clones.place import Place
from sow.clones.task_diff import task_change
from sow.clones.work_tree import COPIED
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import SowError
from sow.git.view import view_of
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskClone
from sow.state.tasks import read_task
from worker.context import WorkerContext, logger
from worker.postponing import is_checked_out

LOCK_SECONDS = 60.0
MOST_NAMED = 5


@dataclass(frozen=True)
class Gathered:
    """What has come of it."""

    files: tuple[str, ...] | None = None
    """All that the task has changed; None where that cannot be told."""
    warnings: tuple[str, ...] = ()
    """What a person should look at, a sentence each."""
    clone: TaskClone | None = None
    """Where the clone is, by sow's own word: an agent can write another into its task's state."""


class Gathering:
    """One attempt's, from its start to its result."""

    def __init__(
        self, context: WorkerContext, job: Job, attempt_id: str, before: Task | None = None
    ) -> None:
        self._context = context
        self._job = job
        self._attempt_id = attempt_id
        self._before = before
        self._result: Gathered | None = None

    @property
    def result(self) -> Gathered | None:
        """What has come of it; None while it goes on."""
        return self._result

    def start(self, when_done: Callable[[], None]) -> None:
        """Begin, in a thread that calls `when_done` at its end."""

        def run() -> None:
            self.run()
            when_done()

        threading.Thread(target=run, name="gathering", daemon=True).start()

    def run(self) -> None:
        """Gather. Raises nothing: whatever is wrong becomes a warning."""
        try:
            self._result = gather(self._context, self._job, self._attempt_id, self._before)
        except SowError as error:
            self._result = Gathered(warnings=(_not_gathered(error),))
        except Exception as error:
            logger.exception("job %s: its work cannot be gathered", self._job.id)
            self._result = Gathered(warnings=(_text(f"its work was not gathered: {error}"),))


def has_clone_to_gather(context: WorkerContext, job: Job) -> bool:
    """Whether the agent of a job has worked in a clone of its task's, and its project is here."""
    if not kind_of(job).makes_work:
        return False
    try:
        if not is_checked_out(context, job):
            return False  # the task of that number is another project's: this one's waits
        return read_task(context.workspace, job.task_id).clone is not UNSET
    except SowError:
        return False  # what is wrong with it is said where the attempt is settled


def gather(
    context: WorkerContext, job: Job, attempt_id: str, before: Task | None = None
) -> Gathered:
    """Commit, bring back and tell what a task has changed; `before` is how it stood at the start.

    Raises SowError.
    """
    workspace = context.workspace
    settings, _ = clone_settings(read_repository(workspace.repository_config))
    main = main_checkout(workspace, settings)
    task = read_task(workspace, job.task_id)
    place = _with_base_of(main, main.place(task), before)
    found = _gather(main, place, task, attempt_id, commits=settings.commit)
    if place.base is None:
        return found
    clone = TaskClone(path=str(place.path), branch=place.branch, base=place.base)
    return replace(found, clone=clone)


def _with_base_of(main: MainCheckout, place: Place, before: Task | None) -> Place:
    """Return the place with the base that was on record when the attempt began, if one was.

    Told against a base that its agent has moved, a part of its work would be seen by nobody.
    """
    if before is None or before.clone is UNSET:
        return place
    if view_of(main.repository.top).commit_of(before.clone.base) is None:
        return place
    return replace(place, base=before.clone.base)


def _gather(
    main: MainCheckout, place: Place, task: Task, attempt_id: str, *, commits: bool
) -> Gathered:
    with locked_place(place, timeout_seconds=LOCK_SECONDS):
        mark = own_mark(place)
        if mark is None:
            return Gathered(warnings=(f"its clone is not at {place.path} any more",))
        if mark.stage != Stage.WHOLE:  # no agent was in it: what lies there is a setup's
            return Gathered()
        warnings: list[str] = []
        base = mark.base if place.base is None else place.base
        facts = place.facts(base)
        if commits:
            left = commit_leftovers(
                facts, main.repository, task=task.id, attempt=attempt_id, withheld=mark.copied
            )
            warnings += _warnings_of(left, place.path)
        brought = bring_back(facts, main.repository)
        if brought is None:
            return Gathered(warnings=(*warnings, f"its clone has no branch {place.branch}"))
        if brought.is_rewritten:
            warnings.append(f"its agent has rewritten {place.branch}")
        return _change_of(main, place, base, warnings)


def _change_of(main: MainCheckout, place: Place, base: str, warnings: list[str]) -> Gathered:
    branch = main.project.branch
    project = main.repository.branch if branch is UNSET else branch
    change = task_change(main.repository, place.facts(base), project)
    if change.state_files:
        warnings.append(
            f"left out of its change, for it is sow's own: {_named(change.state_files)}"
        )
    if change.steers:
        warnings.append(f"its change steers agents or machines: {_named(change.steers)}")
    return Gathered(tuple(map(_text, change.files)), tuple(warnings))


def _warnings_of(left: Leftovers, clone: Path) -> list[str]:
    """Return in words what of an agent's work was not committed."""
    found = []
    for untaken in left.untaken:
        if untaken.reason == COPIED:
            continue  # as it is meant to be
        files = f": {_named(untaken.paths)}" if untaken.paths else ""
        found.append(f"not committed in {clone}{files} ({untaken.reason})")
    return found


def _named(paths: tuple[str, ...]) -> str:
    rest = len(paths) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(map(_text, paths[:MOST_NAMED])) + more


def _text(name: str) -> str:
    """Return what may hold a file's name as text; bytes that are no UTF-8 become a sign for that.

    No record can hold them: a job with such a warning could never be settled.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _not_gathered(error: SowError) -> str:
    return _text(f"its work was not brought into the repository: {error.message}")
