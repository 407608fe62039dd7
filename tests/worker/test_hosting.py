"""A host has the last word: of a record of a shared queue it takes only what is to be done."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attempts.job_values import CLAUDE
from msgspec.structs import replace
from watch_cases import ME, WatchSite

from sow.errors import ConfigurationError
from sow.ids import BatchId
from sow.jobs import batches, jobs, leases, records
from sow.jobs.jobs import FromGuest
from sow.schema.batch import Batch, BatchState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.causes import Cause
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Job, ProcessIdentity, Verb
from sow.schema.job_terms import (
    AuthorTerms,
    CheckTerms,
    Fallback,
    LeavingSession,
    LeftExecutor,
    MergeTerms,
    NextExecutor,
    ReviewTerms,
)
from worker import launch
from worker.context import WorkerContext
from worker.hosting import go_by_own_facts, refuse_unfit, served_here

EVIL = "/tmp/evil"
PROGRAM = ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE, command=(EVIL,))
COMMAND = ExecutorType.COMMAND
NO_PROGRAM = ExecutorConfig(name="claude-code", type=COMMAND)
"""Of another type than the executor of that name here: it has no program, and no start takes it."""


@pytest.fixture
def shared(site: WatchSite, poisoned_home: Path) -> WatchSite:
    """A worker of a queue that several hosts share, as far as it is about records."""
    path = poisoned_home / "own.yaml"
    path.write_text(json.dumps({"agents": {"executors": {"claude-code": {"settings": {}}}}}))
    known = site.context
    configuration = replace(
        known.configuration, path=path, exists=True, executors={CLAUDE.name: CLAUDE}
    )
    site.context = WorkerContext(
        known.workspace, site.database, ME, configuration, {"PATH": "/own/bin"}
    )
    go_by_own_facts(site.context)
    return site


def record(site: WatchSite, **fields: Any) -> Job:
    """Lease a job whose record somebody has written who keeps to no rule; read it as a host."""
    job = site.job()
    site.lease(job)
    if fields:
        records.update(site.database, "job", {"id": job.id}, fields)
    site.database.is_shared = True
    return jobs.get_job(site.database, job.id)


def start(context: WorkerContext, job: Job) -> None:
    lease = leases.lease_of(context.database, job.id)
    assert lease is not None
    refuse_unfit(context, job, lease)


def test_an_honest_job_is_run(shared: WatchSite) -> None:
    job = record(shared, prompt="Write it", cwd="src")
    start(shared.context, job)
    assert (job.prompt, job.cwd) == ("Write it", "src")


OTHERS = Fallback(
    next=(
        NextExecutor(executor=PROGRAM),
        NextExecutor(executor=replace(PROGRAM, name="nobodys")),
    ),
    left=(
        LeftExecutor(name="codex", cause=Cause.AUTH, session="--evil"),
        LeftExecutor(name="codex", cause=Cause.AUTH, session="a-b.1"),
    ),
    leaving=LeavingSession(id="--evil"),
)
REPLACED: list[tuple[str, Any, Callable[[Job], object], object]] = [
    ("executor", PROGRAM, lambda job: job.executor, CLAUDE),
    ("executor", replace(PROGRAM, yolo_mode=True), lambda job: job.executor, CLAUDE),
    ("executor", replace(PROGRAM, type=COMMAND), lambda job: job.executor, NO_PROGRAM),
    ("path_variable", EVIL, lambda job: job.path_variable, "/own/bin"),
    ("config_file", EVIL, lambda job: Path(job.config_file).name, "own.yaml"),
    (
        "terms",
        AuthorTerms(fallback=OTHERS),
        lambda job: job.fallback,
        Fallback(
            next=(NextExecutor(executor=CLAUDE),),
            left=tuple(
                replace(each, session=session)
                for each, session in zip(OTHERS.left, (None, "a-b.1"), strict=True)
            ),
        ),
    ),
    ("terms", ReviewTerms(dialect="--evil"), lambda job: job.terms, ReviewTerms()),
]
"""Of fields that are of a machine what a record says, and what counts here."""


@pytest.mark.parametrize(("field", "value", "read", "own"), REPLACED)
def test_what_is_of_a_machine_is_of_this_one(
    shared: WatchSite, field: str, value: Any, read: Callable[[Job], object], own: object
) -> None:
    assert read(record(shared, **{field: value})) == own


def test_in_a_queue_of_one_s_own_a_record_is_taken_as_it_is(shared: WatchSite) -> None:
    job = shared.job(path_variable=EVIL)
    assert jobs.get_job(shared.database, job.id).path_variable == EVIL
    shared.database.is_shared = True
    assert jobs.get_job(shared.database, job.id).path_variable == "/own/bin"
    for read in (jobs.active_jobs, lambda queue: jobs.ancestors(queue, job.id)):
        assert [each.path_variable for each in read(shared.database)] == ["/own/bin"]


def test_a_batch_chooses_no_folder_of_programs_either(shared: WatchSite) -> None:
    batch = Batch(
        id=BatchId(0),
        project_id=shared.job().project_id,
        name="",
        selection=Selection(),
        policy=BatchPolicy(),
        path_variable=EVIL,
        made_at=0.0,
    )
    made = batches.insert_batch(shared.database, batch)
    read = lambda: batches.get_batch(shared.database, made.id).path_variable  # noqa: E731
    assert read() == EVIL
    batches.change_batch(shared.database, made.id, state=BatchState.OVER, ended_at=1.0)
    shared.database.is_shared = True
    assert read() == "/own/bin"
    batches.insert_batch(shared.database, batch)
    paths = shared.database.rows("select path_variable from batch order by id")
    assert [row["path_variable"] for row in paths] == [EVIL, ""]


UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"verb": Verb.OPEN}, "no worker runs"),
    ({"verb": Verb.CHECK}, "an agent's job has an executor"),
    ({"executor": replace(PROGRAM, name="codex")}, "two executors"),
    ({"phase": "../x"}, "a phase that can be none"),
    ({"agent": "../x"}, "there is no agent"),
    ({"agent": ""}, "there is no agent"),
    ({"cwd": "/etc"}, "outside of the repository"),
    ({"cwd": "a/../../.."}, "outside of the repository"),
    ({"cwd": "out"}, "outside of the repository"),
    ({"terms": ReviewTerms(commit="--upload-pack=evil")}, "a commit that can be none"),
    ({"terms": CheckTerms(names=(), base="HEAD")}, "a commit that can be none"),
    ({"terms": MergeTerms(tasks=("../../x",))}, "a task that can be none"),
]
"""What no sow writes, and a host refuses to run."""


@pytest.mark.parametrize(("fields", "words"), UNFIT)
def test_what_is_not_meant_for_a_host_is_not_started(
    shared: WatchSite, fields: dict[str, Any], words: str
) -> None:
    (shared.workspace.root / "out").symlink_to("/")
    job = record(shared, **fields)
    with pytest.raises(ConfigurationError, match="this host does not run job 1") as caught:
        start(shared.context, job)
    assert words in caught.value.message


def test_a_start_asks_first_whether_a_job_is_meant_for_a_host(shared: WatchSite) -> None:
    job = record(shared, cwd="/etc")
    lease = leases.lease_of(shared.database, job.id)
    assert lease is not None
    servers: Any = None
    with pytest.raises(ConfigurationError, match="this host does not run job 1"):
        launch._start_attempt(shared.context, servers, job, lease, ())


def test_an_executor_that_takes_the_place_of_another_goes_on_record_by_its_name(
    shared: WatchSite,
) -> None:
    job = record(shared)
    changes = {"executor": PROGRAM, "max_parallel": 7, "terms": AuthorTerms(fallback=OTHERS)}
    jobs.change_job(shared.database, job.id, **changes)
    row = shared.database.row("select executor, terms, max_parallel from job")
    assert row is not None
    assert json.loads(row["executor"]) == {"name": "claude-code", "type": "claude"}
    assert (EVIL in row["terms"], row["max_parallel"]) == (False, None)


HARMLESS: dict[str, Any] = {
    "id": "the key of its record",
    "project_id": "another project's job waits until that is checked out",
    "task_id": "looked up as an id: `sow.state.places`",
    "prompt": "what is to be done, on standard input",
    "fresh": "what is to be done",
    "priority": "its place in the line",
    "parent": "a number",
    "state": "what a claim asks for",
    "cause": "words",
    "reason": "words",
    "held_for": "what it waits for",
    "prior_status": "a status; the server refuses those of ended tasks",
    "outcome_status": "the same",
    "retry_at": "when",
    "waits_since": "when",
    "retries": "how often it is tried; the server refuses it",
    "worker_deaths": "the same",
    "excused_deaths": "the same",
    "postponements": "the same",
    "owes_task": "the server refuses it",
    "settled": "the server refuses it",
    "corrections": "the server refuses it",
    "warnings": "words",
    "denied_tools": "words",
    "cost_usd": "a figure",
    "budgets": "what it may use at most",
    "reached": "words",
    "batch": "a number",
    "batch_step": "a number",
    "batch_deed": "words",
    "cancel_requested_at": "when",
    "caller": "a process that may have ended",
    "created_at": "when",
    "queued_at": "when",
    "started_at": "when",
    "ended_at": "when",
}
"""The fields that choose nothing of what a host runs, and why."""


def test_each_field_of_a_record_is_thought_of() -> None:
    tried = {field for field, *_ in REPLACED} | {field for fields, _ in UNFIT for field in fields}
    assert {*tried, *HARMLESS} == set(Job.__struct_fields__)


def test_a_caller_s_process_is_none_of_this_machine_s(shared: WatchSite) -> None:
    caller = ProcessIdentity(pid=1, start_ticks="1", boot_id="another")
    assert record(shared, caller=caller).caller == caller


def test_what_a_host_serves_is_what_its_own_user_says(shared: WatchSite, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    known = shared.context
    context = WorkerContext(known.workspace, known.database, ME, known.configuration, environ)
    assert json.loads(served_here(context).executors) == {}, "it has no program for it"
    assert "executor:claude-code" not in json.loads(served_here(context).labels)
    (tmp_path / "claude").touch(mode=0o755)
    assert json.loads(served_here(context).executors) == {"claude-code": None}
    assert served_here(context).owners is None
    chosen = replace(context.configuration, served_executors=("gpu",), served_owners=("alice",))
    mine = WorkerContext(context.workspace, context.database, ME, chosen, context.environ)
    assert json.loads(served_here(mine).executors) == {}
    assert served_here(mine).owners == '["alice"]'
    job = record(shared)
    with pytest.raises(ConfigurationError, match="does not serve executor 'claude-code'"):
        start(mine, job)


def test_a_broken_file_of_settings_keeps_no_record_from_being_read(shared: WatchSite) -> None:
    shared.context.configuration.path.write_text("agents: [")
    job = record(shared, executor=PROGRAM)
    assert job.agents_executor == ExecutorConfig(name="claude-code", type=ExecutorType.CLAUDE)


def test_an_agent_in_a_guest_s_folder_queues_nothing(shared: WatchSite) -> None:
    shared.database.is_shared = True
    (shared.database.run_folder / "host").write_text("/srv/shop")
    with pytest.raises(FromGuest, match="an agent cannot queue jobs"):
        shared.job()
