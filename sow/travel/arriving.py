"""What befell a task away from home, carried out where it is at home, in its order.

Owns what an event may do. A host may write any event of its own attempts, so each is taken as the
word of that attempt's agent and no more: its work goes to the task's branch, its status follows the
present one by the table of today, and files land in the task's folder or among the drafts. What is
refused becomes a warning of the job. Each event is done once more by whoever comes after a kill,
and that changes nothing.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from sow.clones.bring_back import take_in
from sow.clones.judged import judged_change
from sow.clones.main_checkout import known_settings, main_checkout
from sow.clones.mark import mark_for
from sow.clones.place import Place
from sow.clones.record import note_clone, record_clone
from sow.clones.task_diff import task_change
from sow.config.queue import read_queue_remote
from sow.errors import StateError
from sow.faults import passing_fault
from sow.files import (
    NotWritten,
    make_folder,
    read_regular,
    refuse_leading_out,
    remove_file,
    write_atomically,
)
from sow.files.flock import take_lock_file
from sow.git.git_errors import GitTookTooLong
from sow.git.merge_tree import folded
from sow.git.remote import Remote, remote_of
from sow.git.repository import branch_commit
from sow.git.view import View, split_records
from sow.jobs import jobs, statuses, travels
from sow.jobs.database import Database
from sow.jobs.hosts import is_queued_elsewhere
from sow.jobs.jobs import author_of_job
from sow.jobs.private_folders import make_private
from sow.paths import Workspace, user_config_path
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import (
    CheckRecord,
    CommandResult,
    ReviewVerdict,
    SessionFacts,
    Task,
    TaskStatus,
)
from sow.schema.travel import (
    EntryWritten,
    Event,
    EventKind,
    FieldsChanged,
    FileWritten,
    Travel,
    Untaken,
    VerdictGiven,
    WorkDone,
)
from sow.state import transitions
from sow.state.log_writing import LOG_LIMIT, LogEntry, format_entry, has_entry, is_full
from sow.state.projects import read_project
from sow.state.state_errors import NoProject, WorkArrives
from sow.state.task_log import append_entry
from sow.state.tasks import change_task, find_task, read_task
from sow.state.verdicts import Judgement, accept, addressed, correct
from sow.terminal_text import printable, readable
from sow.travel.clones_at_home import have_clone
from sow.travel.names import entry_id, is_attempt_ref
from sow.travel.telling import DRAFTS, LARGEST

MOST_WORK = 1 << 30
"""How large an attempt's work may be, in bytes: its objects as they are sent, and the files that it
has changed as they are checked out."""
MOST_LISTED = 32 << 20
"""How long the list of those files may be, in bytes: more than a hundred thousand of them."""
LOOK_SECONDS = 120.0
"""How long git may take for a look at it. A few kilobytes can name any number of files."""
MOST_RESULTS = 100
MOST_LINES = 20
"""How much is kept of what a check has come to."""
LONGEST_SUMMARY = 20_000
"""In characters."""
LONGEST = 300
"""How many characters of a refusal become a warning."""
MOST_WARNINGS = 20
"""How many refusals become warnings of a job; of each other one its event says why."""
NOT_TAKEN = "not taken from "
OWN_FILES = ("state.yaml", "log.md")
"""The files of a task that no other may be put in the place of."""
OF_AUTHORS = (EventKind.WORK, EventKind.FILE, EventKind.TASK)
"""What no review brings home, whatever its host says."""
REPORTS = frozenset(
    {TaskStatus.PAUSED, TaskStatus.NEEDS_REVIEW, TaskStatus.FAILED, TaskStatus.ABANDONED}
)


class EventRefused(StateError):
    """An event says what no attempt may."""


def bring_home(
    workspace: Workspace, database: Database, job: Job, *, now: float, patience: float = 0.0
) -> bool:
    """Carry out here what befell a job elsewhere; whether there is nothing left of it to do here.

    False for a job that is at home in another checkout, and while its project is not checked out.
    Another process may be at it: it is waited for `patience` seconds. Raises WorkArrives then;
    StateError where something cannot be done now.
    """
    if is_queued_elsewhere(database, job.id):
        return False
    travel = travels.travel_of(database, job.id)
    if travel is None:
        return True
    if travels.next_event(database, job.id) is None:
        return True
    try:
        if read_project(workspace).id != job.project_id:
            return False
    except NoProject:
        return False
    with arrival(workspace, job.task_id, patience):
        while (event := travels.next_event(database, job.id)) is not None:
            refusal = ""
            try:
                carry_out(workspace, database, job, travel, event, now)
            except (StateError, OSError, ValueError) as error:
                if passing_fault(error) is not None:
                    raise
                refusal = error.message if isinstance(error, StateError) else str(error)
            _conclude(database, job, event, printable(readable(refusal))[:LONGEST])
    return True


@contextmanager
def arrival(workspace: Workspace, task_id: str, patience: float) -> Iterator[None]:
    """Hold the lock under which a task's work comes home, from the look at an event to its outcome.

    Else the slower of two processes would undo what the other has done since. It comes before all
    other locks, and ends with the process. Raises WorkArrives, NotWritten.
    """
    path = workspace.arrival_lock(task_id)
    try:
        make_private(path.parent, below=workspace.run)
    except OSError as error:
        raise NotWritten(path.parent, error) from error
    descriptor = take_lock_file(path, patience)
    if descriptor is None:
        raise WorkArrives(task_id, path)
    try:
        yield
        remove_file(path)  # left behind, it is in nobody's way
    finally:
        os.close(descriptor)


def _conclude(database: Database, job: Job, event: Event, refusal: str) -> None:
    with database.transaction():
        travels.conclude(database, event, refusal)
        if refusal:
            known = jobs.get_job(database, job.id).warnings
            warning = f"{NOT_TAKEN}{event.host}, attempt {event.attempt}: {refusal}"
            if sum(words.startswith(NOT_TAKEN) for words in known) >= MOST_WARNINGS:
                warning = f"more than {MOST_WARNINGS} of what its hosts have told was not taken"
            jobs.change_job(database, job.id, warnings=tuple(dict.fromkeys((*known, warning))))


def catch_up(
    workspace: Workspace,
    database: Database,
    job: Job,
    travel: Travel,
    events: Sequence[Event],
    remote: Remote,
    *,
    now: float,
) -> None:
    """Carry out in a guest's folder what befell a job on other hosts: it goes on from there.

    What is refused is left out: home tells of it. Raises StateError where something cannot be done
    now.
    """
    for event in events:
        try:
            carry_out(workspace, database, job, travel, event, now, remote)
        except (StateError, OSError, ValueError) as error:
            if passing_fault(error) is not None:
                raise


def carry_out(
    workspace: Workspace,
    database: Database,
    job: Job,
    travel: Travel,
    event: Event,
    now: float,
    remote: Remote | None = None,
) -> None:
    """Do what an event tells of; `remote` is where its work is, if not at the workspace's own.

    Raises StateError for what is refused.
    """
    data = event.data
    if event.kind in OF_AUTHORS and not kind_of(job).makes_work:
        raise EventRefused(f"an event of the kind {event.kind!r}, which is an author's")
    match event.kind:
        case EventKind.WORK:
            done = msgspec.convert(data, WorkDone)
            _take_work(workspace, job, travel, event, done, now, remote)
        case EventKind.LOG:
            _take_entry(workspace, job, event, msgspec.convert(data, EntryWritten))
        case EventKind.FILE:
            _take_file(workspace, job, msgspec.convert(data, FileWritten))
        case EventKind.TASK:
            changed = msgspec.convert(data, FieldsChanged)
            _take_fields(workspace, database, job, event, changed, now)
        case EventKind.CHECK:
            _take_check(workspace, job, travel, msgspec.convert(data, CheckRecord), now)
        case EventKind.VERDICT:
            _take_verdict(workspace, job, event, msgspec.convert(data, VerdictGiven), now)
        case EventKind.UNTAKEN:
            names = [name[:LONGEST] for name in msgspec.convert(data, Untaken).what]
            raise EventRefused(f"changes outside of the task: {', '.join(names)}")
        case _:
            raise EventRefused(f"an event of the kind {event.kind!r}, which this sow does not know")


def _take_work(
    workspace: Workspace,
    job: Job,
    travel: Travel,
    event: Event,
    work: WorkDone,
    now: float,
    remote: Remote | None,
) -> None:
    """Fetch what an attempt has left, and have the task's branch name it."""
    ref, commit = work.ref, work.commit
    if not is_attempt_ref(ref, job.project_id, job.id, event.attempt):
        raise EventRefused(f"its work is said to be at {work.ref[:LONGEST]!r}")
    main = main_checkout(workspace, known_settings(workspace))
    task = read_task(workspace, job.task_id)
    place = main.place(task)
    base = place.base or travel.base
    facts = place.since(base)
    if branch_commit(main.repository, place.branch) != commit:
        if remote is None:
            name = read_queue_remote(user_config_path(os.environ))
            remote = remote_of(main.repository, name)

        def look(view: View) -> None:
            _refuse_work(view, facts, commit, base, ref, travel)

        remote.fetch(ref, commit, most=MOST_WORK, look=look)
    brought = take_in(facts, main.repository, commit)
    mark = mark_for(place, base)
    if main.noted(task) is None:
        note_clone(main.repository, mark)
    record_clone(workspace, mark, now=now)
    files = [
        readable(path) for path in task_change(main.repository, facts, main.project_branch).files
    ]
    change_task(workspace, job.task_id, lambda _: {"files_modified": files}, now=now)
    have_clone(main, facts, commit)
    if brought.is_rewritten:
        raise EventRefused(f"its agent has rewritten {place.branch}")  # taken all the same: told


