"""An import, step by step: complete what was killed, lock, plan, put on record, write.

Owns the order. What is planned is `plan`'s; how it survives a kill, `journal`'s.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import NotAFile, NotWritten, locked_folder, read_regular
from sow.ids import TaskId, parse_phase
from sow.paths import Workspace
from sow.schema.references import PREFIX
from sow.schema.task import TaskState
from sow.state import task_folder
from sow.state.bulk import journal
from sow.state.bulk.entries import GivenTasks
from sow.state.bulk.journal import ChangedTask, Journal, NewTask
from sow.state.bulk.plan import STATE_FIELDS, Known, Planned, Standing, plan_import, text_of
from sow.state.places import DESCRIPTION_LIMIT
from sow.state.projects import read_project
from sow.state.statefiles import read_bytes, rewritten
from sow.state.tasks import TaskPlace, all_places, read_task_at
from sow.state.used_ids import ids_with_clones


class NotCompleted(StateError):
    """An import has happened, but not all of it could be written yet."""

    def __init__(self, error: NotWritten) -> None:
        super().__init__(
            f"the import was recorded, but its files could not be written: {error.message}",
            hint=f"{error.hint} The next sow command that reads tasks continues the import.",
        )


def import_tasks(
    workspace: Workspace, given: GivenTasks, known: Known, *, now: float
) -> list[Planned]:
    """Add and change the tasks of a file, all or none; return what became of each.

    Raises InvalidEntry, NoProject, StateLocked, NotWritten, and what is wrong with a task that
    cannot be read: nothing is changed then. Raises NotCompleted.
    """
    with locked_folder(workspace.project), ExitStack() as stack:
        _complete_earlier(workspace)
        places, used = all_places(workspace), ids_with_clones(workspace)
        planned = plan_import(given, _standing(places), known, used)
        folders = [_place(places, each.task_id).folder for each in planned if each.is_changed]
        journal.lock_tasks(stack, folders)
        planned = plan_import(given, _standing(places), known, used)
        written = _journal(workspace, planned, places, now)
        if written.new or written.changed:
            journal.begin(workspace, written)
            try:
                journal.complete(workspace)
            except NotWritten as error:
                raise NotCompleted(error) from error
        return planned


def _complete_earlier(workspace: Workspace) -> None:
    journal.complete(workspace)
    if workspace.import_journal.exists():
        path = workspace.import_journal
        raise StateError(
            f"{path} was left by an interrupted import into another project",
            hint="Check that project's branch out and run `sow task list`, which completes the"
            " import. Or remove the file.",
        )


def _standing(places: Sequence[TaskPlace]) -> list[Standing]:
    return [Standing(read_task_at(place), description_at(place)) for place in places]


def description_at(place: TaskPlace) -> str:
    """Return a task's description; empty where it has none that can be read."""
    try:
        return read_regular(place.description, DESCRIPTION_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except NotAFile as error:
        if passing_fault(error) is not None:
            raise
        return ""


def _place(places: Sequence[TaskPlace], task_id: TaskId) -> TaskPlace:
    return next(place for place in places if place.task_id == task_id)


def _journal(
    workspace: Workspace, planned: Sequence[Planned], places: Sequence[TaskPlace], now: float
) -> Journal:
    new = [_new(workspace, each, now) for each in planned if each.before is None]
    changed = [_changed(each, _place(places, each.task_id)) for each in planned if each.is_changed]
    return Journal(
        project=read_project(workspace).id,
        at=now,
        phases=list(dict.fromkeys(each.phase for each in new)),
        new=new,
        changed=changed,
    )


def _new(workspace: Workspace, planned: Planned, now: float) -> NewTask:
    entry, phase = planned.entry, parse_phase(planned.phase)
    files = task_folder.first_files(
        workspace.task(phase, planned.task_id),
        task_id=planned.task_id,
        phase=phase,
        name=entry.name or "",
        agent=entry.agent or "",
        now=now,
        description=text_of(entry.description) if entry.description else "",
        depends_on=planned.depends_on or (),
        checks=entry.checks or (),
        requires=entry.requires or (),
        references=[f"{PREFIX}{each}" for each in entry.references or ()],
        key=entry.key,
        priority=entry.priority or None,
    )
    texts = {name: data.decode() for name, data in files.items()}
    return msgspec.convert({"id": planned.task_id, "phase": phase, "files": texts}, NewTask)


def _changed(planned: Planned, place: TaskPlace) -> ChangedTask:
    """Return what is to be changed, proven to fit the task's file. Raises RefusedChange."""
    changes = dict(planned.changes)
    description = changes.pop("description", None)
    fields = {STATE_FIELDS.get(name, name): value for name, value in changes.items()}
    text = read_bytes(place.state)
    keyed: dict[tuple[str, ...], object] = {("task", name): fields[name] for name in fields}
    rewritten(place.state, text, keyed, TaskState)
    changed = {"id": planned.task_id, "phase": place.phase, "changes": fields}
    return msgspec.convert({**changed, "description": description}, ChangedTask)
