"""What a file of tasks would change of a project: new tasks, changed ones, and those left alone.

Pure: the tasks as they stand come in, a plan or the first fault comes out. A
field that the file leaves out stays as it is. A task that has begun is never
changed; the plan names what the file has otherwise of it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from sow.ids import TaskId
from sow.lifecycle.circles import behind_circles
from sow.schema.references import with_references
from sow.schema.task import Task
from sow.schema.task_entry import TaskEntry
from sow.state.bulk.entries import GivenTasks
from sow.state.bulk.names import name_tasks, named
from sow.state.dependencies import way_back

STATE_FIELDS = {"agent": "assigned_agent"}
"""What a field of an entry is called in the task's state, where it is called otherwise."""


@dataclass(frozen=True)
class Standing:
    """One task as it stands."""

    task: Task
    description: str


@dataclass(frozen=True)
class Known:
    """The names that a task may use."""

    agents: Collection[str]
    phases: Collection[str]
    checks: Callable[[], Collection[str]]
    """Asked where the file names a check."""
    references: Callable[[], Collection[str]]
    """The ids; asked where the file names a reference."""
    may_make_phases: bool = False


@dataclass(frozen=True)
class Planned:
    """What becomes of one task of the file."""

    task_id: TaskId
    entry: TaskEntry
    before: Standing | None
    """None of a new task."""
    phase: str
    depends_on: tuple[TaskId, ...] | None
    changes: Mapping[str, object] = field(default_factory=dict)
    """The fields that the file has otherwise, by their names there."""

    @property
    def is_kept(self) -> bool:
        """Whether it has begun, and stays as it is though the file has it otherwise."""
        return self.before is not None and self.before.task.has_begun and bool(self.changes)

    @property
    def is_changed(self) -> bool:
        """Whether it is there, has not begun, and the file has it otherwise."""
        return self.before is not None and bool(self.changes) and not self.is_kept


def plan_import(
    given: GivenTasks, standing: Sequence[Standing], known: Known, used: Collection[str] = ()
) -> list[Planned]:
    """Return what becomes of each task of the file, in its order. Raises InvalidEntry.

    `used` are ids that no new task gets.
    """
    by_id = {TaskId(each.task.id): each for each in standing}
    ids = name_tasks(given, [each.task for each in standing], used)
    by_key = {
        each.task.key: TaskId(each.task.id) for each in standing if each.task.key is not UNSET
    }
    for entry, task_id in zip(given.entries, ids, strict=True):
        if entry.key is not None:
            by_key[entry.key] = task_id
    known_ids = {*by_id, *ids}
    planned = []
    for index, (entry, task_id) in enumerate(zip(given.entries, ids, strict=True)):
        depends_on = _dependencies(given, index, task_id, by_key, known_ids)
        planned.append(
            _planned(given, index, entry, by_id.get(task_id), task_id, depends_on, known)
        )
        _refuse_unknown(given, index, planned[-1], known)
    _refuse_circles(given, planned, by_id)
    return planned


def _dependencies(
    given: GivenTasks,
    index: int,
    task_id: TaskId,
    by_key: Mapping[str, TaskId],
    known_ids: Collection[TaskId],
) -> tuple[TaskId, ...] | None:
    """Return the ids of what a task of the file waits for; None where it does not say."""
    words = given.entries[index].depends_on
    if words is None:
        return None
    found: list[TaskId] = []
    for number, word in enumerate(words):
        other = by_key.get(word) or (TaskId(word) if word in known_ids else None)
        if other is None:
            raise given.fault(
                *(index, "depends_on", number),
                reason=f"no task has the key or the id {word!r}",
                remedy=_nearest(word, [*by_key, *known_ids]),
            )
        if other == task_id:
            raise given.fault(
                *(index, "depends_on", number),
                reason=f"{word!r} is the task itself, and a task cannot wait for itself",
                remedy="Remove it.",
            )
        found.append(other)
    return tuple(dict.fromkeys(found))


