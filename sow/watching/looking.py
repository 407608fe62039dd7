"""The looks of the live view: what is read again when, so that a look costs little.

Owns the connection to the queue's file. The number of the newest change decides whether the
records are read again; files that were edited by hand, and what agents have used, are looked at
less often. Writes nothing.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from sow.errors import SowError
from sow.git.checked_out import branch_at
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import batches, changes, jobs, spending
from sow.jobs.changes import Cursor
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.faults import QueueChanged
from sow.jobs.hosts import where_attempts_ran
from sow.jobs.workers import shortage_of
from sow.paths import Workspace
from sow.reports.agents_words import questions_of
from sow.reports.live_job_words import silent_view
from sow.reports.prospects import Staff, look_at_staff
from sow.schema.job import Job
from sow.schema.project import Project
from sow.schema.spending import By, Used
from sow.schema.task import Task
from sow.situation.doing import doing_of
from sow.situation.situation import Doing
from sow.state.places import all_places, has_project
from sow.state.projects import read_project
from sow.state.status_notes import size_of_notes, version_of
from sow.state.tasks import read_task_at
from sow.state.waiting import Among
from sow.terminal_text import printable
from sow.watching.records import Records
from sow.watching.rows import Found, groups_of
from sow.watching.snapshot import Crew, Snapshot

LOOK_SECONDS = 2.0
"""How often files and sums are looked at where no record has changed, at most."""
DOING_SECONDS = 1.0
"""How often is looked for what the jobs do that are on the screen, at most."""
MOST_LOOKING = 100
"""A look is followed by at least so many times its own length without one: 1 % of a core."""
NOT_LOOKED = Snapshot(title="")


class Files:
    """What the last reading has found."""

    def __init__(self, workspace: Workspace) -> None:
        self.project: Project | None = None
        self.among = Among(())
        self.faults: Sequence[str] = ()
        """What could not be read, a sentence each."""
        self._workspace = workspace
        self._version = ""
        self._tasks: dict[TaskId, tuple[str, Task]] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that can be read, by id."""
        return list(self.among.tasks.values())

    def read(self) -> None:
        """Read what has changed. Raises nothing."""
        faults: list[str] = []
        try:
            self._read_project()
            if self.project is not None:
                faults += self._read_tasks()
            else:
                self._tasks = {}
        except (SowError, OSError) as error:
            faults.append(words_of(error))
        self.among = Among(task for _, task in self._tasks.values())
        self.faults = faults

    def _read_project(self) -> None:
        if not has_project(self._workspace):
            self.project = None
            return
        version = _version(self._workspace.project_state)
        if self.project is None or version != self._version or not version:
            self.project, self._version = read_project(self._workspace), version

    def _read_tasks(self) -> Iterator[str]:
        """Read the tasks whose file has changed; yield what is wrong with others."""
        found: dict[TaskId, tuple[str, Task]] = {}
        for place in all_places(self._workspace):
            version = _version(place.state)
            before = self._tasks.get(place.task_id)
            if before is not None and before[0] == version and version:
                found[place.task_id] = before
                continue
            try:
                found[place.task_id] = version, read_task_at(place)
            except (SowError, OSError) as error:
                yield words_of(error)
        self._tasks = found


def words_of(error: SowError | OSError) -> str:
    """Return what is wrong, on one line."""
    return printable(error.message if isinstance(error, SowError) else str(error))


def _version(path: Path) -> str:
    try:
        return version_of(path)
    except OSError:
        return ""


class Signs(NamedTuple):
    """By what a look tells that the records have changed since the last."""

    newest: Cursor
    notes: int
    """How many bytes of notes on statuses there are."""
    crew: Crew