def _refuse_work(
    view: View, facts: Place, commit: str, base: str, ref: str, travel: Travel
) -> None:
    """Raise EventRefused for commits that are none of the task's work, or too large.

    What the project's branch brings was sent along: an agent that has solved a conflict has it.
    Whoever has made them may have made them so that git has no end of them.
    """
    try:
        if not view.is_ancestor(base, commit):
            raise EventRefused(f"{ref} does not build on what was sent")
        tip = travel.tip
        begun = tip if tip is not None and view.is_ancestor(tip, commit) else base
        changed = _changes(view, begun, commit, ref)
        if begun != travel.base:
            brought = changed.keys() - _changes(view, travel.base, commit, ref).keys()
            changed = {path: blob for path, blob in changed.items() if path not in brought}
        if held := [path for path in changed if facts.holds_state(path)]:
            raise EventRefused(f"{ref} changes the state of the project: {', '.join(held[:3])}")
        if _size_of(view, changed.values()) > MOST_WORK:
            raise EventRefused(f"{ref} has more than {MOST_WORK >> 20} MB")
    except GitTookTooLong as error:
        raise EventRefused(error.message) from error


def _changes(view: View, since: str, commit: str, ref: str) -> dict[str, str]:
    """Return what differs between two commits: by path what git calls the contents there now."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", since, commit)
    listed = view.bounded(*words, most=MOST_LISTED, seconds=LOOK_SECONDS)
    if listed is None:
        raise EventRefused(f"{ref} changes too many files")
    records = split_records(listed)
    return {path: about.split()[3] for about, path in zip(records[::2], records[1::2], strict=True)}


def _size_of(view: View, blobs: Iterable[str]) -> int:
    """Return how many bytes files with these contents have; a commit of a submodule has none."""
    words = ("cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer")
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    lines = view.text(*words, stdin=asked, seconds=LOOK_SECONDS).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("blob "))


def _take_entry(workspace: Workspace, job: Job, event: Event, entry: EntryWritten) -> None:
    """Add an entry to the task's log, in the name of the job's agent or of sow."""
    folder = find_task(workspace, job.task_id).folder
    fields = msgspec.structs.asdict(entry)
    fields["agent"] = entry.agent if entry.agent in (job.agent, "sow") else job.agent
    fields["id"] = entry_id(event, entry.id)
    made = LogEntry(**fields, job=job.id, attempt=event.attempt)
    if has_entry(folder, made.id, has_text=bool(made.text.strip("\n")), within=LOG_LIMIT):
        return
    if is_full(folder):
        raise EventRefused("the task's log is full")
    if len(format_entry(made)) > LARGEST:
        raise EventRefused(f"an entry of its log has more than {LARGEST >> 20} MB")
    append_entry(folder, made)


def _take_file(workspace: Workspace, job: Job, file: FileWritten) -> None:
    """Write a file of the task's folder, or a draft, unless it was changed here meanwhile."""
    path = file.path
    folder = find_task(workspace, job.task_id).folder.relative_to(workspace.sow)
    parts = path.split("/")
    is_plain = all(part and not part.startswith(".") and "\0" not in part for part in parts)
    is_own = folded(path) in {folded(f"{folder}/{name}") for name in OWN_FILES}
    if not is_plain or is_own or not path.startswith((f"{folder}/", f"{DRAFTS}/")):
        raise EventRefused(f"it may not write {path[:LONGEST]!r}")
    if len(file.text) > LARGEST:
        raise EventRefused(f"{path} has more than {LARGEST >> 20} MB")
    place = workspace.sow / Path(*parts)
    refuse_leading_out(place)
    there, wanted = _contents(place), file.text.encode()
    if there == wanted:
        return
    if (_blob_of(there) if there is not None else None) != file.before:
        raise EventRefused(f"{path} was changed here meanwhile")
    make_folder(place.parent)
    write_atomically(place, wanted)


