"""Statuses on the record of changes: written by sow, edited by hand, noted or not; each once."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from queue_cases import NOW, insert, make_job, start_python
from recorded_changes import read_after
from stores import opened

from sow.errors import QueueError
from sow.files import write_atomically
from sow.ids import ProjectId
from sow.jobs import changes, jobs, statuses
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.state import status_notes
from sow.state.projects import new_project
from sow.state.status_notes import size_of_notes
from sow.state.tasks import add_task, change_task, find_task, read_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")
LATER = NOW + 100_000
RACER = Path(__file__).with_name("catching_up_process.py")
VICTIM = Path(__file__).with_name("unnoted_process.py")

Told = tuple[str, str | None, str | None]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="Notes", project_id=PROJECT, now=NOW)
    for task in ("010", "020"):
        add_task(workspace, name="Work", agent="implementer", now=NOW, task_id=task)
    return workspace


@pytest.fixture
def database(workspace: Workspace, store: str) -> Iterator[Database]:
    with opened(workspace, store) as found:
        statuses.catch_up(workspace, found, now=LATER)
        yield found


def recorded(database: Database, after: int = 2) -> list[Told]:
    """Return each status on record after the first one of the two tasks."""
    rows = read_after(database, after)
    return [(row.task, row.data.before, row.data.status) for row in rows if row.kind == "status"]


def set_status(workspace: Workspace, status: str, task: str = "010") -> None:
    change_task(workspace, task, lambda _: {"status": TaskStatus(status)}, now=NOW)


def edit(workspace: Workspace, status: str, task: str = "010") -> None:
    """Write a status as a person does, with an editor that knows nothing of sow."""
    state = find_task(workspace, task).state
    before = read_task(workspace, task).status
    text = state.read_bytes().replace(f"status: {before}".encode(), f"status: {status}".encode())
    write_atomically(state, text)


def without_notes(workspace: Workspace, act: Callable[[], None]) -> None:
    """Do what a command does that is killed between its file and its note."""
    size = size_of_notes(workspace)
    act()
    os.truncate(workspace.status_notes, size)


def test_what_there_was_before_the_record_is_told_once(
    workspace: Workspace, database: Database
) -> None:
    assert recorded(database, after=0) == [("010", None, "pending"), ("020", None, "pending")]
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == []


def test_every_status_that_sow_writes_is_told_in_its_turn(
    workspace: Workspace, database: Database
) -> None:
    for status in ("in_progress", "paused", "in_progress", "needs_review"):
        set_status(workspace, status)
    set_status(workspace, "failed", "020")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [
        ("010", "pending", "in_progress"),
        ("010", "in_progress", "paused"),
        ("010", "paused", "in_progress"),
        ("010", "in_progress", "needs_review"),
        ("020", "pending", "failed"),
    ]
    assert {row.at for row in read_after(database, 2)} == {NOW}


def test_another_iteration_is_told_and_another_name_is_not(
    workspace: Workspace, database: Database
) -> None:
    change_task(workspace, "010", lambda _: {"iteration": 2}, now=NOW)
    change_task(workspace, "010", lambda _: {"name": "Another"}, now=NOW)
    statuses.catch_up(workspace, database, now=LATER)
    (row,) = read_after(database, 2)
    assert (row.data.before, row.data.status, row.data.iteration) == ("pending", "pending", 2)


def test_a_task_that_is_added_is_told(workspace: Workspace, database: Database) -> None:
    add_task(workspace, name="New", agent="tester", now=NOW, task_id="030")
    statuses.take_notes(workspace, database, now=LATER)
    assert recorded(database) == [("030", None, "pending")]


def test_an_edit_by_hand_is_found_once(workspace: Workspace, database: Database) -> None:
    edit(workspace, "paused")
    for _ in range(2):
        statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused")]
    edited_at = find_task(workspace, "010").state.stat().st_mtime
    assert [row.at for row in read_after(database, 2)] == [edited_at]


def test_an_edit_with_a_time_before_all_times_is_told(
    workspace: Workspace, database: Database
) -> None:
    edit(workspace, "paused")
    os.utime(find_task(workspace, "010").state, (-5000, -5000))
    statuses.catch_up(workspace, database, now=LATER)
    assert [row.at for row in read_after(database, 2)] == [0.0]


def test_a_command_that_was_killed_before_its_note_is_found_once(
    workspace: Workspace, database: Database
) -> None:
    without_notes(workspace, lambda: set_status(workspace, "in_progress"))
    for _ in range(2):
        statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "in_progress")]


@pytest.mark.slow
def test_killed_between_file_and_note_two_readers_find_it_once(
    workspace: Workspace, database: Database
) -> None:
    victim = start_python(VICTIM, workspace.root)
    victim.communicate(timeout=240)
    assert victim.returncode == -signal.SIGKILL
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS, "the file is written"
    race(workspace)
    assert recorded(database) == [("010", "pending", "in_progress")]


def race(workspace: Workspace) -> None:
    """Have two processes catch up, both of which have seen the files before either writes."""
    racers = [start_python(RACER, workspace.root) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "seen\n"
    for racer in racers:
        out, err = racer.communicate("go\n", timeout=240)
        assert (out, err) == ("done\n", "")


def test_a_note_that_comes_after_its_file_was_seen_says_nothing_new(
    workspace: Workspace, database: Database
) -> None:
    """A reader comes between the file and its note; the writer lives, and goes on."""
    set_status(workspace, "in_progress")
    late = workspace.status_notes.read_bytes()
    os.truncate(workspace.status_notes, 0)
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "in_progress")]
    workspace.status_notes.write_bytes(late)
    set_status(workspace, "paused")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database)[1:] == [("010", "in_progress", "paused")]


def test_a_status_is_not_told_before_those_that_came_first(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task goes on while a reader looks: the file that it read is old by then."""
    edit(workspace, "in_progress")
    look = statuses._changed_files

    def look_and_go_on(*args: object) -> object:
        seen = look(*args)  # type: ignore[arg-type]
        set_status(workspace, "paused")
        set_status(workspace, "needs_review")
        return seen

    monkeypatch.setattr(statuses, "_changed_files", look_and_go_on)
    statuses.catch_up(workspace, database, now=LATER)
    monkeypatch.undo()
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused"), ("010", "paused", "needs_review")]


