"""Where a report's facts come from: the queue's file, the tasks' files, their logs and branches.

Changes nothing. What cannot be read is told in a note, and hides nothing else.
"""

from collections.abc import Mapping, Sequence

from sow.errors import SowError
from sow.files import NotAFile
from sow.jobs import batches
from sow.jobs.database import Database
from sow.jobs.records import DamagedRecord
from sow.jobs.report_queries import JobRecords, read_records
from sow.paths import Workspace
from sow.schema.batch import Batch
from sow.schema.output.report import LogNote
from sow.schema.task import Task
from sow.state.places import TaskPlace
from sow.state.task_log import read_entries
from sow.timeline.changed_files import stats_of
from sow.timeline.report_facts import Facts, Log
from sow.timeline.shown_project import ShownProject

MOST_ENTRIES = 30
"""Of a longer log the last so many entries are told; `sow task log` has them all."""
LONGEST_TEXT = 2000
"""Of a longer text, in characters, the beginning is told."""
MOST_TEXT = 2_000_000
"""When so many characters of logs were told, the other tasks' entries are told without text."""
NOTHING = JobRecords(jobs=(), attempts={}, changes=(), used={}, costs={}, total=None, left_out=0)


def gather(
    workspace: Workspace,
    database: Database | None,
    shown: ShownProject,
    batch: Batch | None,
    *,
    now: float,
) -> Facts:
    """Return all that a report of a batch or of a project is made of. Raises QueueError."""
    notes: list[str] = []

    def tell(error: DamagedRecord) -> None:
        notes.append(error.message)

    found, items, made = NOTHING, frozenset[str](), dict[int, float]()
    if database is not None:
        made = batches.beginnings(database, shown.id)
        number = batch.id if batch is not None else None
        found = read_records(database, shown.id, number, now=now, on_damaged=tell)
        if batch is not None:
            items = frozenset(item.task_id for item in batches.items_of(database, batch.id))
    notes += [fault.message for fault in shown.faults]
    wanted = [task for task in shown.tasks if batch is None or task.id in items]
    return Facts(
        project_id=shown.id,
        project_name=shown.name,
        batch=batch,
        items=items,
        batches=made,
        tasks=shown.tasks,
        records=found,
        logs=_logs(shown.places, [task.id for task in wanted], notes),
        stats=_stats(workspace, shown, wanted, notes),
        notes=tuple(dict.fromkeys(notes)),
        now=now,
    )


def _logs(
    places: Sequence[TaskPlace], wanted: Sequence[str], notes: list[str]
) -> Mapping[str, Log]:
    """Return the end of each task's log."""
    logs: dict[str, Log] = {}
    asked = set(wanted)
    room = MOST_TEXT
    for place in places:
        if place.task_id not in asked:
            continue
        try:
            entries = read_entries(place.log)
        except NotAFile as error:
            notes.append(error.message)
            continue
        kept = entries[-MOST_ENTRIES:]
        notes_of = []
        for entry in kept:
            text = _cut(entry.text) if room > 0 else ""
            room -= len(text) + len(entry.action)
            notes_of.append(
                LogNote(
                    at=entry.timestamp,
                    agent=entry.agent,
                    action=_cut(entry.action),
                    result=_cut(entry.result),
                    text=text,
                )
            )
        logs[place.task_id] = Log(tuple(notes_of), len(entries) - len(kept))
    return logs


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} …"


def _stats(
    workspace: Workspace, shown: ShownProject, tasks: Sequence[Task], notes: list[str]
) -> Mapping[str, str]:
    """Return what each task has changed, where it has a branch of its own."""
    if shown.project is None:
        return {}
    try:
        return stats_of(workspace, shown.project, tasks)
    except (SowError, OSError) as error:
        notes.append(f"what tasks have changed cannot be told: {error}")
        return {}
