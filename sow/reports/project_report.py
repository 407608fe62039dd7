"""What a project has come to, as Markdown for whoever is asked to take its branch in.

Owns what stands in it. Names and descriptions are others' words: none of them mentions anybody on
GitHub or closes an issue there.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import UNSET, Struct

from sow.errors import SowError
from sow.github.quoting import fitting, inert
from sow.lifecycle.stages import WHOLE_PHASE, ProjectType
from sow.schema.project import Project
from sow.schema.task import Task, TaskState, TaskStatus
from sow.state.artifacts import Side, listed
from sow.state.statefiles import parse_state, read_bytes

MOST_TASKS = 100


class Reported(Struct, frozen=True):
    """A project that has come to its end, and its tasks."""

    project: Project
    tasks: Sequence[Task]
    place: str | None
    """Where it lies in the archive, from the root; None while it is the present one."""


def report_of(found: Reported, closes: Sequence[int]) -> str:
    """Return the report. `closes` are the issues that are done with it."""
    return fitting("\n".join(_lines(found, closes)))


def tasks_in(folder: Path) -> list[Task]:
    """Return the tasks in the folder of a project that were its work: no review of the whole.

    One that cannot be read is left out.
    """
    tasks: list[Task] = []
    for path in sorted(folder.glob("phases/*/tasks/*/state.yaml")):
        with suppress(SowError):
            tasks.append(parse_state(read_bytes(path), TaskState, path=path).task)
    counted = (task for task in tasks if task.phase != WHOLE_PHASE)
    return sorted(counted, key=lambda task: task.id)


def _lines(found: Reported, closes: Sequence[int]) -> Iterator[str]:
    project = found.project
    described = project.description if isinstance(project.description, str) else ""
    for line in described.splitlines():
        yield inert(line)
    if described:
        yield ""
    is_plan = project.kind is ProjectType.BREAKDOWN
    yield from _units(found.tasks) if is_plan else _tasks(found.tasks)
    yield from _documents(found)
    yield from _judged(project)
    if closes:
        yield ", ".join(f"closes #{number}" for number in closes).capitalize() + "."
        yield ""
    if found.place is not None:
        yield f"The project's tasks, logs and feedback lie in `{found.place}`."


def _tasks(tasks: Sequence[Task]) -> Iterator[str]:
    if not tasks:
        return
    yield from ("## What was done", "", "| task | name | role | status |", "|---|---|---|---|")
    for task in tasks[:MOST_TASKS]:
        yield f"| {task.id} | {inert(task.name)} | {inert(task.assigned_agent)} | {task.status} |"
    yield ""
    if len(tasks) > MOST_TASKS:
        yield from (f"And {len(tasks) - MOST_TASKS} more.", "")
    left = [task.id for task in tasks if task.status not in _DONE]
    if left:
        yield from (f"Not done: {', '.join(left)}.", "")


def _units(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield what a breakdown has planned: its units are there to be done by others."""
    units = [task for task in tasks if task.status is not TaskStatus.ABANDONED]
    if not units:
        return
    yield from (
        "## The work units",
        "",
        "| unit | name | role | comes after |",
        "|---|---|---|---|",
    )
    for unit in units[:MOST_TASKS]:
        first = ", ".join(unit.depends_on)
        yield f"| {unit.id} | {inert(unit.name)} | {inert(unit.assigned_agent)} | {first} |"
    yield ""
    if len(units) > MOST_TASKS:
        yield from (f"And {len(units) - MOST_TASKS} more.", "")


_DONE = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def _documents(found: Reported) -> Iterator[str]:
    outputs = listed(found.project, Side.OUTPUT)
    if not outputs:
        return
    yield from ("## Documents", "")
    for output in outputs:
        approved = "" if output.approved is UNSET else f", approved by {inert(output.approved.by)}"
        path = output.path
        if found.place is not None and path.startswith(".sow/project/"):
            path = f"{found.place}/{path.removeprefix('.sow/project/')}"
        yield f"- {inert(path)} ({output.type}{approved})"
    yield ""


def _judged(project: Project) -> Iterator[str]:
    if project.review is UNSET and project.check is UNSET:
        return
    yield from ("## Judged", "")
    if project.review is not UNSET:
        review = project.review
        summary = f": {inert(review.summary)}" if review.summary else ""
        yield f"- The whole: {review.verdict}, by {inert(review.by)}{summary}"
    if project.check is not UNSET:
        names = f" ({', '.join(project.check.names)})" if project.check.names else ""
        yield f"- Checks: {'passed' if project.check.passed else 'failed'}{names}"
    yield ""