def test_nothing_is_written_where_nothing_has_changed(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_status(workspace, "paused")
    statuses.catch_up(workspace, database, now=LATER)

    def refuse() -> None:
        raise AssertionError("a transaction was opened")

    monkeypatch.setattr(database, "transaction", refuse)
    statuses.catch_up(workspace, database, now=LATER)


def test_what_cannot_be_read_now_is_left_to_a_later_look(
    workspace: Workspace, database: Database
) -> None:
    state = find_task(workspace, "010").state
    whole = state.read_bytes()
    write_atomically(state, b"task: [\n")
    edit(workspace, "failed", "020")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("020", "pending", "failed")]
    write_atomically(state, whole.replace(b"status: pending", b"status: paused"))
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database)[1:] == [("010", "pending", "paused")]


def test_another_project_is_another_record(workspace: Workspace, database: Database) -> None:
    other = "44444444-1111-4222-8333-444455556667"
    text = workspace.project_state.read_bytes()
    write_atomically(workspace.project_state, text.replace(PROJECT.encode(), other.encode()))
    edit(workspace, "paused")
    statuses.catch_up(workspace, database, now=LATER)
    write_atomically(workspace.project_state, text)
    edit(workspace, "pending")
    statuses.catch_up(workspace, database, now=LATER)
    rows = read_after(database, 2)
    assert {(row.project, row.task, row.data.before) for row in rows} == {
        (other, "010", None),
        (other, "020", None),
    }, "and of the first one nothing has changed"


def test_without_a_project_nothing_is_looked_at(workspace: Workspace, database: Database) -> None:
    workspace.project.rename(workspace.root / "gone")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == []


def test_a_status_names_the_job_that_lived_then(workspace: Workspace, database: Database) -> None:
    job = insert(database, "010", project_id=PROJECT, created_at=NOW - 5)
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW + 5)
    insert(database, "010", project_id=PROJECT, created_at=NOW + 6)
    set_status(workspace, "paused")
    edit(workspace, "failed", "020")
    statuses.catch_up(workspace, database, now=LATER)
    rows = {row.task: row.job for row in read_after(database, 2) if row.kind == "status"}
    assert rows == {"010": job.id, "020": None}


