"""The looks of the live view: what is read again when, so that a look costs little.

Owns the connection to the queue's file and what earlier looks have read of the tasks'
files. The number of the newest change decides whether the records are read again; files
that were edited by hand, and what agents have used, are looked at less often. Writes nothing.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from sow.errors import SowError
from sow.git.checked_out import branch_at
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import batches, changes, jobs, spending
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.faults import QueueChanged
from sow.jobs.overview import attempt_counts
from sow.jobs.workers import shortage_of
from sow.paths import Workspace
from sow.reports.agents_words import agents_words, words_without_job
from sow.reports.prospects import Staff, look_at_staff
from sow.schema.job import Job
from sow.schema.project import Project
from sow.schema.spending import By, Used
from sow.schema.task import Task, TaskStatus
from sow.situation.doing import doing_of
from sow.situation.situation import Doing
from sow.state.places import all_places, has_project
from sow.state.projects import read_project
from sow.state.status_notes import size_of_notes, version_of
from sow.state.tasks import read_task_at
from sow.state.waiting import Among
from sow.terminal_text import printable
from sow.watching.rows import Found, groups_of
from sow.watching.snapshot import Crew, Snapshot

LOOK_SECONDS = 2.0
"""How often files and sums are looked at where no record has changed, at most."""
DOING_SECONDS = 1.0
"""How often is looked for what the jobs do that are on the screen, at most."""
MOST_LOOKING = 100
"""A look is followed by at least so many times its own length without one: 1 % of a core."""
MOST_WORDS = 100
"""Of so many paused tasks the question is read."""

NOT_LOOKED = Snapshot(title="")

T = TypeVar("T")


class Signs(NamedTuple):
    """By what a look tells that the records have changed since the last."""

    newest: changes.Cursor
    notes: int
    """How many bytes of notes on statuses there are."""
    staff: Staff


class Looks:
    """One look after another at a workspace. Not for two threads at once."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float]) -> None:
        self._workspace = workspace
        self._clock = clock
        self._database: Database | None = None
        self._signs: Signs | None = None
        self._again_at = self._doing_at = 0.0
        self._live: Mapping[JobId, Job] = {}
        self._tasks: dict[TaskId, tuple[str, Task]] = {}
        self._project: tuple[str, Project] | None = None
        self.last = NOT_LOOKED
        """What the last look has found."""

    def look(self) -> Snapshot | None:
        """Return how things stand; None where that is as the last look has found it."""
        began = time.monotonic()
        faults: list[str] = []
        signs = self._or_fault(self._read_signs, faults)
        if not faults and signs == self._signs and began < self._again_at:
            return None
        if faults and self.last is not NOT_LOOKED:  # as it was, and what is wrong with the queue
            found, self._again_at = replace(self.last, faults=tuple(faults)), 0.0
        else:
            found = self._snapshot(signs, faults)
            took = time.monotonic() - began
            self._again_at = began + max(LOOK_SECONDS, took * MOST_LOOKING)
        self._signs = signs
        if found == self.last:
            return None
        self.last = found
        return found

    def doing(self, wanted: Iterable[int]) -> Mapping[int, Doing] | None:
        """Return what some jobs do or wait for now, as far as they live.

        None where the last look was only just now, or where the records cannot be read.
        """
        began, database = time.monotonic(), self._database
        if database is None or began < self._doing_at:
            return None
        live = [self._live[JobId(number)] for number in wanted if number in self._live]
        try:
            found = doing_of(self._workspace, database, live, self._clock())
        except SowError:  # the next look says what is wrong with the file
            return None
        self._doing_at = began + max(DOING_SECONDS, (time.monotonic() - began) * MOST_LOOKING)
        return {int(number): doing for number, doing in found.items()}

    def job(self, number: int | None) -> Job | None:
        """Return a job's record; None where there is none, or where it cannot be read."""
        if number is None or self._database is None:
            return None
        try:
            return jobs.get_job(self._database, JobId(number))
        except SowError:
            return None

    def close(self) -> None:
        """Close the queue's file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _or_fault(self, read: Callable[[], T], faults: list[str]) -> T | None:
        """Return what is read; where it cannot be, None, and what is wrong is noted."""
        try:
            return read()
        except SowError as error:
            if isinstance(error, QueueChanged):
                self.close()  # the next look opens the file that is there by then
            faults.append(printable(error.message))
            return None
        except OSError as error:
            faults.append(printable(str(error)))
            return None

    def _read_signs(self) -> Signs | None:
        if self._database is None:
            self._database = open_existing_queue(self._workspace)
        database = self._database
        if database is None:
            return None
        return Signs(
            changes.newest(database),
            size_of_notes(self._workspace),
            look_at_staff(self._workspace, database),
        )

    def _snapshot(self, signs: Signs | None, faults: list[str]) -> Snapshot:
        project = self._or_fault(self._read_project, faults)
        tasks = self._or_fault(lambda: self._read_tasks(faults), faults) if project else None
        found = Found(
            tasks=tasks or (),
            among=Among(tasks or ()),
            phases=project.phases if project else (),
            project=project.id if project else "",
        )
        total: Used | None = None
        if (database := self._database) is not None:
            read = self._or_fault(lambda: self._with_records(database, found), faults)
            found, total = read or (found, None)
        groups = groups_of(found)
        return Snapshot(
            title=self._title(project),
            crew=_crew(signs.staff) if signs is not None else Crew(),
            tokens=_tokens(total),
            usd=total.usd if total else None,
            is_estimate=bool(total and total.estimated_usd),
            groups=tuple(groups),
            faults=tuple(faults),
        )

    def _title(self, project: Project | None) -> str:
        branch = branch_at(self._workspace.root) or ""
        on = f", on {printable(branch)}" if branch else ""
        if project is None:
            return f"no project{on}"
        return f"{printable(project.name)}: {project.kind.value}, {project.standing}{on}"

    def _read_project(self) -> Project | None:
        if not has_project(self._workspace):
            self._project = None
            return None
        version = _version(self._workspace.project_state)
        if self._project is None or self._project[0] != version or not version:
            self._project = version, read_project(self._workspace)
        return self._project[1]

    def _read_tasks(self, faults: list[str]) -> list[Task]:
        """Return the tasks; of those whose file has not changed, what was read before."""
        found: dict[TaskId, tuple[str, Task]] = {}
        for place in all_places(self._workspace):
            version = _version(place.state)
            before = self._tasks.get(place.task_id)
            if before is not None and before[0] == version and version:
                found[place.task_id] = before
            else:
                task = self._or_fault(partial(read_task_at, place), faults)
                if task is not None:
                    found[place.task_id] = version, task
        self._tasks = found
        return [task for _, task in found.values()]

    def _with_records(self, database: Database, found: Found) -> tuple[Found, Used]:
        """Return what was found together with the queue's records, and what all of it has used."""
        project = ProjectId(found.project)
        live = jobs.active_jobs(database)
        self._live = {job.id: job for job in live}
        last = jobs.last_jobs(database, project, [TaskId(task.id) for task in found.tasks])
        ids = {job.id for job in (*live, *last.values())}
        now = self._clock()
        total, used = spending.used_in_project(database, project, By.TASK, now=now, since=0.0)
        return Found(
            tasks=found.tasks,
            among=found.among,
            phases=found.phases,
            project=found.project,
            live=live,
            last=last,
            attempts=attempt_counts(database, sorted(ids)),
            used={each.key: each for each in used},
            batches=[
                (batch, batches.items_of(database, batch.id))
                for batch in batches.going_on(database, project)
            ],
            words=self._words(found.tasks, last),
        ), total

    def _words(self, tasks: Sequence[Task], last: Mapping[TaskId, Job]) -> dict[str, str]:
        """Return what the agents of paused tasks ask, in a line each."""
        words = {}
        for task in [task for task in tasks if task.status is TaskStatus.PAUSED][:MOST_WORDS]:
            job = last.get(TaskId(task.id))
            text = (
                words_without_job(self._workspace, task)
                if job is None
                else agents_words(self._workspace, job)
            )
            words[task.id] = (text or "").partition("\n")[0]
        return words


def _version(path: Path) -> str:
    try:
        return version_of(path)
    except OSError:
        return ""


def _crew(staff: Staff) -> Crew:
    return Crew(
        workers=staff.workers,
        taken=sum(count for name, count in staff.taken.items() if name),
        slots=max((record.concurrency for record in staff.alive), default=0),
        checks=staff.taken.get("", 0),
        paused_since=staff.paused_since or "",
        short_of=printable(shortage_of(staff.alive)),
    )


def _tokens(used: Used | None) -> int | None:
    if used is None:
        return None
    return used.input + used.output + used.cache_read + used.cache_write or None
