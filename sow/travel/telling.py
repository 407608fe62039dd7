"""What befell a task in a guest's folder, as events for the checkout in which it is at home.

Owns which of the changes there are told: entries of the task's log, files of its folder and drafts
of the project, and those fields of its state that an attempt changes. All else that was changed is
named, and stays where it is. Reads only; what was sent is compared with what there is now.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from sow.digest import sha256
from sow.files import NotAFile, read_regular
from sow.git.run import LONG_SECONDS
from sow.git.view import View, view_of
from sow.paths import Workspace
from sow.schema.job import Job
from sow.schema.task import ReviewVerdict, Task, TaskState
from sow.schema.travel import Event, EventKind, Travel
from sow.state.log_reading import entries_in
from sow.state.log_writing import LOG_FILE, LogEntry, format_entry
from sow.state.places import TaskPlace, find_task
from sow.state.statefiles import STATE_LIMIT, parse_state
from sow.state.task_folder import STATE
from sow.state.task_log import read_entries
from sow.state.verdicts import given_by, newest_feedback, words_of_feedback
from sow.travel.names import entry_id

LARGEST = 1 << 20
"""How large a file is at most that is told as an event, in bytes."""
MOST_ENTRIES = 2000
MOST_FILES = 200
MOST_NAMED = 20
DRAFTS = "project/context"
"""Where agents write the drafts of documents, below `.sow`."""


class Told(NamedTuple):
    """One event, before it has its place."""

    kind: EventKind
    data: Mapping[str, Any]


def state_events(
    guest: Workspace, travel: Travel, task: Task, known: Sequence[Event]
) -> Iterator[Told]:
    """Yield what befell a task since it was sent, but for the entries told already (`known`)."""
    view, place = view_of(guest.root), find_task(guest, task.id)
    inside = place.folder.relative_to(guest.sow)
    yield from _entries(view, travel, place, inside, known)
    yield from _files(guest, view, travel, inside)
    sent = _sent(view, travel, f"{inside}/{STATE}")
    before = parse_state(sent, TaskState, path=place.state).task if sent else None
    if fields := task_fields(before, task):
        yield Told(EventKind.TASK, fields)


def verdict_events(
    guest: Workspace, travel: Travel, job: Job, task: Task, known: Sequence[Event]
) -> Iterator[Told]:
    """Yield what a reviewer has said of a task, but for what is told already (`known`).

    The task is only looked at: what else was changed there is named.
    """
    view, place = view_of(guest.root), find_task(guest, task.id)
    inside = place.folder.relative_to(guest.sow)
    yield from _entries(view, travel, place, inside, known)
    own = f"{inside}/{place.feedback.name}/"
    stays: list[str] = []
    for kind, data in _files(guest, view, travel, inside):
        named = data["what"] if kind is EventKind.UNTAKEN else [data["path"]]
        stays += [path for path in named if not path.startswith(own)]
    if stays:
        yield Told(EventKind.UNTAKEN, {"what": stays[:MOST_NAMED]})
    review = given_by(task, job)
    if review is None:
        return
    name = newest_feedback(task)
    findings = ""
    if review.verdict is ReviewVerdict.CORRECTIONS and name is not None:
        findings = words_of_feedback(guest, task, name)
    data = {"verdict": review.verdict.value, "summary": review.summary, "findings": findings}
    yield Told(EventKind.VERDICT, data)


def _sent(view: View, travel: Travel, path: str) -> bytes:
    """Return a file as it was sent; nothing where it was not there."""
    code, data, _ = view.answer("cat-file", "blob", f"{travel.packed}:{path}")
    return data if code == 0 and len(data) <= STATE_LIMIT else b""


def _entries(
    view: View, travel: Travel, place: TaskPlace, inside: Path, known: Sequence[Event]
) -> Iterator[Told]:
    """Yield the new entries of the log."""
    code, data, _ = view.answer("cat-file", "blob", f"{travel.packed}:{inside}/{LOG_FILE}")
    lines = data.decode("utf-8", "replace").split("\n") if code == 0 else []
    there = {_id_of(entry) for entry in entries_in(lines, place.log)}
    for event in known:
        if event.kind == EventKind.LOG and isinstance(event.data, dict):
            given = str(event.data.get("id"))
            there |= {given, entry_id(event, given)}  # told here, and on another host
    new = [entry for entry in read_entries(place.log) if _id_of(entry) not in there]
    short = [entry for entry in new if len(format_entry(entry)) <= LARGEST][-MOST_ENTRIES:]
    for entry in short:
        yield Told(EventKind.LOG, {**entry._asdict(), "id": _id_of(entry)})
    if len(new) > len(short):
        words = f"{len(new) - len(short)} entries of its log"
        yield Told(EventKind.UNTAKEN, {"what": [words]})


def _id_of(entry: LogEntry) -> str:
    """Return the id of an entry; one that has none gets that of its words."""
    text = msgspec.json.encode(entry._asdict())
    return entry.id or str(sha256(text).hexdigest())[:12]


def _files(guest: Workspace, view: View, travel: Travel, inside: Path) -> Iterator[Told]:
    """Yield the files that were changed, and the names of those that stay."""
    sent = {}
    for line in view.records("ls-tree", "-r", "-z", "--full-tree", travel.packed):
        about, _, path = line.partition("\t")
        sent[path] = about.split()[2]
    own = {f"{inside}/{STATE}", f"{inside}/{LOG_FILE}"}
    stays = []
    count = 0
    for path, blob in _blobs(guest, view):
        before = sent.pop(path, None)
        if blob == before or path in own:
            continue
        text = _text(guest.sow / path)
        is_told = path.startswith((f"{inside}/", f"{DRAFTS}/")) and count < MOST_FILES
        if text is None or not is_told:
            stays.append(path)
            continue
        count += 1
        yield Told(EventKind.FILE, {"path": path, "text": text, "before": before})
    stays += [f"{path} (removed)" for path in sent if path.startswith("project/")]
    if stays:
        yield Told(EventKind.UNTAKEN, {"what": stays[:MOST_NAMED]})


def _blobs(guest: Workspace, view: View) -> Iterator[tuple[str, str]]:
    """Yield the files of the project's state with the numbers of their contents."""
    files = [
        path
        for path in sorted(guest.project.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and "\n" not in str(path)
        and not any(part.startswith(".") for part in path.relative_to(guest.sow).parts)
    ]
    names = "".join(f"{path}\n" for path in files).encode("utf-8", "surrogateescape")
    words = ("hash-object", "--no-filters", "--stdin-paths")
    found = view.text(*words, stdin=names, seconds=LONG_SECONDS).split() if files else []
    for path, blob in zip(files, found, strict=True):
        yield str(path.relative_to(guest.sow)), blob


def _text(path: Path) -> str | None:
    """Return the text of a file; None where it is too large, or no text."""
    try:
        return read_regular(path, LARGEST).decode()
    except (NotAFile, FileNotFoundError, UnicodeError):
        return None


def task_fields(before: Task | None, task: Task) -> dict[str, Any]:
    """Return the fields of a task that an attempt has changed, as they are told."""
    fields: dict[str, Any] = {}
    if before is None or task.status is not before.status:
        fields["status"] = task.status.value
    if task.session_id is not UNSET and (
        before is None or (task.session_id, task.session) != (before.session_id, before.session)
    ):
        fields["session_id"] = task.session_id
        fields["session"] = msgspec.to_builtins(task.session) if task.session is not UNSET else None
    if before is None or task.files_modified != before.files_modified:
        fields["files_modified"] = list(task.files_modified)
    known = before.metadata if before is not None else {}
    changed = {
        key: value
        for key, value in task.metadata.items()
        if known.get(key) != value and isinstance(value, str)
    }
    if changed:
        fields["metadata"] = changed
    return fields
