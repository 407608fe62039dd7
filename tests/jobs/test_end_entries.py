"""The end of every job in the log of its task: once, whoever ended it and whoever writes it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from queue_cases import NOW, insert, make_job

from sow.ids import ProjectId
from sow.jobs import end_entries, jobs
from sow.jobs.database import Database, open_queue
from sow.jobs.end_entries import end_entry, log_end, log_ends
from sow.paths import Workspace
from sow.schema.job import Job, JobState
from sow.schema.task import TaskStatus
from sow.state.log_writing import write_entry
from sow.state.places import find_task
from sow.state.projects import new_project
from sow.state.task_log import read_entries
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="Ends", project_id=PROJECT, now=NOW)
    add_task(workspace, name="Work", agent="implementer", now=NOW)
    return workspace


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    with closing(open_queue(workspace)) as opened:
        yield opened


def ended(database: Database, state: JobState, task: str = "010", **changes: object) -> Job:
    job = insert(database, task_id=task, project_id=PROJECT)
    jobs.change_job(database, job.id, state=state, ended_at=NOW, **changes)
    return jobs.get_job(database, job.id)


def logged(workspace: Workspace) -> list[str]:
    return [entry.action for entry in read_entries(find_task(workspace, "010").log)]


def test_each_end_is_told_once(workspace: Workspace, database: Database) -> None:
    done = ended(database, JobState.DONE, outcome_status=TaskStatus.NEEDS_REVIEW)
    failed = ended(database, JobState.FAILED, reason="it crashed\nand more")
    log_ends(workspace, database)
    log_ends(workspace, database)
    cancelled = ended(database, JobState.CANCELLED, reason="cancelled while it waited")
    log_ends(workspace, database)
    first, second, third = read_entries(find_task(workspace, "010").log)
    assert first.action == f"Job {done.id} done: spawn implementer, needs_review"
    assert (first.agent, first.role, first.job, first.event) == (
        *("sow", "implementer", done.id),
        "job",
    )
    assert (second.action, second.result) == (f"Job {failed.id} failed: it crashed", "failure")
    assert third.action == f"Job {cancelled.id} cancelled: cancelled while it waited"


def test_a_reason_that_is_the_state_alone_is_not_repeated(
    workspace: Workspace, database: Database
) -> None:
    job = ended(database, JobState.CANCELLED, reason="cancelled")
    log_ends(workspace, database)
    assert logged(workspace) == [f"Job {job.id} cancelled"]


def test_an_end_that_was_written_before_it_was_noted_is_not_told_twice(
    workspace: Workspace, database: Database
) -> None:
    job = ended(database, JobState.FAILED, reason="it crashed")
    entry = end_entry(database, job, JobState.FAILED, "it crashed", at=NOW)
    write_entry(find_task(workspace, "010").folder, entry)
    log_ends(workspace, database)
    assert logged(workspace) == [f"Job {job.id} failed: it crashed"]
    assert (find_task(workspace, "010").log).read_text().count("event: job") == 1


@pytest.mark.slow
def test_an_end_that_a_loss_of_power_has_torn_is_told_anew(
    workspace: Workspace, database: Database
) -> None:
    """A log may have lost what was written last, from any byte on."""
    failed = ended(database, JobState.FAILED, reason="it crashed")
    log = find_task(workspace, "010").log
    log_end(workspace, database, failed)
    whole = log.read_bytes()
    [entry] = read_entries(log)
    assert entry.job == failed.id
    for length in range(len(whole)):
        log.write_bytes(whole[:length])
        end_entries._write_ends(workspace, database, set())
        [again] = read_entries(log)
        assert again._replace(timestamp=entry.timestamp) == entry, whole[:length]


def test_a_job_of_the_project_as_a_whole_ends_in_the_projects_log(
    workspace: Workspace, database: Database
) -> None:
    job = ended(database, JobState.DONE, task="")
    log_ends(workspace, database)
    (entry,) = read_entries(workspace.project / "log.md")
    assert entry.job == job.id


def test_the_end_of_a_task_that_is_gone_keeps_no_other_from_being_told(
    workspace: Workspace, database: Database
) -> None:
    ended(database, JobState.DONE, task="990")
    job = ended(database, JobState.DONE)
    log_ends(workspace, database)
    assert [entry.job for entry in read_entries(find_task(workspace, "010").log)] == [job.id]


def test_a_job_of_another_project_waits_until_that_is_checked_out(
    workspace: Workspace, database: Database
) -> None:
    other = ProjectId("3f0c0b5e-9999-4222-8333-444455556667")
    job = jobs.insert_job(database, make_job(task_id="010", project_id=other))
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    log_ends(workspace, database)
    assert logged(workspace) == []
    state = workspace.project_state
    state.write_text(state.read_text().replace(PROJECT, other))
    log_ends(workspace, database)
    assert len(logged(workspace)) == 1


@pytest.mark.parametrize("table", ["change", "job"])
def test_a_damaged_record_keeps_no_other_end_from_being_told(
    workspace: Workspace, database: Database, table: str
) -> None:
    damaged = ended(database, JobState.DONE)
    if table == "change":
        database.run("update change set data = '{' where kind = 'done'")
    else:
        database.run("update job set verb = 'nonsense' where id = ?", (damaged.id,))
    job = ended(database, JobState.FAILED, reason="it crashed")
    log_ends(workspace, database)
    assert logged(workspace) == [f"Job {job.id} failed: it crashed"]


def test_what_a_worker_has_not_synced_is_synced_before_it_goes_on_record(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_record: list[str | None] = []

    def note(_: Path) -> None:
        on_record.append(database.noted(f"{end_entries.LOGGED} {PROJECT}"))

    monkeypatch.setattr(end_entries, "sync_file_system", note)
    job = ended(database, JobState.DONE)
    end_entries.log_end(workspace, database, job)
    end_entries.log_end(workspace, database, job)
    assert [entry.job for entry in read_entries(find_task(workspace, "010").log)] == [job.id]
    assert on_record == []
    log_ends(workspace, database)
    assert on_record == [None]
    assert database.noted(f"{end_entries.LOGGED} {PROJECT}")
    log_ends(workspace, database)
    assert len(on_record) == 1
    assert find_task(workspace, "010").log.read_text().count("event: job") == 1


def test_an_entry_that_was_lost_with_the_power_is_written_again(
    workspace: Workspace, database: Database
) -> None:
    job = ended(database, JobState.FAILED, reason="it crashed")
    end_entries.log_end(workspace, database, job)
    before = logged(workspace)
    find_task(workspace, "010").log.unlink()
    log_ends(workspace, database)
    assert logged(workspace) == before == [f"Job {job.id} failed: it crashed"]


def test_a_worker_writes_nothing_into_the_log_of_another_project(
    workspace: Workspace, database: Database
) -> None:
    other = ProjectId("3f0c0b5e-9999-4222-8333-444455556667")
    job = jobs.insert_job(database, make_job(task_id="010", project_id=other))
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    end_entries.log_end(workspace, database, jobs.get_job(database, job.id))
    assert logged(workspace) == []


def test_what_a_command_has_synced_needs_no_other_sync(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_entries, "sync_file_system", pytest.fail)
    ended(database, JobState.DONE)
    log_ends(workspace, database)
    assert database.noted(f"{end_entries.LOGGED} {PROJECT}")
