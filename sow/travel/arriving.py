"""What befell a task away from home, carried out where it is at home, in its order.

Owns what an event may do. A host may write any event of its own attempts, so each is taken as the
word of that attempt's agent and no more: its work goes to the task's branch, its status follows the
present one by the table of today, and files land in the task's folder or among the drafts. What is
refused becomes a warning of the job. Each event is done once more by whoever comes after a kill,
and that changes nothing.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sow.clones.bring_back import take_in
from sow.clones.main_checkout import MainCheckout, known_settings, main_checkout
from sow.clones.mark import mark_for
from sow.clones.place import Place
from sow.clones.record import note_clone, record_clone
from sow.config.queue import read_queue_remote
from sow.digest import sha256
from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import make_folder, read_if_there, refuse_leading_out, write_atomically
from sow.git.remote import COMMIT, remote_of
from sow.git.repository import branch_commit
from sow.git.run import LONG_SECONDS
from sow.git.view import view_of
from sow.jobs import jobs, statuses, travels
from sow.jobs.database import Database
from sow.jobs.hosts import is_queued_elsewhere
from sow.jobs.jobs import author_of_job
from sow.paths import Workspace, user_config_path
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.schema.travel import Event, EventKind, Travel
from sow.state import transitions
from sow.state.log_writing import LOG_LIMIT, LogEntry, has_entry
from sow.state.projects import read_project
from sow.state.state_errors import NoProject
from sow.state.task_log import append_entry
from sow.state.tasks import change_task, find_task, read_task
from sow.state.verdicts import addressed
from sow.terminal_text import readable
from sow.travel.names import attempt_ref
from sow.travel.telling import DRAFTS, LARGEST

SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
MOST_WORK = 1 << 30
"""How large the objects of an attempt's commits may be, in bytes; they stay in the repository."""
LONGEST = 300
"""How many characters of a refusal become a warning."""
OWN_FILES = ("state.yaml", "log.md")
"""The files of a task that no other may be put in the place of."""
REPORTS = frozenset(
    {TaskStatus.PAUSED, TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED, TaskStatus.ABANDONED}
)


class EventRefused(StateError):
    """An event says what no attempt may."""


def bring_home(workspace: Workspace, database: Database, job: Job, *, now: float) -> bool:
    """Carry out here what befell a job elsewhere; whether there is nothing left of it to do here.

    False for a job that is at home in another checkout, and while its project is not checked out.
    Raises StateError where something cannot be done now.
    """
    if is_queued_elsewhere(database, job.id):
        return False
    travel = travels.travel_of(database, job.id)
    if travel is None:
        return True
    events = [event for event in travels.events_of(database, job.id) if event.outcome is None]
    if not events:
        return True
    try:
        if read_project(workspace).id != job.project_id:
            return False
    except NoProject:
        return False
    for event in events:
        refusal = ""
        try:
            _carry_out(workspace, database, job, travel, event, now)
        except (StateError, msgspec.ValidationError, OSError, ValueError) as error:
            if passing_fault(error) is not None:
                raise
            refusal = error.message if isinstance(error, StateError) else str(error)
        _conclude(database, job, event, readable(refusal)[:LONGEST])
    return True


def _conclude(database: Database, job: Job, event: Event, refusal: str) -> None:
    with database.transaction():
        travels.conclude(database, event, refusal)
        if refusal:
            warning = f"not taken from {event.host}, attempt {event.attempt}: {refusal}"
            warnings = (*jobs.get_job(database, job.id).warnings, warning)
            jobs.change_job(database, job.id, warnings=tuple(dict.fromkeys(warnings)))


def _carry_out(
    workspace: Workspace, database: Database, job: Job, travel: Travel, event: Event, now: float
) -> None:
    """Do what an event tells of. Raises StateError for what is refused."""
    data = event.data
    if not isinstance(data, Mapping):
        raise EventRefused(f"an event {event.kind!r} without contents")
    match event.kind:
        case EventKind.WORK:
            _take_work(workspace, job, travel, event, data, now)
        case EventKind.LOG:
            _take_entry(workspace, job, event, data)
        case EventKind.FILE:
            _take_file(workspace, job, data)
        case EventKind.TASK:
            _take_fields(workspace, database, job, event, data, now)
        case EventKind.UNTAKEN:
            names = ", ".join(str(name)[:LONGEST] for name in data.get("what", ()))
            raise EventRefused(f"changes outside of the task: {names}")
        case _:
            raise EventRefused(f"an event of the kind {event.kind!r}, which this sow does not know")


def _take_work(
    workspace: Workspace,
    job: Job,
    travel: Travel,
    event: Event,
    data: Mapping[str, Any],
    now: float,
) -> None:
    """Fetch what an attempt has left, and have the task's branch name it."""
    ref, commit = attempt_ref(job.project_id, job.id, event.attempt), str(data.get("commit"))
    if not COMMIT.fullmatch(commit) or data.get("ref", ref) != ref:
        raise EventRefused(f"its work is said to be at {str(data.get('ref'))[:LONGEST]!r}")
    main = main_checkout(workspace, known_settings(workspace))
    task = read_task(workspace, job.task_id)
    place = main.place(task)
    if branch_commit(main.repository, place.branch) != commit:
        remote_of(main.repository, read_queue_remote(user_config_path(os.environ))).fetch(
            ref, commit
        )
    base = place.base or travel.base
    facts = place.since(base)
    _refuse_work(main, facts, commit, base, ref)
    brought = take_in(facts, main.repository, commit)
    mark = mark_for(place, base)
    if main.noted(task) is None:
        note_clone(main.repository, mark)
    record_clone(workspace, mark, now=now)
    if brought.is_rewritten:
        raise EventRefused(f"its agent has rewritten {place.branch}")  # taken all the same: told


