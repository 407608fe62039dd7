"""Jobs that are held, until their tasks' dependencies are met or their command lines accepted.

Owns both rules and their looks. A dependency is met that is completed, whose agent has
ended, and whose work is where the waiting agent will be: in the project's branch,
or in that agent's own clone, which begins with it. Workers look every few seconds,
a call that waits for such a job does, and so does each command that may have met
the last dependency, or accepts a command line. A release is one commit, so it does not matter
how many look.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET

from sow.calls.caller import Caller
from sow.errors import SowError, StateError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs, leases, workers
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import HeldFor, Job, JobState
from sow.schema.kinds import kind_of
from sow.schema.task import Task, TaskStatus
from sow.state.dependencies import way_back
from sow.state.kept.store import project_id_at
from sow.state.places import TaskPlace, all_places
from sow.state.state_errors import RefusedDependency, UnknownTask
from sow.state.status_notes import version_of
from sow.state.tasks import read_task, read_task_at, scan_tasks
from sow.state.waiting import MISSING, Among

ENDING = "completed, but its agent still runs"
UNMERGED = "completed, but not merged"
MOST_NAMED = 5
TRUST = "sow trust"
COMMAND = re.compile(r"`(sow [^`]+)`")


class Look(Enum):
    """What a look at one held job has come to."""

    RELEASED = "released"
    WAITS = "waits"
    IN_VAIN = "in vain"


class Ready(NamedTuple):
    """What a look at all held jobs has come to."""

    released: Sequence[JobId] = ()
    in_vain: frozenset[JobId] = frozenset()
    """Those that wait for a task that is not completed by itself."""


def refuse_impossible(workspace: Workspace, task: Task) -> None:
    """Refuse to wait for a task that is not there, or in a circle.

    Raises RefusedDependency, UnknownTask, and what is wrong with a task on the way.
    """
    places = {place.task_id: place for place in all_places(workspace)}
    for other in task.depends_on:
        if other not in places:
            raise UnknownTask(other, sorted(places))

    def waits_of(task_id: TaskId) -> Sequence[str]:
        place = places.get(task_id)
        return () if place is None else _waits_of(place, version_of(place.state))

    way = way_back(TaskId(task.id), waits_of)
    if way:
        raise RefusedDependency(task.id, f"it waits for itself: {' → '.join(way)}")


@lru_cache(maxsize=4096)
def _waits_of(place: TaskPlace, _version: str) -> Sequence[str]:
    """Return what a task depends on. A call for many tasks asks again and again."""
    return read_task_at(place).depends_on


def unmet_of(database: Database, job: Job, task: Task, among: Among) -> dict[str, str]:
    """Return what a job's task waits for, by id, each with a word for how that stands."""
    unmet = among.unmet_of(task.depends_on)
    for task_id in task.depends_on:
        if task_id not in unmet:
            word = _left_to_do(database, job, among.tasks[task_id])
            unmet |= {task_id: word} if word else {}
    return unmet


def _left_to_do(database: Database, job: Job, done: Task) -> str:
    """Return why a completed task's work is not where a job's agent will be; empty if it is."""
    live = jobs.live_job(database, job.project_id, TaskId(done.id))
    if live is not None and kind_of(live).makes_work and not kind_of(live).is_interactive:
        return ENDING
    begins_with_it = job.works_in_clone
    lies_apart = done.clone is not UNSET and done.merged is UNSET
    return UNMERGED if lies_apart and not begins_with_it else ""


def reason_of(task: Task, unmet: Mapping[str, str], in_vain: Mapping[str, str]) -> str:
    """Return why a job is held, in a sentence: what it waits for, and what frees it if need be."""
    named = [f"{other} ({word})" for other, word in list(unmet.items())[:MOST_NAMED]]
    more = f" and {len(unmet) - MOST_NAMED} more" if len(unmet) > MOST_NAMED else ""
    waits = f"it waits for task {', '.join(named)}{more}"
    merges = [other for other, word in unmet.items() if word == UNMERGED]
    if in_vain:
        first = next(iter(in_vain))
        return f"{waits}; task {first} needs your help first: {_frees(task, first, in_vain[first])}"
    return f"{waits}: `sow merge {' '.join(merges)}`" if merges else waits


