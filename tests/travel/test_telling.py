"""What a host tells of a task: nothing that an agent has left keeps the rest from being told."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from attempts.job_values import NOW, make_job
from journeys.gitsite import take_through
from travel.test_guest import HOME_ID
from travel.travelling import Travelling, travelling

from sow.ids import JobId, ProjectId
from sow.paths import Workspace
from sow.schema.job import Verb
from sow.schema.job_terms import ReviewTerms
from sow.schema.task import TaskStatus
from sow.schema.travel import EventKind
from sow.state.log_writing import LogEntry, write_entry
from sow.state.tasks import read_task
from sow.state.verdicts import Judgement, correct
from sow.travel import telling
from sow.travel.guest import GuestWorkspace, guest_at, take_up
from sow.travel.telling import Seen, look_at_review, look_at_state, verdict_events

pytestmark = pytest.mark.slow
TASK = "project/phases/implementation/tasks/010"


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Travelling]:
    with travelling(tmp_path, monkeypatch) as made:
        folder = made.workspace.sow / TASK
        (folder / "large.md").write_bytes(bytes(3 << 20))
        Path(os.fsdecode(os.fsencode(folder) + b"/sent\xff.md")).write_text("x")
        made.travel = made.send()
        (made.elsewhere / ".sow").mkdir()
        yield made


@pytest.fixture
def guest(sent: Travelling) -> GuestWorkspace:
    guest = guest_at(Workspace(sent.elsewhere), HOME_ID, sent.project_id, "010")
    take_up(guest, sent.travel, "origin", sent.project_id, "010")
    return guest


def look(guest: GuestWorkspace, sent: Travelling) -> Seen:
    """Return what is seen of the task; all of it can be written down."""
    seen = look_at_state(guest, sent.travel, "010", [])
    for _, data in seen.events:
        msgspec.json.encode(data)
    return seen


def named(seen: Seen, kind: EventKind) -> list[object]:
    name = {EventKind.FILE: "path", EventKind.LOG: "action", EventKind.UNTAKEN: "what"}[kind]
    return [data[name] for each, data in seen.events if each is kind]


def test_files_of_the_task_are_told_and_all_others_are_named(
    guest: GuestWorkspace, sent: Travelling
) -> None:
    assert look(guest, sent).events == [], "nothing has changed, a large file neither"
    folder = guest.sow / TASK
    (folder / "notes.md").write_text("made\n")
    (folder / "new-large.md").write_bytes(bytes(2 << 20))
    Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff.md")).write_text("x")
    (folder / "odd\x1b.md").write_text("x")
    (folder / "binary").write_bytes(b"\xff\xfe")
    (folder / "link").symlink_to("/etc/passwd")
    (guest.project / "link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/sent\xff.md")).unlink()
    seen = look(guest, sent)
    assert named(seen, EventKind.FILE) == [f"{TASK}/notes.md"]
    (names,) = named(seen, EventKind.UNTAKEN)
    assert isinstance(names, list)
    assert [name.removeprefix(f"{TASK}/") for name in names] == [
        *("binary", "new-large.md", "odd .md", "odd\ufffd.md", "sent\ufffd.md (removed)"),
    ]


def test_only_so_much_of_it_is_read(
    guest: GuestWorkspace, sent: Travelling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have written any number of files, of any size, and git would read them all."""
    monkeypatch.setattr(telling, "MOST_READ", 100_000)
    for name in "abc":
        (guest.sow / TASK / name).write_text("x" * 40_000)
    with (guest.sow / TASK / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    seen = look(guest, sent)
    assert seen.sent is not None
    (names,) = named(seen, EventKind.UNTAKEN)
    assert f"{TASK}/sparse" in str(names)


def test_an_entry_that_is_too_long_keeps_no_other_from_being_told(
    guest: GuestWorkspace, sent: Travelling
) -> None:
    for action, text in (("one", ""), ("long", "x" * (2 << 20)), ("two", "")):
        entry = LogEntry("2026-01-31T12:00:00Z", "implementer", action, text=text)
        write_entry(guest.sow / TASK, entry)
    seen = look(guest, sent)
    assert named(seen, EventKind.LOG) == ["one", "two"]
    assert named(seen, EventKind.UNTAKEN) == [["1 entries of its log"]]


def test_a_verdict_is_told_by_what_was_seen_before_and_runs_no_git(
    sent: Travelling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told in the queue's turn, for which all hosts wait."""
    take_through(sent.site, "010", TaskStatus.IN_PROGRESS, TaskStatus.NEEDS_REVIEW)
    travel = sent.send()
    guest = guest_at(Workspace(sent.elsewhere), HOME_ID, sent.project_id, "010")
    take_up(guest, travel, "origin", sent.project_id, "010", in_clone=False)
    terms = ReviewTerms(commit=travel.base)
    project = ProjectId(sent.project_id)
    job = make_job(id=JobId(2), project_id=project, verb=Verb.REVIEW, agent="reviewer", terms=terms)
    judgement = Judgement(by="reviewer", summary="", commit=travel.base, job=job.id, attempt=1)
    correct(guest, "010", judgement, b"Say two.\n", now=NOW, once=job)
    write_entry(guest.sow / TASK, LogEntry("2026-01-31T12:00:00Z", "reviewer", "Looked"))
    (guest.sow / TASK / "notes.md").write_text("x")
    seen = look_at_review(guest, travel, "010", [])
    monkeypatch.setenv("PATH", "/nowhere")
    events = list(verdict_events(seen, guest, job, read_task(guest, "010")))
    assert [kind for kind, _ in events] == [EventKind.LOG, EventKind.UNTAKEN, EventKind.VERDICT]
    assert events[1].data == {"what": [f"{TASK}/notes.md"]}
    assert events[2].data == {"verdict": "corrections", "summary": "", "findings": "Say two."}
