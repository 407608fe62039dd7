"""What becomes of a job that never came to run, and of its task."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from reports.job_cases import NOW, make_attempt, make_job

from sow.calls.job_end import cancel, finish, give_back, is_abandoned, undo
from sow.errors import StateError
from sow.ids import ProjectId
from sow.jobs import jobs, pruning, waiters
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import Job, JobState, ProcessIdentity, Verb
from sow.schema.task import TaskStatus
from sow.state.projects import new_project
from sow.state.tasks import add_task, change_task, read_task
from sow.state.transitions import TERMINAL
from sow.state.workspace_init import init_workspace

PROJECT = ProjectId("3f0c0b5e-1111-4222-8333-444455556667")
LIVE_STATES = [state for state in JobState if not state.is_final]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    init_workspace(tmp_path)
    new_project(workspace, name="journey", project_id=PROJECT, now=NOW)
    add_task(workspace, name="Add JWT auth", agent="implementer", now=NOW, task_id="010")
    return workspace


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    database = open_queue(workspace)
    yield database
    database.close()


@pytest.fixture
def dead() -> ProcessIdentity:
    """A process that was, and is no more."""
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    identity = process_facts.identify(process.pid)
    process.communicate()
    assert identity is not None
    return identity


def insert(database: Database, **fields: object) -> Job:
    job = jobs.insert_job(database, make_job(project_id=PROJECT, **fields))
    waiters.begin(database, "gone", job.id, on_behalf_of=None, now=NOW)
    return job


def set_status(workspace: Workspace, status: TaskStatus) -> None:
    change_task(workspace, "010", lambda _: {"status": status}, now=NOW)


@pytest.mark.parametrize("state", JobState)
def test_only_a_preparing_job_can_be_abandoned(
    workspace: Workspace, database: Database, state: JobState, dead: ProcessIdentity
) -> None:
    job = make_job(state=state, caller=dead)
    assert is_abandoned(workspace, database, job, now=NOW) is (state is JobState.PREPARING)


def test_a_job_whose_caller_lives_is_not_abandoned(
    workspace: Workspace, database: Database, dead: ProcessIdentity
) -> None:
    job = make_job(caller=process_facts.identify(os.getpid()))
    assert not is_abandoned(workspace, database, job, now=NOW)
    elsewhere = msgspec.structs.replace(dead, pid_namespace="1")
    assert not is_abandoned(workspace, database, make_job(caller=elsewhere), now=NOW), (
        "nothing tells of it here"
    )


@pytest.mark.parametrize("verb", Verb)
def test_a_job_that_has_taken_its_task_is_queued(
    workspace: Workspace, database: Database, verb: Verb
) -> None:
    job = insert(database, verb=verb, prior_status=TaskStatus.PAUSED)
    set_status(workspace, TaskStatus.IN_PROGRESS)
    assert finish(workspace, database, job, now=NOW) is JobState.QUEUED
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    assert waiters.is_owed(database, workspace, job.id)


def test_a_job_that_has_not_taken_its_task_is_undone(
    workspace: Workspace, database: Database
) -> None:
    job = insert(database, prior_status=TaskStatus.PENDING)
    assert finish(workspace, database, job, now=NOW) is JobState.CANCELLED
    assert read_task(workspace, "010").status is TaskStatus.PENDING
    assert not waiters.is_owed(database, workspace, job.id)


def test_a_spawn_of_a_task_that_was_in_progress_may_lack_its_session_and_is_undone(
    workspace: Workspace, database: Database
) -> None:
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = insert(database, prior_status=TaskStatus.IN_PROGRESS)
    assert finish(workspace, database, job, now=NOW) is JobState.CANCELLED
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


def test_a_resume_of_a_task_that_was_in_progress_is_queued(
    workspace: Workspace, database: Database
) -> None:
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = insert(database, prior_status=TaskStatus.IN_PROGRESS, verb=Verb.RESUME)
    assert finish(workspace, database, job, now=NOW) is JobState.QUEUED


@pytest.mark.parametrize("state", [state for state in JobState if state is not JobState.PREPARING])
def test_a_job_that_has_gone_on_is_not_undone(
    workspace: Workspace, database: Database, state: JobState
) -> None:
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = insert(database, state=state, prior_status=TaskStatus.PENDING)
    undo(workspace, database, job, reason="interrupted", now=NOW)
    assert jobs.get_job(database, job.id).state is state
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


def test_an_interrupted_call_gives_back_the_task_it_had_taken(
    workspace: Workspace, database: Database
) -> None:
    job = insert(database, prior_status=TaskStatus.PENDING)
    set_status(workspace, TaskStatus.IN_PROGRESS)
    undo(workspace, database, job, reason="interrupted", now=NOW)
    ended = jobs.get_job(database, job.id)
    assert (ended.state, ended.reason) == (JobState.CANCELLED, "interrupted")
    assert read_task(workspace, "010").status is TaskStatus.PENDING


def owing(database: Database, **fields: object) -> Job:
    """Return a job that has ended and was to give its task back after that."""
    fields = {"prior_status": TaskStatus.PENDING, "outcome_status": TaskStatus.PENDING, **fields}
    return insert(database, state=JobState.CANCELLED, owes_task=True, **fields)


def paid(database: Database, job: Job) -> bool:
    return not jobs.get_job(database, job.id).owes_task


def test_a_task_gets_the_status_that_its_ended_job_owes_it(
    workspace: Workspace, database: Database
) -> None:
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = owing(database)
    assert give_back(workspace, database, job, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.PENDING
    assert paid(database, job)


def test_a_task_whose_job_failed_and_could_not_write_it_is_failed_then(
    workspace: Workspace, database: Database
) -> None:
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = insert(database, state=JobState.FAILED, owes_task=True, prior_status=TaskStatus.PENDING)
    assert give_back(workspace, database, job, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.FAILED
    assert jobs.get_job(database, job.id).outcome_status is TaskStatus.FAILED


@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize("state", [JobState.DONE, JobState.CANCELLED])
def test_no_job_s_record_ends_a_task(
    workspace: Workspace, database: Database, state: JobState, status: TaskStatus
) -> None:
    """A host of a shared queue writes there what it likes, and nobody has judged the work."""
    set_status(workspace, TaskStatus.IN_PROGRESS)
    job = insert(database, state=state, owes_task=True, outcome_status=status)
    assert give_back(workspace, database, job, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW
    assert jobs.get_job(database, job.id).outcome_status is TaskStatus.NEEDS_REVIEW


@pytest.mark.parametrize("state", LIVE_STATES)
def test_a_task_that_another_call_has_taken_is_not_given_back(
    workspace: Workspace, database: Database, state: JobState
) -> None:
    ended = owing(database)
    insert(database, state=state, prior_status=TaskStatus.PENDING)
    set_status(workspace, TaskStatus.IN_PROGRESS)
    assert give_back(workspace, database, ended, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    assert paid(database, ended)
    assert jobs.get_job(database, ended.id).outcome_status is TaskStatus.PENDING


def test_a_task_that_was_given_back_already_is_left_alone(
    workspace: Workspace, database: Database
) -> None:
    """Whoever looked before another gave it back changes nothing of what came after."""
    ended = owing(database)
    give_back(workspace, database, ended, now=NOW)
    set_status(workspace, TaskStatus.IN_PROGRESS)
    assert give_back(workspace, database, ended, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS


def test_a_status_that_somebody_has_set_stays_and_is_the_outcome(
    workspace: Workspace, database: Database
) -> None:
    set_status(workspace, TaskStatus.NEEDS_REVIEW)
    ended = owing(database, outcome_status=TaskStatus.PAUSED)
    assert give_back(workspace, database, ended, now=NOW)
    assert jobs.get_job(database, ended.id).outcome_status is TaskStatus.NEEDS_REVIEW
    assert read_task(workspace, "010").status is TaskStatus.NEEDS_REVIEW


def test_a_task_of_another_project_waits_until_that_is_checked_out(
    workspace: Workspace, database: Database
) -> None:
    ended = owing(database)
    set_status(workspace, TaskStatus.IN_PROGRESS)
    elsewhere = msgspec.structs.replace(ended, project_id=ProjectId("another"))
    assert not give_back(workspace, database, elsewhere, now=NOW)
    assert read_task(workspace, "010").status is TaskStatus.IN_PROGRESS
    assert not paid(database, ended)


def test_a_task_that_is_gone_is_owed_nothing(workspace: Workspace, database: Database) -> None:
    (folder,) = workspace.project.glob("phases/*/tasks/010")
    shutil.rmtree(folder)
    ended = owing(database)
    assert give_back(workspace, database, ended, now=NOW)
    assert paid(database, ended)


def test_a_task_that_cannot_be_read_stays_owed(workspace: Workspace, database: Database) -> None:
    (state,) = workspace.project.glob("phases/*/tasks/010/state.yaml")
    state.write_text("task: [")
    ended = owing(database)
    with pytest.raises(StateError):
        give_back(workspace, database, ended, now=NOW)
    assert not paid(database, ended)


def test_a_job_that_owes_its_task_is_not_pruned(database: Database) -> None:
    ended = owing(database, ended_at=1.0)
    assert pruning.ended_jobs(database) == []
    jobs.pay_task(database, ended.id)
    assert [each.id for each in pruning.ended_jobs(database)] == [ended.id]


@pytest.mark.parametrize("prior", [TaskStatus.PENDING, TaskStatus.IN_PROGRESS, None])
def test_what_a_cancelled_job_leaves(database: Database, prior: TaskStatus | None) -> None:
    """The status from before; never `in_progress` with nobody at work; paused once it has run."""
    left = TaskStatus.PAUSED if prior is TaskStatus.IN_PROGRESS else prior
    for expected, ran in ((left, False), (TaskStatus.PAUSED, True)):
        job = insert(database, prior_status=prior)
        if ran:
            attempt = msgspec.structs.replace(make_attempt(), job_id=job.id)
            jobs.insert_attempt(database, attempt)
        cancel(database, job, reason="", now=NOW)
        assert jobs.get_job(database, job.id).outcome_status is expected