def _frees(task: Task, other: str, word: str) -> str:
    """Return the commands by which a task no longer waits in vain."""
    left = ",".join(each for each in task.depends_on if each != other)
    ways = [
        f'`sow task set {task.id} depends_on "{left}"`',
        f"`sow agent spawn {task.id} --ignore-deps`",
    ]
    match word:
        case TaskStatus.ABANDONED:
            ways.insert(0, f"`sow task reopen {other}`")
        case TaskStatus.FAILED:
            ways.insert(0, f'`sow agent resume {other} "…"`')
        case _ if word != MISSING:
            ways.insert(0, "`sow task list --blocked` says why")
    return f"{', '.join(ways[:-1])} or {ways[-1]}"


def release_if_ready(workspace: Workspace, database: Database, job: Job, *, now: float) -> None:
    """Queue a job that has just been held where nothing is left to wait for; else say what is.

    Reads only the tasks that its own depends on: a call may hold many jobs.
    """
    task = read_task(workspace, job.task_id)
    named = [task.id, *task.depends_on]
    places = [place for place in all_places(workspace) if place.task_id in named]
    _look_at(database, job, task, Among(map(read_task_at, places)), now=now)


def release_ready(workspace: Workspace, database: Database, *, now: float) -> list[JobId]:
    """Queue each held job whose task's dependencies are met, and say of the others what is left.

    Only of the project that is checked out. Returns which were queued.
    """
    return list(look_at_held(workspace, database, now=now).released)


def look_at_held(workspace: Workspace, database: Database, *, now: float) -> Ready:
    """Do the same, and tell besides which of the others wait in vain."""
    project_id = ProjectId(project_id_at(workspace.root))
    held = [
        job
        for job in _own(database, jobs.held_jobs(database, HeldFor.DEPENDENCIES))
        if job.project_id == project_id
    ]
    if not held:
        return Ready()
    tasks, _ = scan_tasks(workspace)
    among = Among(tasks)
    stand = [(job, among.tasks.get(job.task_id)) for job in held]  # None: not readable just now
    looks = {job.id: _look_at(database, job, task, among, now=now) for job, task in stand if task}
    released = [job_id for job_id, look in looks.items() if look is Look.RELEASED]
    if released:
        workers.wake(workspace)
    return Ready(released, frozenset(each for each in looks if looks[each] is Look.IN_VAIN))


def _own(database: Database, held: Sequence[Job]) -> Sequence[Job]:
    """Return those of some jobs that were queued from this host."""
    if not (held and database.is_shared):
        return held
    # Few queues are shared.
    from sow.jobs.hosts import is_queued_elsewhere

    return [job for job in held if not is_queued_elsewhere(database, job.id)]


def _look_at(database: Database, job: Job, task: Task, among: Among, *, now: float) -> Look:
    """Release one job if nothing is left to wait for; else keep the reason true."""
    unmet = unmet_of(database, job, task, among)
    if not unmet:
        return Look.RELEASED if leases.release(database, job.id, now=now) else Look.WAITS
    in_vain = among.dead_ends_of(task.depends_on)
    _tell(database, job, reason_of(task, unmet, in_vain))
    return Look.IN_VAIN if in_vain else Look.WAITS


def _tell(database: Database, job: Job, reason: str) -> None:
    """Keep the reason true, as long as the job is held."""
    if reason != job.reason:
        leases.keep_reason(database, job.id, reason)