def test_what_a_worker_settles_is_told_in_the_same_commit(
    workspace: Workspace, database: Database
) -> None:
    job = jobs.insert_job(database, make_job("010", project_id=PROJECT))
    edit(workspace, "needs_review")
    with database.transaction():
        statuses.see(workspace, database, job, read_task(workspace, "010"), now=NOW)
        jobs.change_job(database, job.id, state=JobState.DONE)
    assert [row.kind for row in read_after(database, 2)] == ["placed", "status", "done"]
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "needs_review")]


# The notes' own file


def test_where_no_queue_was_made_nothing_is_noted(workspace: Workspace) -> None:
    set_status(workspace, "paused")
    assert not workspace.run.exists()


def test_the_notes_are_the_owner_s_alone(workspace: Workspace, database: Database) -> None:
    set_status(workspace, "paused")
    assert workspace.status_notes.stat().st_mode & 0o777 == 0o600


def test_what_is_no_note_is_passed_over(workspace: Workspace, database: Database) -> None:
    set_status(workspace, "paused")
    with workspace.status_notes.open("ab") as file:
        file.write(b'\xff\n{"task": 1}\n[]\n\n{"project":"x","task":"../..","at":1e999}\n')
        file.write(
            b'{"project":"p","task":"010","at":1e300,"status":"x","iteration":1,"file":""}\n'
        )
    set_status(workspace, "failed")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused"), ("010", "paused", "failed")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iteration", str(-(10**23))),
        ("iteration", str(10**23)),
        ("iteration", str(2**63)),
        ("project", f'"{"p" * 300_000}"'),
        ("file", f'"{"f" * 300_000}"'),
        ("task", f'"{"1" * 300_000}"'),
    ],
)
def test_a_note_that_no_record_can_hold_bars_nobody(
    workspace: Workspace, database: Database, field: str, value: str
) -> None:
    """Agents may write there too, and a job that ends puts the notes on record first."""
    fields = {"project": '"x"', "task": '"010"', "at": "1", "status": '"failed"', "file": '"f"'}
    fields |= {"iteration": "1", field: value}
    with workspace.status_notes.open("a") as file:
        file.write("{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}\n")
    set_status(workspace, "paused")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused")]
    assert {row.project for row in read_after(database, 0)} == {PROJECT}


def test_of_endless_notes_only_the_last_are_read(workspace: Workspace, database: Database) -> None:
    """Whoever ends a job reads them in its commit: nobody else can write meanwhile."""
    set_status(workspace, "in_progress")
    os.truncate(workspace.status_notes, 1 << 40)
    set_status(workspace, "paused")
    statuses.take_notes(workspace, database, now=LATER)
    assert recorded(database) == [], "that line begins with a terabyte of nothing"
    set_status(workspace, "failed")
    statuses.take_notes(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "failed")]
    set_status(workspace, "in_progress")
    statuses.catch_up(workspace, database, now=LATER)
    statuses.catch_up(workspace, database, now=LATER)
    assert size_of_notes(workspace) < statuses.ENOUGH_BYTES
    assert recorded(database) == [("010", "pending", "failed"), ("010", "failed", "in_progress")]


