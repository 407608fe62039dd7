"""What befell a task in a guest's folder, as events for the checkout in which it is at home.

Owns which of the changes there are told: entries of the task's log, files of its folder and drafts
of the project, and those fields of its state that an attempt changes. All else that was changed is
named, and stays where it is. Reads only; what was sent is compared with what there is now.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
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
from sow.schema.travel import METADATA_KEY, SESSION, Event, EventKind, Travel
from sow.state.log_reading import entries_in
from sow.state.log_writing import LOG_FILE, LogEntry, format_entry
from sow.state.places import TaskPlace, find_task
from sow.state.statefiles import STATE_LIMIT, parse_state
from sow.state.task_folder import STATE
from sow.state.task_log import read_entries
from sow.state.verdicts import given_by, newest_feedback, words_of_feedback
from sow.terminal_text import printable, readable
from sow.travel.names import entry_id

LARGEST = 1 << 20
"""How large a file is at most that is told as an event, in bytes."""
MOST_ENTRIES = 2000
MOST_FILES = 200
MOST_NAMED = 20
MOST_LOOKED = 20_000
"""How many files of the state are looked at."""
MOST_READ = 128 << 20
"""How much of them is read, in bytes."""
DRAFTS = "project/context"
"""Where agents write the drafts of documents, below `.sow`."""


class Told(NamedTuple):
    """One event, before it has its place."""

    kind: EventKind
    data: Mapping[str, Any]


class Seen(NamedTuple):
    """What befell a task, but for the fields of its state."""

    events: Sequence[Told]
    sent: Task | None
    """The task as it was sent."""


def look_at_state(guest: Workspace, travel: Travel, task_id: str, known: Sequence[Event]) -> Seen:
    """Return what befell a task since it was sent, but for the entries told already (`known`).

    It runs git: nobody is to wait for that.
    """
    view, place = view_of(guest.root), find_task(guest, task_id)
    inside = place.folder.relative_to(guest.sow)
    events = [*_entries(view, travel, place, inside, known), *_files(guest, view, travel, inside)]
    sent = _sent(view, travel, f"{inside}/{STATE}")
    before = parse_state(sent, TaskState, path=place.state).task if sent else None
    return Seen(events, before)


def state_events(seen: Seen, task: Task) -> Iterator[Told]:
    """Yield what was seen, and what has changed in the task as it stands by now."""
    yield from seen.events
    if fields := task_fields(seen.sent, task):
        yield Told(EventKind.TASK, fields)


def look_at_review(
    guest: Workspace, travel: Travel, task_id: str, known: Sequence[Event]
) -> Sequence[Told]:
    """Return what befell a task under review, but for the verdict and what is told (`known`).

    The task is only looked at: what else was changed there is named. It runs git: nobody is to wait
    for that.
    """
    view, place = view_of(guest.root), find_task(guest, task_id)
    inside = place.folder.relative_to(guest.sow)
    events = [*_entries(view, travel, place, inside, known)]
    own = f"{inside}/{place.feedback.name}/"
    stays: list[str] = []
    for kind, data in _files(guest, view, travel, inside):
        named = data["what"] if kind is EventKind.UNTAKEN else [data["path"]]
        stays += [path for path in named if not path.startswith(own)]
    if stays:
        events.append(Told(EventKind.UNTAKEN, {"what": stays[:MOST_NAMED]}))
    return events


def verdict_events(seen: Sequence[Told], guest: Workspace, job: Job, task: Task) -> Iterator[Told]:
    """Yield what was seen, and what its reviewer has said of a task as it stands by now."""
    yield from seen
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
    sent: dict[str, tuple[str, str]] = {}
    for line in view.records("ls-tree", "-r", "-z", "-l", "--full-tree", travel.packed):
        about, _, path = line.partition("\t")
        _, _, before, size_before = about.split()
        sent[path] = (before, size_before)
    own = {f"{inside}/{STATE}", f"{inside}/{LOG_FILE}"}
    stays = []
    count = 0
    for path, blob, size in _blobs(guest, view):
        was = sent.pop(path, None)
        is_same = was is not None and (str(size) == was[1] if blob is None else blob == was[0])
        if is_same or path in own:
            continue
        is_told = path.startswith((f"{inside}/", f"{DRAFTS}/")) and count < MOST_FILES
        text = _text(guest.sow / path) if is_told and path.isprintable() else None
        if text is None:
            stays.append(printable(readable(path)))
            continue
        count += 1
        yield Told(EventKind.FILE, {"path": path, "text": text, "before": was and was[0]})
    removed = [path for path in sent if path.startswith("project/")]
    stays += [f"{printable(readable(path))} (removed)" for path in removed]
    if stays:
        yield Told(EventKind.UNTAKEN, {"what": stays[:MOST_NAMED]})


def _blobs(guest: Workspace, view: View) -> Iterator[tuple[str, str | None, int]]:
    """Yield the files of the project's state, with the numbers and the sizes of their contents.

    A file that is too large to be told has no number, nor have those behind `MOST_READ` bytes and
    `MOST_LOOKED` files: an agent may have written any number of them.
    """
    small: list[tuple[Path, int]] = []
    large: list[tuple[Path, int]] = []
    left = MOST_READ
    for path, size in islice(_state_files(guest), MOST_LOOKED):
        is_small = size <= min(LARGEST, left)
        (small if is_small else large).append((path, size))
        left -= size if is_small else 0
    names = "".join(f"{path}\n" for path, _ in small).encode("utf-8", "surrogateescape")
    words = ("hash-object", "--no-filters", "--stdin-paths")
    found = view.text(*words, stdin=names, seconds=LONG_SECONDS).split() if small else []
    numbers: Sequence[str | None] = [*found, *[None] * len(large)]
    for (path, size), blob in sorted(zip([*small, *large], numbers, strict=True)):
        yield str(path.relative_to(guest.sow)), blob, size


def _state_files(guest: Workspace) -> Iterator[tuple[Path, int]]:
    """Yield the plain files of the project's state with their sizes; no link is followed."""
    for top, folders, names in os.walk(guest.project):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top, name)
            is_plain = not name.startswith(".") and "\n" not in str(path)
            with suppress(FileNotFoundError):
                if is_plain and stat.S_ISREG((facts := path.lstat()).st_mode):
                    yield path, facts.st_size


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
    if (
        task.session_id is not UNSET
        and SESSION.fullmatch(task.session_id)
        and (
            before is None or (task.session_id, task.session) != (before.session_id, before.session)
        )
    ):
        fields["session_id"] = task.session_id
        fields["session"] = msgspec.to_builtins(task.session) if task.session is not UNSET else None
    if before is None or task.files_modified != before.files_modified:
        fields["files_modified"] = list(task.files_modified)
    known = before.metadata if before is not None else {}
    changed = {
        key: value
        for key, value in task.metadata.items()
        if known.get(key) != value and isinstance(value, str) and METADATA_KEY.fullmatch(key)
    }
    if changed:
        fields["metadata"] = changed
    return fields