class ReadyLook:
    """Looks again and again, and reads the tasks only where anything has changed since."""

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self._workspace = workspace
        self._database = database
        self._seen: object = None
        self.in_vain: frozenset[JobId] = frozenset()
        """The held jobs that wait for a task that is not completed by itself."""

    def look(self, *, now: float) -> list[JobId]:
        """Release what is ready. Raises SowError."""
        if not jobs.is_any_held(self._database, HeldFor.DEPENDENCIES):
            self.in_vain = frozenset()
            return []
        # Every call that places a job imports this module, and hardly any finds a job held so.
        from sow.jobs import changes

        seen = changes.newest(self._database), _versions(self._workspace)
        if seen == self._seen:
            return []
        released, self.in_vain = look_at_held(self._workspace, self._database, now=now)
        self._seen = seen
        return list(released)


def release_accepted(
    workspace: Workspace, database: Database, environ: Mapping[str, str], *, now: float
) -> list[JobId]:
    """Queue the held jobs whose command lines are accepted; return which.

    Raises InvalidConfiguration, TrustFileBroken.
    """
    held = _own(database, jobs.held_jobs(database, HeldFor.TRUST))
    if not held:
        return []
    # Hardly any job is held for that.
    from sow.config.checks import read_repository
    from sow.trust.accepted import NotTrusted, refuse_untrusted
    from sow.trust.needed import needed_keys

    path = workspace.repository_config
    source = read_repository(path)

    def may_go_on(job: Job) -> bool:
        try:
            makes_clone = database.is_shared and _lacks_clone(workspace, job)
            keys = needed_keys(job, source, path, makes_clone=makes_clone)
            refuse_untrusted(workspace, source.content, environ, keys=keys)
        except NotTrusted:
            return False
        except StateError:
            return True  # it names a check that is none any more: its start says so
        return True

    return leases.release_held(database, [job.id for job in held if may_go_on(job)], now=now)


def _lacks_clone(workspace: Workspace, job: Job) -> bool:
    """Whether a job's task has no whole clone here, so that a check makes one first."""
    # Few queues are shared.
    from sow.clones.main_checkout import known_settings, main_checkout
    from sow.travel.clones_at_home import lacks_clone

    with suppress(StateError):  # it is of another checkout's project
        main = main_checkout(workspace, known_settings(workspace))
        return bool(job.task_id) and lacks_clone(main, read_task(workspace, job.task_id))
    return False


class HeldLook:
    """Looks again and again at the jobs that a call waits for, as far as they are held."""

    def __init__(self, caller: Caller, database: Database) -> None:
        self._caller = caller
        self._database = database
        self._ready = ReadyLook(caller.workspace, database)

    def look(self) -> None:
        """Release the jobs whose dependencies are met: it may be that no worker lives."""
        self._ready.look(now=self._caller.now())

    def leads_on(self, job_ids: Sequence[JobId]) -> str:
        """Return the command without which none of these jobs goes on; empty where one does."""
        if not jobs.are_held(self._database, job_ids):
            return ""
        found = [jobs.get_job(self._database, job_id) for job_id in job_ids]
        commands = [self._command_for(job) for job in found]
        if not all(commands) or (TRUST in commands and self._are_accepted()):
            return ""
        return commands[0]

    def _command_for(self, job: Job) -> str:
        """Return what releases one job; empty where it may be released without that."""
        if job.state is not JobState.HELD:
            return ""
        if job.held_for is not HeldFor.DEPENDENCIES:
            return TRUST
        named = COMMAND.search(job.reason) if job.id in self._ready.in_vain else None
        return named[1] if named else ""

    def _are_accepted(self) -> bool:
        """Release the jobs whose command lines are accepted by now; tell whether there are any.

        A worker holds a job, and looks once more whether it may go on: we may be between the two.
        """
        caller = self._caller
        with suppress(SowError):  # broken settings or a broken trust file: nothing is accepted
            released = release_accepted(
                caller.workspace, self._database, caller.environ, now=caller.now()
            )
            return bool(released)
        return False


def _versions(workspace: Workspace) -> Sequence[str]:
    versions = []
    for place in all_places(workspace):
        with suppress(OSError):  # it is just being written, or has gone
            versions.append(version_of(place.state))
    return versions