def _contents(place: Path) -> bytes | None:
    """Return what a file holds; None where nothing is there. Raises NotAFile for all else."""
    try:
        return read_regular(place, LARGEST)
    except FileNotFoundError:
        return None


def _blob_of(data: bytes) -> str:
    """Return the number that git gives a file's contents in a repository of the usual form."""
    import hashlib  # it loads OpenSSL

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _take_fields(
    workspace: Workspace,
    database: Database,
    job: Job,
    event: Event,
    changed: FieldsChanged,
    now: float,
) -> None:
    """Change the fields of the task's state that an agent's attempt changes, by today's rules."""
    its_id = entry_id(event, f"place {event.place}")
    by = author_of_job(job, attempt=event.attempt, entry_id=its_id)
    refused = []
    last = jobs.last_attempt(database, job.id)
    if last is not None and last.number > event.attempt and changed.status is not None:
        changed = msgspec.structs.replace(changed, status=None)
        refused.append(f"its word on the task's status: attempt {last.number} came after it")
    session = changed.session_id
    if session is not None and jobs.is_session_of_another(database, session, job):
        changed = msgspec.structs.replace(changed, session_id=None)
        refused.append(f"session {session}, which is another task's")

    def change(task: Task) -> Mapping[str, Any]:
        live = jobs.live_job(database, job.project_id, job.task_id)
        if live is not None and live.id != job.id and kind_of(live).marks_task:
            raise EventRefused(f"job {live.id} has the task by now")
        return fields_for(job, task, changed, now)

    def then(task: Task) -> None:
        statuses.see(workspace, database, job, task, now=now)

    change_task(workspace, job.task_id, change, now=now, then=then, by=by)
    if refused:
        raise EventRefused("; ".join(refused))  # the rest is taken


