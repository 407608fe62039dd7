"""Tasks: found, read, added and changed.

Owns the steps of each change of a task and what must hold between tasks: ids
unique across phases, dependencies that exist and close no circle. Which status
may follow which is `state.transitions`; which field takes what text is
`state.fields`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sow.clock import format_time, utc_now
from sow.errors import StateError
from sow.files import locked_folder
from sow.ids import PhaseName, TaskId, parse_phase, parse_task_id
from sow.paths import Workspace
from sow.plain_record import PlainRecord
from sow.schema.task import Task, TaskState
from sow.state.authors import SOW, Author
from sow.state.dependencies import refuse_circle, refuse_unknown
from sow.state.due_entries import owed
from sow.state.kept.store import Kept, kept_at
from sow.state.log_writing import is_carried_out
from sow.state.places import TaskPlace, all_places, find_task
from sow.state.state_errors import Misplaced, UnknownPhase
from sow.state.statefiles import (
    Draft,
    drafted,
    effective,
    parse_state,
    read_bytes,
    rewrite_state,
)
from sow.state.status_entries import status_entry
from sow.state.status_notes import note_status
from sow.state.transitions import FieldChanges, moment
from sow.state.transitions import reopen as reopened
from sow.state.version import check_version

__all__ = [
    "TaskPlace",
    "add_task",
    "all_places",
    "change_task",
    "find_task",
    "list_tasks",
    "read_task",
    "read_task_at",
    "reopen",
    "scan_tasks",
    "set_dependencies",
]

ID_STEP = 10
MANY = 20
"""From so many tasks on it is quicker to ask whether their files have changed than to parse them.
"""

Change = Callable[[Task], Mapping[str, object]]
"""Given the task as it stands, returns new values by field (`metadata.KEY` for one), or raises."""


def read_task(workspace: Workspace, task_id: str, kept: Kept | None = None) -> Task:
    """Return the task; `kept` is where the copies lie, if the caller has looked that up.

    Takes no lock. Raises UnknownTask, InvalidState (file, line, key, reason), NewerState.
    """
    check_version(workspace)
    return _read(find_task(workspace, task_id), kept)


def _read(place: TaskPlace, kept: Kept | None = None) -> Task:
    return _parse(place, read_bytes(place.state, kept))


def _parse(place: TaskPlace, text: bytes) -> Task:
    task = parse_state(text, TaskState, path=place.state).task
    if task.id != place.task_id:
        raise Misplaced(place.state, "task.id", task.id, place.task_id)
    if task.phase != place.phase:
        raise Misplaced(place.state, "task.phase", task.phase, place.phase)
    return task


def read_task_at(place: TaskPlace) -> Task:
    """Return the task in a place that was found before. Raises what `read_task` does."""
    return _read(place)


def list_tasks(workspace: Workspace) -> list[Task]:
    """Return every task of the project by id. Raises the first of `scan_tasks`' errors."""
    tasks, errors = scan_tasks(workspace)
    if errors:
        raise errors[0]
    return tasks


def scan_tasks(workspace: Workspace) -> tuple[list[Task], list[StateError]]:
    """Return the tasks that can be read, by id, and what is wrong with the others.

    Raises NoProject, NewerState.
    """
    check_version(workspace)
    places, kept = all_places(workspace), kept_at(workspace.root)
    if kept is None or len(places) < MANY:
        return read_places(places, kept)
    return read_many(places, kept, now=utc_now())


def read_many(
    places: Sequence[TaskPlace], kept: Kept, *, now: float
) -> tuple[list[Task], list[StateError]]:
    """Do as `read_places`; files that are as they were when they were last read are not parsed."""
    # Of no use to a project with few tasks.
    from sow.state.task_cache import TaskCache, facts_at

    cache, tasks, errors = TaskCache(kept), list[Task](), list[StateError]()
    for place in places:
        task = cache.get(place)
        if task is None:
            before = facts_at(place)
            try:
                text = read_bytes(place.state, kept)
                task = _parse(place, text)
            except StateError as error:
                errors.append(error)
                continue
            cache.add(place, before, text, task, now=now)
        tasks.append(task)
    cache.save(places)
    return tasks, errors