def _refuse_work(main: MainCheckout, facts: Place, commit: str, base: str, ref: str) -> None:
    """Raise EventRefused for commits that are none of the task's work, or too large."""
    view = view_of(main.repository.top)
    if not view.is_ancestor(base, commit):
        raise EventRefused(f"{ref} does not build on what was sent")
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit)
    held = [path for path in view.records(*words, seconds=LONG_SECONDS) if facts.holds_state(path)]
    if held:
        raise EventRefused(f"{ref} changes the state of the project: {', '.join(held[:3])}")
    size = view.text(
        *("rev-list", "--objects", "--disk-usage", commit, "--not", base), seconds=LONG_SECONDS
    )
    if int(size) > MOST_WORK:
        raise EventRefused(f"{ref} has more than {MOST_WORK >> 20} MB")


def _take_entry(workspace: Workspace, job: Job, event: Event, data: Mapping[str, Any]) -> None:
    """Add an entry to the task's log, in the name of the job's agent or of sow."""
    entry = LogEntry(**msgspec.convert(data, dict[str, Any]))
    if not re.fullmatch("[0-9a-f]{12}", entry.id):
        raise EventRefused("an entry of the log without an id")
    folder = find_task(workspace, job.task_id).folder
    if has_entry(folder, entry.id, has_text=bool(entry.text.strip("\n")), within=LOG_LIMIT):
        return
    agent = entry.agent if entry.agent in (job.agent, "sow") else job.agent
    files = tuple(str(path) for path in entry.files)
    append_entry(
        folder, entry._replace(agent=agent, files=files, job=job.id, attempt=event.attempt)
    )


def _take_file(workspace: Workspace, job: Job, data: Mapping[str, Any]) -> None:
    """Write a file of the task's folder, or a draft, unless it was changed here meanwhile."""
    path, text, before = data["path"], data["text"], data.get("before")
    if not isinstance(path, str) or not isinstance(text, str) or len(text) > LARGEST:
        raise EventRefused("a file without a name or a text")
    folder = find_task(workspace, job.task_id).folder.relative_to(workspace.sow)
    parts = path.split("/")
    is_plain = all(part and not part.startswith(".") and "\0" not in part for part in parts)
    is_own = path in {f"{folder}/{name}" for name in OWN_FILES}
    if not is_plain or is_own or not path.startswith((f"{folder}/", f"{DRAFTS}/")):
        raise EventRefused(f"it may not write {path[:LONGEST]!r}")
    place = workspace.sow / Path(*parts)
    refuse_leading_out(place)
    there, wanted = read_if_there(place, LARGEST), text.encode()
    if there == wanted:
        return
    if (_blob_of(there) if there is not None else None) != before:
        raise EventRefused(f"{path} was changed here meanwhile")
    make_folder(place.parent)
    write_atomically(place, wanted)


def _blob_of(data: bytes) -> str:
    """Return the number that git gives a file's contents in a repository of the usual form."""
    import hashlib  # it loads OpenSSL

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _take_fields(
    workspace: Workspace,
    database: Database,
    job: Job,
    event: Event,
    data: Mapping[str, Any],
    now: float,
) -> None:
    """Change the fields of the task's state that an agent's attempt changes, by today's rules."""
    entry_id = str(sha256(f"{job.id} {event.attempt} {event.place}".encode()).hexdigest())[:12]
    by = author_of_job(job, attempt=event.attempt)._replace(entry_id=entry_id)

    def change(task: Task) -> Mapping[str, Any]:
        live = jobs.live_job(database, job.project_id, job.task_id)
        if live is not None and live.id != job.id and kind_of(live).marks_task:
            raise EventRefused(f"job {live.id} has the task by now")
        return fields_for(job, task, data, now)

    def then(task: Task) -> None:
        statuses.see(workspace, database, job, task, now=now)

    change_task(workspace, job.task_id, change, now=now, then=then, by=by)


def fields_for(job: Job, task: Task, data: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the fields of a task that change. Raises EventRefused for what is no attempt's."""
    changes: dict[str, Any] = {}
    if (files := data.get("files_modified")) is not None:
        changes["files_modified"] = msgspec.convert(files, list[str])
    for key, value in msgspec.convert(data.get("metadata") or {}, dict[str, Any]).items():
        changes[f"metadata.{key}"] = value
    if (session := data.get("session_id")) is not None:
        changes |= _session(job, session, data.get("session"))
    if (word := data.get("status")) is not None:
        status = TaskStatus(word)
        if status is TaskStatus.COMPLETED:  # its own agent's word, which somebody judges
            status = TaskStatus.NEEDS_REVIEW
        if status in REPORTS:
            changes |= transitions.enter(task, status, now=now)
            changes |= addressed(task)
    return changes


def _session(job: Job, session: object, facts: object) -> dict[str, Any]:
    if not isinstance(session, str) or not SESSION.fullmatch(session):
        raise EventRefused("a session that can be none")
    if facts is None:
        return {"session_id": session}
    known = msgspec.convert(facts, SessionFacts)
    executors = {job.executor_name, *(each.executor.name for each in job.fallback.next)}
    if known.executor not in executors:
        raise EventRefused(f"a session of executor {known.executor[:LONGEST]!r}")
    return {
        "session_id": session,
        "session": msgspec.structs.replace(known, cwd=job.cwd),
    }