def _nearest(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # heavy, and for an error's hint alone

    near = get_close_matches(word, known, n=1, cutoff=0.5)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    return (
        f"{guess}Use a key from the file or the project; `sow task export` prints the"
        " project's keys."
    )


def _planned(
    given: GivenTasks,
    index: int,
    entry: TaskEntry,
    before: Standing | None,
    task_id: TaskId,
    depends_on: tuple[TaskId, ...] | None,
    known: Known,
) -> Planned:
    if before is None:
        for name in ("name", "agent"):
            if getattr(entry, name) is None:
                raise given.fault(
                    index,
                    reason=f"a new task needs the key {name!r}",
                    remedy=f"Write `{name}` for {named(entry)}.",
                )
        phase = entry.phase or next(iter(known.phases))
        return Planned(task_id, entry, None, phase, depends_on)
    changes = _changes(entry, before, depends_on)
    if "phase" in changes and not before.task.has_begun:
        raise given.fault(
            *(index, "phase"),
            reason=f"task {task_id} is in the phase {before.task.phase} and cannot change it",
            remedy=f"To move it: `sow task remove {task_id}`, then import the file again.",
        )
    return Planned(task_id, entry, before, before.task.phase, depends_on, changes)


def _changes(
    entry: TaskEntry, before: Standing, depends_on: tuple[TaskId, ...] | None
) -> dict[str, object]:
    """Return the fields of a task that the file has otherwise, with what it has."""
    task = before.task
    wanted: dict[str, object] = {
        "key": entry.key,
        "name": entry.name,
        "agent": entry.agent,
        "phase": entry.phase,
        "depends_on": None if depends_on is None else list(depends_on),
        "checks": None if entry.checks is None else list(dict.fromkeys(entry.checks)),
        "requires": None if entry.requires is None else list(dict.fromkeys(entry.requires)),
        "references": None
        if entry.references is None
        else with_references(task.references, entry.references),
        "priority": entry.priority,
    }
    absent = {"checks": [], "requires": [], "priority": 0}
    changes = {}
    for name, value in wanted.items():
        there = getattr(task, STATE_FIELDS.get(name, name))
        if value is not None and value != (absent.get(name) if there is UNSET else there):
            changes[name] = value
    if entry.description is not None and text_of(entry.description) != text_of(before.description):
        changes["description"] = text_of(entry.description)
    return changes


def text_of(description: str) -> str:
    """Return a description as its file holds it: it ends with one line's end."""
    return f"{description.rstrip()}\n"


def _refuse_unknown(given: GivenTasks, index: int, planned: Planned, known: Known) -> None:
    """Refuse names of no agent, phase, check or reference, where a task is to have them anew."""
    entry = planned.entry
    anew = {"agent", "phase", "checks", "references"}
    wanted = set(planned.changes) if planned.before else anew
    if planned.is_kept:
        return
    if "agent" in wanted and entry.agent not in known.agents:
        raise given.fault(
            *(index, "agent"),
            reason=f"unknown agent: {entry.agent}",
            remedy=f"There are: {', '.join(known.agents)}.",
        )
    if planned.phase not in known.phases and not known.may_make_phases:
        raise given.fault(
            *(index, "phase"),
            reason=f"the project has no phase {planned.phase}",
            remedy=f"It has: {', '.join(known.phases)}. `--new-phase` creates a new phase.",
        )
    for number, check in enumerate(entry.checks or () if "checks" in wanted else ()):
        checks = known.checks()
        if check not in checks:
            raise given.fault(
                *(index, "checks", number),
                reason=f"no such check: {check}",
                remedy=f"The checks of .sow/config.yaml are: {', '.join(checks) or 'none so far'}.",
            )
    for number, name in enumerate(entry.references or () if "references" in wanted else ()):
        references = known.references()
        if name not in references:
            there = f"There are: {', '.join(references)}." if references else "There is none yet."
            raise given.fault(
                *(index, "references", number),
                reason=f"no such reference: {name}",
                remedy=f"{there} `sow refs add` adds one.",
            )


def _refuse_circles(
    given: GivenTasks, planned: Sequence[Planned], standing: Mapping[TaskId, Standing]
) -> None:
    """Refuse dependencies that lead back to where they began, and name the way."""
    waits: dict[str, Sequence[str]] = {
        task_id: tuple(each.task.depends_on) for task_id, each in standing.items()
    }
    names = {each.task_id: each.entry.key or each.task_id for each in planned}
    for each in planned:
        if each.depends_on is not None and not each.is_kept:
            waits[each.task_id] = each.depends_on
    caught = behind_circles(waits)
    for index, each in enumerate(planned):
        if each.task_id not in caught or not each.depends_on:
            continue
        way = way_back(each.task_id, lambda task_id: waits.get(task_id, ()))
        if way:
            raise given.fault(
                *(index, "depends_on"),
                reason="it would wait for itself: "
                + " → ".join(names.get(TaskId(step), step) for step in way),
                remedy="Remove one of these dependencies.",
            )