def read_places(
    places: Iterable[TaskPlace], kept: Kept | None = None
) -> tuple[list[Task], list[StateError]]:
    """Return the tasks of some places that can be read, and what is wrong with the others.

    Raises NewerState.
    """
    tasks: list[Task] = []
    errors: list[StateError] = []
    for place in places:
        try:
            tasks.append(_read(place, kept))
        except StateError as error:
            errors.append(error)
    return tasks, errors


def change_task(
    workspace: Workspace,
    task_id: str,
    change: Change,
    *,
    now: float,
    then: Callable[[Task], None] = lambda _: None,
    by: Author = SOW,
    draft: Draft[TaskState] | None = None,
    kept: Kept | None = None,
) -> Task:
    """Change one task under its lock and return it as it then stands.

    `change` sees the task as it is under the lock; what it raises passes
    through. Values that are there already are not written, and `updated_at`
    moves only with another field. `then` gets the task as it stands
    afterwards, still under the lock: what it records is true of that moment.
    A new status, by whom, is told in the task's log. A report that comes a second time changes
    nothing. `draft` is what `draft_change` has returned, `kept` as for `read_task`.
    Raises what `read_task` does, StateLocked, RefusedChange and NotWritten;
    in every case the file is as it was.
    """
    with locked_task(workspace, task_id, kept) as locked:
        task = change_locked(workspace, locked, change, now=now, by=by, draft=draft)
        then(task)
        return task


class LockedTask(PlainRecord):
    """A task whose lock is held, as it stands."""

    place: TaskPlace
    text: bytes
    task: Task


@contextmanager
def locked_task(
    workspace: Workspace, task_id: str, kept: Kept | None = None
) -> Iterator[LockedTask]:
    """Hold the lock of a task, and give the task. Raises what `read_task` does, and StateLocked."""
    check_version(workspace)
    place = find_task(workspace, task_id)
    with locked_folder(place.folder):
        text = read_bytes(place.state, kept)
        yield LockedTask(place, text, _parse(place, text))


def change_locked(
    workspace: Workspace,
    locked: LockedTask,
    change: Change,
    *,
    now: float,
    by: Author = SOW,
    draft: Draft[TaskState] | None = None,
    is_noted: bool = False,
) -> Task:
    """Change a task whose lock is held, as `change_task` does; once.

    `is_noted` says that the new status is on record.
    """
    place, text, task = locked.place, locked.text, locked.task
    changes = {} if is_carried_out(place.folder, by) else _changes(task, change, now)
    if changes:
        entries = status_entry(task, changes, by, now=now)
        with owed(place.folder, entries, text, at=format_time(now)):
            task = rewrite_state(place.state, text, changes, TaskState, draft=draft).task
            if not is_noted:
                note_status(workspace, place.state, task, now=now)
    return task


def draft_change(
    workspace: Workspace, task_id: str, change: Change, *, now: float
) -> Draft[TaskState] | None:
    """Work out a change of one task before `change_task` makes it: that is quicker then.

    Takes no lock, and writes nothing but a file of its own, which goes with the change; where none
    is made the caller discards it (`discard_draft`). Where the task changes in between, or the
    second does, the draft is of no use. None where nothing would change. Raises what `read_task`
    and `change` do, RefusedChange and NotWritten.
    """
    check_version(workspace)
    place = find_task(workspace, task_id)
    text = read_bytes(place.state)
    changes = _changes(_parse(place, text), change, now)
    return drafted(place.state, text, changes, TaskState) if changes else None


def _changes(task: Task, change: Change, now: float) -> dict[tuple[str, ...], object]:
    """Return the new values of a task's file by key path; none where nothing changes."""
    changes = effective(task, change(task), key="task")
    if changes:
        changes[("task", "updated_at")] = moment(now)
    return changes