class Looks:
    """One look after another at a workspace; a thread waits while another one looks."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float]) -> None:
        self._workspace = workspace
        self._clock = clock
        self._lock = threading.RLock()
        self._database: Database | None = None
        self._signs: Signs | None = None
        self._again_at = self._doing_at = 0.0
        self._records = Records()
        self._files = Files(workspace)
        self.last = NOT_LOOKED
        """What the last look has found."""

    def look(self) -> Snapshot | None:
        """Return how things stand; None where that is as the last look has found it."""
        with self._lock:
            return self._look(time.monotonic())

    def _look(self, began: float) -> Snapshot | None:
        try:
            signs = self._read_signs()
        except (SowError, OSError) as error:
            found = self._without_queue(error)
        else:
            if signs == self._signs and began < self._again_at:
                return None
            found = self._with_queue(signs, began)
        if found == self.last:
            return None
        self.last = found
        return found

    def doing(self, wanted: Iterable[int]) -> Mapping[int, Doing] | None:
        """Return what some jobs do or wait for now, as far as they live.

        None where the last look was only just now, or where the records cannot be read.
        """
        with self._lock:
            return self._doing(wanted, time.monotonic())

    def _doing(self, wanted: Iterable[int], began: float) -> Mapping[int, Doing] | None:
        database = self._database
        if database is None or began < self._doing_at:
            return None
        records = self._records.live
        live = [records[JobId(number)] for number in wanted if number in records]
        try:
            found = doing_of(self._workspace, database, live, self._clock())
        except SowError:  # the next look says what is wrong with the file
            return None
        self._doing_at = began + max(DOING_SECONDS, (time.monotonic() - began) * MOST_LOOKING)
        return {int(number): doing for number, doing in found.items()}

    def job(self, number: int | None) -> Job | None:
        """Return a job's record; None where there is none, or where it cannot be read."""
        with self._lock:
            if number is None or self._database is None:
                return None
            try:
                return jobs.get_job(self._database, JobId(number))
            except SowError:
                return None

    def elsewhere(self, job: Job) -> str | None:
        """Return the host that had a job's last attempt, and so its output; None if it is here."""
        with self._lock:
            if self._database is None or not self._database.is_shared:
                return None
            try:
                ran = [*where_attempts_ran(self._database, job.id).values()]
            except SowError:
                return None
            return ran[-1].host if ran and ran[-1].is_elsewhere else None

    def close(self) -> None:
        """Close the queue's file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _without_queue(self, error: SowError | OSError) -> Snapshot:
        """Return how things stood, and what is wrong with the queue; the next look tries again."""
        if isinstance(error, QueueChanged):
            self.close()  # the next look opens the file that is there by then
        self._signs, self._again_at = None, 0.0
        if self.last is NOT_LOOKED:
            self._files.read()
            self.last = self._of_records(None)
        faults = (*self._files.faults, words_of(error))
        return replace(self.last, faults=faults)

    def _with_queue(self, signs: Signs | None, began: float) -> Snapshot:
        is_noted = signs is None or self._signs is None or signs.notes != self._signs.notes
        if is_noted or began >= self._again_at:
            self._files.read()
            took = time.monotonic() - began
            self._again_at = began + max(LOOK_SECONDS, took * MOST_LOOKING)
        self._signs = signs
        try:
            return self._of_records(signs)
        except SowError as error:
            return self._without_queue(error)

    def _read_signs(self) -> Signs | None:
        if self._database is None:
            self._database = open_existing_queue(self._workspace)
        database = self._database
        if database is None:
            return None
        return Signs(
            changes.newest(database),
            size_of_notes(self._workspace),
            _crew(look_at_staff(self._workspace, database), self._clock()),
        )

    def _of_records(self, signs: Signs | None) -> Snapshot:
        """Return how things stand by the files and the queue's records. Raises QueueError."""
        files, database = self._files, self._database
        project = ProjectId(files.project.id if files.project else "")
        found = Found(
            tasks=files.tasks,
            among=files.among,
            phases=files.project.phases if files.project else (),
            project=project,
        )
        if signs is None or database is None:
            return self._snapshot(found, None, None)
        records = self._records
        tasks = [TaskId(task.id) for task in files.tasks]
        records.read_on(database, project, tasks, signs.newest, at=time.monotonic())
        now = self._clock()
        total, used = spending.used_in_project(database, project, By.TASK, now=now, since=0.0)
        going_on = batches.going_on(database, project)
        found = replace(
            found,
            live=list(records.live.values()),
            last=records.last,
            attempts=records.attempts,
            used={each.key: each for each in used},
            batches=[(batch, batches.items_of(database, batch.id)) for batch in going_on],
            words=questions_of(self._workspace, files.tasks, records.last),
        )
        return self._snapshot(found, total, signs.crew)

    def _snapshot(self, found: Found, total: Used | None, crew: Crew | None) -> Snapshot:
        return Snapshot(
            title=self._title(self._files.project),
            crew=crew or Crew(),
            tokens=(total.tokens or None) if total else None,
            usd=total.usd if total else None,
            is_estimate=bool(total and total.estimated_usd),
            groups=tuple(groups_of(found)),
            faults=tuple(self._files.faults),
        )

    def _title(self, project: Project | None) -> str:
        branch = branch_at(self._workspace.root) or ""
        on = f", on {printable(branch)}" if branch else ""
        if project is None:
            return f"no project{on}"
        return f"{printable(project.name)}: {project.kind.value}, {project.standing}{on}"


def _crew(staff: Staff, now: float) -> Crew:
    return Crew(
        workers=staff.workers,
        taken=sum(count for name, count in staff.taken.items() if name),
        slots=max((record.concurrency for record in staff.alive), default=0),
        checks=staff.taken.get("", 0),
        paused_since=staff.paused_since or "",
        short_of=printable(shortage_of(staff.alive)),
        hosts=sum(host.is_heard for host in staff.hosts),
        silent=[silent_view(host, now) for host in staff.hosts if host.is_silent],
    )