def test_half_a_note_waits_for_its_end(workspace: Workspace, database: Database) -> None:
    set_status(workspace, "paused")
    line = workspace.status_notes.read_bytes()
    workspace.status_notes.write_bytes(line[:20])
    statuses.take_notes(workspace, database, now=LATER)
    assert recorded(database) == []
    workspace.status_notes.write_bytes(line)
    statuses.take_notes(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused")]


@pytest.mark.parametrize("at", [-5.0, 1e300])
def test_a_time_that_cannot_be_is_put_right(
    workspace: Workspace, database: Database, at: float
) -> None:
    change_task(workspace, "010", lambda _: {"status": TaskStatus.PAUSED}, now=NOW)
    text = workspace.status_notes.read_text()
    workspace.status_notes.write_text(text.replace(f'"at":{NOW}', f'"at":{at}'))
    statuses.take_notes(workspace, database, now=LATER)
    (row,) = read_after(database, 2)
    assert row.at in (0.0, LATER)


def test_the_notes_are_begun_anew_and_none_is_lost(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statuses, "ENOUGH_BYTES", 300)
    monkeypatch.setattr(status_notes, "MOST_BYTES", 250)
    words = ["paused", "in_progress", "failed", "in_progress", "needs_review"]
    expected = []
    for number in range(30):
        before = read_task(workspace, "010").status.value
        status = words[number % len(words)]
        set_status(workspace, status)
        expected.append(("010", before, status))
        if number % 4 == 0:
            statuses.catch_up(workspace, database, now=LATER)
            statuses.catch_up(workspace, database, now=LATER)
    statuses.catch_up(workspace, database, now=LATER)
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == expected
    assert size_of_notes(workspace) < 300


def test_notes_that_somebody_removed_are_read_from_their_new_beginning(
    workspace: Workspace, database: Database
) -> None:
    for status in ("in_progress", "paused", "in_progress"):
        set_status(workspace, status)
    statuses.catch_up(workspace, database, now=LATER)
    before = changes.newest(database).seq
    workspace.status_notes.unlink()
    for status in ("paused", "failed"):
        set_status(workspace, status)
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database, before) == [
        ("010", "in_progress", "paused"),
        ("010", "paused", "failed"),
    ]


def test_what_a_link_in_place_of_the_notes_leads_to_is_left_alone(
    workspace: Workspace, database: Database, tmp_path: Path
) -> None:
    """A repository may bring it along: it would be written to, and begun anew."""
    theirs = tmp_path / ".bashrc"
    theirs.write_text("alias ll='ls -l'\n" * 10_000)
    before = theirs.read_bytes()
    assert len(before) > statuses.ENOUGH_BYTES
    workspace.status_notes.unlink(missing_ok=True)
    workspace.status_notes.symlink_to(theirs)
    set_status(workspace, "paused")
    for _ in range(3):
        statuses.catch_up(workspace, database, now=LATER)
    assert theirs.read_bytes() == before
    assert recorded(database) == [("010", "pending", "paused")]


@pytest.mark.parametrize("kind", ["a folder", "a pipe"])
def test_what_lies_in_the_notes_way_harms_nothing(
    workspace: Workspace, database: Database, kind: str
) -> None:
    if kind == "a folder":
        workspace.status_notes.mkdir()
    else:
        os.mkfifo(workspace.status_notes)
    set_status(workspace, "paused")
    statuses.catch_up(workspace, database, now=LATER)
    assert recorded(database) == [("010", "pending", "paused")]


@pytest.mark.slow
def test_two_readers_at_once_tell_it_once(workspace: Workspace, database: Database) -> None:
    """Both have seen the edit before either writes."""
    edit(workspace, "paused")
    edit(workspace, "failed", "020")
    race(workspace)
    assert sorted(recorded(database)) == [
        ("010", "pending", "paused"),
        ("020", "pending", "failed"),
    ]


def test_a_reader_that_cannot_write_still_reads(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise QueueError("the disk is full", hint="Make room.")

    monkeypatch.setattr(statuses, "catch_up", fail)
    with closing(ChangeFeed(workspace, None)) as feed:
        assert [row.task for row in feed.read(now=NOW)] == ["010", "020"]
        assert feed.lagging == "the disk is full"


@pytest.mark.queue_file
@pytest.mark.slow
def test_ten_thousand_statuses(workspace: Workspace, database: Database) -> None:
    """All in one commit: a record of a long run is no reason to wait."""
    set_status(workspace, "paused")
    line = workspace.status_notes.read_text()
    both = [line.replace("paused", word) for word in ("paused", "failed")]
    workspace.status_notes.write_text("".join(both * 5_000))
    before = database.connection.execute("pragma application_id").fetchone()[0]
    statuses.take_notes(workspace, database, now=LATER)
    after = database.connection.execute("pragma application_id").fetchone()[0]
    assert after == before + 1
    assert changes.newest(database).seq == 2 + 10_000