def add_task(
    workspace: Workspace,
    *,
    name: str,
    agent: str,
    now: float,
    task_id: str | None = None,
    phase: str | None = None,
    new_phase: bool = False,
    description: str = "",
    depends_on: Sequence[str] = (),
    checks: Sequence[str] = (),
    references: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> Task:
    """Add a pending task, its folder whole or not at all.

    Without `task_id` it takes the next multiple of ten; without `phase` the
    project's first; a phase that is new is added to the project's list, if
    `new_phase` asks for that. The agent's name, and those of the checks
    and references, are the caller's to look up. Raises StateError, UnknownPhase,
    RefusedDependency, RefusedChange, NoProject, StateLocked, NotWritten.
    """
    # Only a new task needs what makes a folder, and what changes a project.
    from sow.state import task_folder
    from sow.state.projects import add_phase, read_project
    from sow.state.used_ids import ids_with_clones

    project = read_project(workspace)
    with locked_folder(workspace.project):
        taken = {place.task_id: place for place in all_places(workspace)}
        used = ids_with_clones(workspace)
        chosen = parse_task_id(task_id) if task_id else next_id({*taken, *used})
        if chosen in taken:
            raise StateError(
                f"a task {chosen} exists already: {taken[chosen].folder}",
                hint="Leave out --id: sow then takes the next free one.",
            )
        if chosen in used:
            raise StateError(
                f"{chosen} was the id of a removed task whose clone still exists: a new task"
                " with that id would use this clone",
                hint="Leave out --id: sow then takes the next free one. `sow clone list` shows"
                " the clone of the removed task.",
            )
        refuse_unknown(chosen, depends_on, taken)
        wanted = parse_phase(phase or project.phases[0])
        if wanted not in project.phases and not new_phase:
            raise UnknownPhase(wanted, project.phases)
        folder = workspace.task(wanted, chosen)
        place = TaskPlace(PhaseName(folder.parent.parent.name), str(folder))
        files = task_folder.first_files(
            folder,
            task_id=chosen,
            phase=place.phase,
            name=name,
            agent=agent,
            now=now,
            description=description,
            depends_on=depends_on,
            checks=checks,
            references=references,
            metadata=metadata,
        )
        task_folder.build(folder, files)
        add_phase(workspace, place.phase, now=now)
        task = _parse(place, files[task_folder.STATE])
        note_status(workspace, place.state, task, now=now)
    return task


def next_id(taken: Iterable[str]) -> TaskId:
    """Return the next multiple of ten above all ids that are taken."""
    highest = max((int(task_id) for task_id in taken), default=0)
    return TaskId(f"{highest // ID_STEP * ID_STEP + ID_STEP:03d}")


def reopen(
    workspace: Workspace,
    task_id: str,
    *,
    now: float,
    check: Callable[[], None] = lambda: None,
    by: Author = SOW,
) -> Task:
    """Make a completed or abandoned task pending. Raises StateError and what `change_task` does.

    `check` is called under the task's lock, and raises where that must not be now.
    """

    def change(task: Task) -> FieldChanges:
        changes = reopened(task)
        if changes:
            check()
        return changes

    return change_task(workspace, task_id, change, now=now, by=by)


def set_dependencies(
    workspace: Workspace, task_id: str, depends_on: Sequence[str], *, now: float, by: Author = SOW
) -> Task:
    """Set what the task depends on, under the project's lock too: two changes make no circle.

    Raises RefusedDependency and what `change_task` does.
    """
    place = find_task(workspace, task_id)
    with locked_folder(workspace.project):
        taken = {other.task_id: other for other in all_places(workspace)}
        refuse_unknown(place.task_id, depends_on, taken)
        refuse_circle(place.task_id, depends_on, lambda other: _depends_on(taken.get(other)))
        ids = list(dict.fromkeys(depends_on))
        return change_task(workspace, task_id, lambda _: {"depends_on": ids}, now=now, by=by)


def _depends_on(place: TaskPlace | None) -> list[str]:
    """Return what the task at `place` waits for; nothing where its folder has gone."""
    return _read(place).depends_on if place else []
