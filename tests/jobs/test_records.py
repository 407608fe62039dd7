"""Rows as records: what goes in comes out, whatever the words."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_cases import NOW, PROJECT, insert, make_job

from sow.ids import AttemptId, BatchId, JobId, ProjectId, TaskId, WorkerId
from sow.jobs import jobs, leases, workers
from sow.jobs.database import Database
from sow.jobs.jobs import UnknownJob
from sow.jobs.live import has_live_job
from sow.jobs.records import DamagedRecord
from sow.schema.amounts import Amounts, ReachedLimit, ScopeKind
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import (
    Attempt,
    Budgets,
    Cause,
    HeldFor,
    Job,
    JobState,
    ProcessIdentity,
    Verb,
    WorkerRecord,
)
from sow.schema.job_terms import CheckTerms
from sow.schema.task import TaskStatus

PROCESS = ProcessIdentity(pid=7, start_ticks="123", boot_id="b", pid_namespace="4026531836")

EXECUTOR = ExecutorConfig(
    name="mine",
    type=ExecutorType.COMMAND,
    yolo_mode=True,
    model="m",
    allowed_tools=("a(b:*)", '["c"]'),
    command=("run", "{session_id}"),
    resume=("again",),
    custom_args=("--x", ""),
    env_names=("TOKEN",),
    max_parallel=3,
    timeout_seconds=7200.0,
    stall_timeout_seconds=0.5,
    retries=0,
)

FULL_JOB: dict[str, Any] = {
    "held_for": HeldFor.DEPENDENCIES,
    "verb": Verb.RESUME,
    "executor": EXECUTOR,
    "prompt": '{"looks": "like JSON"}',
    "cwd": "sub/folder",
    "path_variable": "/a:/b",
    "config_file": "/home/me/config.yaml",
    "terms": CheckTerms(names=("unit", "lint")),
    "budgets": Budgets(task=Amounts(usd=5.0, tokens=2e6), unmetered=True),
    "reached": ReachedLimit(kind=ScopeKind.TASK, name="010", enough=Amounts(usd=7.5)),
    "batch": BatchId(7),
    "batch_deed": "check",
    "fresh": True,
    "priority": -3,
    "parent": JobId(4),
    "state": JobState.PARKED,
    "cause": Cause.RATE_LIMITED,
    "reason": "[1] a limit",
    "prior_status": TaskStatus.PAUSED,
    "outcome_status": TaskStatus.FAILED,
    "retry_at": NOW + 0.125,
    "waits_since": NOW + 0.0625,
    "retries": 2,
    "worker_deaths": 1,
    "excused_deaths": 1,
    "postponements": 2,
    "owes_task": True,
    "settled": 4,
    "corrections": ("no_status", "parked"),
    "warnings": ("mind the gap",),
    "denied_tools": ("Bash",),
    "cost_usd": 0.0625,
    "cancel_requested_at": NOW + 1,
    "caller": PROCESS,
    "queued_at": NOW + 2,
    "started_at": NOW + 3,
    "ended_at": NOW + 4,
}


def test_every_field_of_a_job_is_kept(database: Database) -> None:
    untouched = {"id", "project_id", "task_id", "phase", "agent", "created_at", "batch_step"}
    assert set(FULL_JOB) | untouched == set(Job.__struct_fields__)
    job = insert(database, **FULL_JOB)
    assert jobs.get_job(database, job.id) == job
    assert msgspec.structs.replace(job, id=JobId(0)) == make_job(**FULL_JOB)


def test_a_job_without_an_agent_has_no_executor(database: Database) -> None:
    job = jobs.insert_job(database, make_job(verb=Verb.CHECK, agent="", executor=None))
    kept = jobs.get_job(database, job.id)
    assert kept.executor is None
    assert kept.executor_name == ""
    with pytest.raises(AssertionError):
        _ = kept.agents_executor


@pytest.mark.parametrize("state", [state for state in JobState if not state.is_final])
def test_a_task_has_one_live_job_of_whatever_kind(database: Database, state: JobState) -> None:
    job = jobs.insert_job(database, make_job(verb=Verb.CHECK, executor=None))
    jobs.change_job(database, job.id, state=state)
    with pytest.raises(jobs.TaskIsTaken):
        insert(database)


def test_every_field_can_be_changed(database: Database) -> None:
    job = insert(database)
    jobs.change_job(database, job.id, **FULL_JOB)
    assert jobs.get_job(database, job.id) == msgspec.structs.replace(job, **FULL_JOB)


def test_a_job_without_its_optional_fields_is_kept(database: Database) -> None:
    job = insert(database)
    assert jobs.get_job(database, job.id) == job


@settings(
    max_examples=min(50, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_words_are_kept(database: Database, text: str) -> None:
    with database.transaction():
        database.run("delete from job")
        job = insert(database, prompt=text, reason=text, denied_tools=(text,), corrections=(text,))
    assert jobs.get_job(database, job.id) == job


def test_every_field_of_an_attempt_is_kept(database: Database) -> None:
    attempt = Attempt(
        job_id=JobId(1),
        number=2,
        id=AttemptId("1.2.abc"),
        verb=Verb.SPAWN,
        worker_id=WorkerId("w1"),
        argv=("claude", "-p", "[x]", '{"y": 1}', ""),
        supervisor=PROCESS,
        session_id="s",
        cause=Cause.CRASHED,
        reason="why",
        exit_code=0,
        exit_signal=9,
        transcript_seen=True,
        finished_turn=True,
        tool_uses=3,
        cpu_seconds=0.5,
        max_rss_kb=1024,
        created_at=NOW,
        started_at=NOW + 1,
        ended_at=NOW + 2,
    )
    jobs.insert_attempt(database, attempt)
    assert jobs.attempts(database, JobId(1)) == [attempt]
    assert jobs.last_attempt(database, JobId(1)) == attempt
    jobs.change_attempt(database, JobId(1), 2, supervisor=None, cause=None)
    assert jobs.last_attempt(database, JobId(1)) == msgspec.structs.replace(
        attempt, supervisor=None, cause=None
    )


def test_every_field_of_a_worker_is_kept(database: Database) -> None:
    record = WorkerRecord(
        id=WorkerId("w1"),
        process=PROCESS,
        concurrency=3,
        version="1.2",
        background=True,
        started_at=NOW,
    )
    workers.register(database, record)
    assert workers.registered(database) == [record]
    workers.unregister(database, record.id)
    assert workers.registered(database) == []


def test_no_value_of_env_is_ever_in_the_file(database: Database) -> None:
    """§5: the job stores "never the values of `env`"."""
    assert not [name for name in ExecutorConfig.__struct_fields__ if name in ("env", "environ")]
    insert(database, executor=EXECUTOR)
    (row,) = database.rows("select executor from job")
    assert '"env_names":["TOKEN"]' in row["executor"]


def test_an_unknown_job_is_told(database: Database) -> None:
    with pytest.raises(UnknownJob) as caught:
        jobs.get_job(database, JobId(5))
    assert (caught.value.exit_code, caught.value.message) == (4, "no job 5")


def test_the_jobs_of_a_task_are_found(database: Database) -> None:
    first = insert(database, "010", state=JobState.DONE)
    second = insert(database, "010", state=JobState.RUNNING)
    other = insert(database, "020", state=JobState.FAILED)
    task = TaskId("010")
    assert jobs.live_job(database, PROJECT, task) == second
    assert jobs.last_job(database, PROJECT, task) == second
    assert jobs.live_job(database, PROJECT, TaskId("020")) is None
    asked = [has_live_job(database, PROJECT, TaskId(each)) for each in ("010", "020", "030")]
    assert asked == [True, False, False]
    assert [job.id for job in jobs.active_jobs(database)] == [second.id]
    newest = jobs.recent_jobs(database, limit=2)
    assert [job.id for job in newest] == [other.id, second.id]
    assert jobs.recent_jobs(database, limit=9, task_id=task) == [second, first]
    assert jobs.recent_jobs(database, limit=9, project_id=PROJECT, task_id=task) == [second, first]
    other_project = ProjectId("another")
    assert jobs.recent_jobs(database, limit=9, project_id=other_project, task_id=task) == []
    assert jobs.recent_jobs(database, limit=9, active_only=True) == [second]


def test_ancestors_are_told_from_the_youngest_up_and_a_ring_ends(database: Database) -> None:
    top = insert(database, "010")
    middle = insert(database, "020", parent=top.id)
    low = insert(database, "030", parent=middle.id)
    chain = [job.id for job in jobs.ancestors(database, low.id)]
    assert chain == [low.id, middle.id, top.id]
    assert jobs.ancestors(database, JobId(77)) == []


def test_a_worker_that_has_work_to_wait_for_stays_registered(database: Database) -> None:
    """§5: gives up its registration only where there is "no job in a non-final state"."""
    record = WorkerRecord(
        id=WorkerId("w1"),
        process=PROCESS,
        concurrency=1,
        version="1",
        background=True,
        started_at=NOW,
    )
    workers.register(database, record)
    job = insert(database)
    assert not workers.unregister_if_idle(database, record.id, PROJECT)
    assert workers.registered(database) == [record]
    jobs.change_job(database, job.id, state=JobState.DONE)
    assert workers.unregister_if_idle(database, record.id, PROJECT)
    assert workers.registered(database) == []


def test_leases_tell_their_executor(database: Database) -> None:
    leases.enqueue(database, insert(database, executor=EXECUTOR).id, now=NOW)
    leases.claim(database, WorkerId("w1"), total=1, own=1, now=NOW)
    (lease,) = leases.leases_of(database, WorkerId("w1"))
    assert (lease.executor, lease.taken_at) == ("mine", NOW)


@pytest.mark.queue_file
def test_a_table_that_lacks_a_column_is_damaged_and_no_bug(database: Database) -> None:
    """Somebody has rebuilt it, or a sow that was never released has made it."""
    job = insert(database)
    database.run("alter table job rename column prompt to words")
    with pytest.raises(DamagedRecord) as refused:
        jobs.get_job(database, job.id)
    assert refused.value.message.endswith(f"job with id {job.id}: there is no column prompt")