def fields_for(job: Job, task: Task, changed: FieldsChanged, now: float) -> dict[str, Any]:
    """Return the fields of a task that change. Raises StateError for what is no attempt's."""
    changes: dict[str, Any] = {f"metadata.{key}": text for key, text in changed.metadata.items()}
    if changed.files_modified is not None and task.clone is UNSET:
        changes["files_modified"] = changed.files_modified  # else its commits say it
    if changed.session_id is not None:
        changes |= _session(job, changed.session_id, changed.session)
    status = changed.status
    if status is TaskStatus.COMPLETED:  # its own agent's word, which somebody judges
        status = TaskStatus.NEEDS_REVIEW
    if status in REPORTS:
        changes |= transitions.enter(task, status, now=now)
        changes |= addressed(task)
    return changes


def _take_check(
    workspace: Workspace, job: Job, travel: Travel, check: CheckRecord, now: float
) -> None:
    """Put on record what a check has come to of the commit that was sent."""
    if not kind_of(job).checks:
        raise EventRefused("the outcome of a check, which it is not")
    if check.commit != travel.tip:
        raise EventRefused("it has checked another commit than the one that was sent")
    names = [result.name for result in check.results]
    if check.passed and names != [*job.check_names]:
        raise EventRefused("it says that all has passed, and has not run what was asked for")
    results = [_plain_result(result) for result in check.results[:MOST_RESULTS]]
    known = msgspec.structs.replace(check, results=results)
    change_task(workspace, job.task_id, lambda _: {"check": known}, now=now)


def _plain_result(result: CommandResult) -> CommandResult:
    """Return what a command line has come to, fit for any terminal and not too long."""
    return msgspec.structs.replace(
        result,
        name=printable(result.name)[:LONGEST],
        reason=printable(result.reason)[:LONGEST],
        lines=[printable(line)[:LONGEST] for line in result.lines[:MOST_LINES]],
    )


def _take_verdict(
    workspace: Workspace, job: Job, event: Event, given: VerdictGiven, now: float
) -> None:
    """Put a reviewer's verdict on record, as that of its job on the commit that it was given."""
    if not kind_of(job).judges:
        raise EventRefused("a verdict, which is a reviewer's")
    task, commit = read_task(workspace, job.task_id), job.judged_commit
    change = judged_change(workspace, task, commit) if commit is not None else None
    judgement = Judgement(
        by=job.agent,
        summary=readable(given.summary).strip()[:LONGEST_SUMMARY],
        commit=commit,
        steers=[readable(path) for path in change.steers] if change is not None else (),
        job=job.id,
        attempt=event.attempt,
    )
    if given.verdict is ReviewVerdict.ACCEPTED:
        accept(workspace, job.task_id, judgement, complete=False, now=now, once=job)
        return
    if not given.findings.strip():
        raise EventRefused("it asks for corrections, and names none")
    correct(workspace, job.task_id, judgement, given.findings.encode(), now=now, once=job)


def _session(job: Job, session_id: str, facts: SessionFacts | None) -> dict[str, Any]:
    if facts is None:
        return {"session_id": session_id}
    executors = {job.executor_name, *(each.executor.name for each in job.fallback.next)}
    if facts.executor not in executors:
        raise EventRefused(f"a session of executor {facts.executor[:LONGEST]!r}")
    return {
        "session_id": session_id,
        "session": msgspec.structs.replace(facts, cwd=job.cwd),
    }
