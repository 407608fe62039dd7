"""A shared queue: what its owner, callers and hosts may do, which the server itself enforces."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import pytest
from msgspec.structs import replace
from queue_cases import MANY, NOW, OTHER_WORKER, WORKER, insert, make_job
from stores import name_server

from sow.attempts.fallback import Way, moved
from sow.budgets import accounts
from sow.calls import job_end
from sow.errors import QueueError
from sow.executors.base import Verdict
from sow.ids import AttemptId, JobId, TaskId, WorkerId
from sow.jobs import (
    changes,
    hosts,
    jobs,
    leases,
    records,
    spending,
    statuses,
    travels,
    waiters,
    workers,
)
from sow.jobs.database import Database, open_existing_queue, open_queue
from sow.jobs.faults import QueueChanged
from sow.jobs.hosts import put_on_record, unserved
from sow.jobs.pruning import Limits, prune
from sow.jobs.server_checkout import become_host
from sow.jobs.server_deadlines import LEASE_SECONDS, seconds_left
from sow.jobs.store import Serves
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.amounts import Amounts
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from sow.schema.job import Attempt, Budgets, Cause, Job, JobState, Verb, WorkerRecord
from sow.schema.job_terms import (
    AuthorTerms,
    CheckTerms,
    Fallback,
    JobTerms,
    LeavingSession,
    MergeTerms,
    NextExecutor,
    ReviewTerms,
)
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow
ROLES = ("alice", "bob", "builder", "tester", "nobody_here")
SCHEMA = "sow_rights"


@pytest.fixture(scope="module")
def server(postgres_server: postgres.Server) -> Iterator[postgres.Server]:
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        for role in ROLES:
            connection.execute(f"create role {role} login")
        yield postgres_server
        connection.execute(f"drop schema if exists {SCHEMA} cascade")
        for role in (*ROLES, f"{SCHEMA}_callers", f"{SCHEMA}_hosts"):
            connection.execute(f"drop role if exists {role}")


@pytest.fixture
def owner(workspace: Workspace, server: postgres.Server, poisoned_home: Path) -> Iterator[Any]:
    """Return the queue as its owner has it: shared, with two callers and two hosts."""
    from sow.jobs.server_rights import Joining, share

    name_server(poisoned_home, server)
    workspace.queue_name.write_text(SCHEMA.removeprefix("sow_"))
    with closing(open_queue(workspace)) as opened:
        database: Any = opened
        try:
            joining = Joining(("alice", "bob"), ("builder",))
            share(database, joining, lease_seconds=None)
            share(database, Joining(hosts=["tester"], executors=["gpu"]), lease_seconds=None)
            yield database
        finally:
            database.connection.execute(f"drop schema {SCHEMA} cascade")


def as_role(owner: Any, role: str) -> Any:
    """Return the same queue as a role has it that has logged in."""
    from sow.jobs.queue_server import QueueServer

    made = QueueServer(owner._url.replace("sow@", f"{role}@"), owner.schema, owner.run_folder)
    made.checkout, made.is_shared = owner.checkout, True
    if owner.noted(LEASE_SECONDS) is not None:
        become_host(made, Workspace(owner.run_folder.parents[1]), owner.checkout)
    return made


def named(database: Database, worker: WorkerId = WORKER) -> WorkerId:
    """Return what a worker of a role's host is called."""
    return WorkerId(database.named(worker))


@pytest.fixture
def alice(owner: Any) -> Iterator[Any]:
    with closing(as_role(owner, "alice")) as database:
        yield database


@pytest.fixture
def bob(owner: Any) -> Iterator[Any]:
    with closing(as_role(owner, "bob")) as database:
        yield database


@pytest.fixture
def builder(owner: Any) -> Iterator[Any]:
    with closing(as_role(owner, "builder")) as database:
        yield database


@pytest.fixture
def tester(owner: Any) -> Iterator[Any]:
    with closing(as_role(owner, "tester")) as database:
        yield database


def queued(database: Database, task: str = "010", **more: Any) -> Job:
    job = insert(database, task, **more)
    database.run(SENT.format(ref=REF, job=job.id))
    leases.enqueue(database, job.id, now=NOW)
    return jobs.get_job(database, job.id)


def claim(database: Database, worker: WorkerId = WORKER) -> bytes | None:
    return leases.claim(database, named(database, worker), total=MANY, own=MANY, now=NOW)


def begin(
    database: Database, job: Job, worker: WorkerId = WORKER, share: Amounts | None = None
) -> Attempt:
    attempt = Attempt(
        id=AttemptId(f"a{job.id}"),
        job_id=job.id,
        number=1,
        verb=Verb.SPAWN,
        worker_id=named(database, worker),
        argv=("claude",),
        created_at=NOW,
    )
    with database.transaction():
        jobs.insert_attempt(database, attempt)
        spending.begin(database, job, attempt, share or Amounts())
    return attempt


def register(database: Database, worker: WorkerId = WORKER) -> None:
    process = process_facts.identify(os.getpid())
    assert process is not None
    record = WorkerRecord(
        id=named(database, worker),
        process=process,
        concurrency=1,
        version="1",
        background=False,
        started_at=NOW,
    )
    workers.register(database, record)


def lease_of(database: Database, job_id: JobId) -> Any:
    lease = leases.lease_of(database, job_id)
    assert lease is not None
    return lease


def test_a_caller_queues_and_a_host_runs_it_by_the_functions_of_every_day(
    owner: Any, alice: Any, builder: Any
) -> None:
    job = queued(alice)
    waiter = alice.named("waiter")
    waiters.begin(alice, waiter, job.id, on_behalf_of=None, now=NOW)
    register(builder)
    assert claim(builder) is not None
    begin(builder, job)
    with closing(builder.beats(named(builder))) as beats:
        assert beats.beat().jobs == {job.id}
    lease = lease_of(builder, job.id)
    leases.requeue(builder, lease, state=JobState.BACKOFF, retry_at=NOW, now=NOW, reason="x")
    assert claim(builder) is not None
    again = lease_of(builder, job.id)
    assert again.token > lease.token
    assert again.token >= NOW * 1000, "by the clock: also where a backup has an older number"
    spending.close_attempt(builder, job.id, Cause.CRASHED, "x", now=NOW)
    leases.settle(builder, again, state=JobState.DONE, ended_at=NOW)
    assert waiters.end(alice, waiter, job.id)
    workers.unregister(builder, named(builder))
    builder.sync()
    kinds = [row["kind"] for row in owner.rows("select kind from change order by seq")]
    assert kinds == [
        *("placed", "queued", "running", "attempt_began", "backoff", "running"),
        *("attempt_ended", "done"),
    ]
    assert owner.value("select owner from job") == "alice"
    assert jobs.get_job(alice, job.id).state is JobState.DONE
    assert owner.value("select state from job_history") == "done"


def test_a_caller_cancels_what_it_has_queued_and_asks_for_the_end_of_what_runs(
    alice: Any, builder: Any
) -> None:
    waits, runs = queued(alice, "010"), queued(alice, "020", priority=1)
    assert claim(builder) is not None
    assert leases.withdraw(alice, waits.id)
    jobs.change_job(alice, waits.id, state=JobState.CANCELLED, ended_at=NOW)
    jobs.change_job(alice, runs.id, cancel_requested_at=NOW)
    assert leases.end_is_asked(builder, runs.id)
    assert claim(builder) is None


def test_a_host_sees_and_takes_only_what_it_serves(owner: Any, alice: Any, tester: Any) -> None:
    other, its = queued(alice, "010", priority=5), queued(alice, "020", executor="gpu")
    assert jobs.last_job(tester, other.project_id, other.task_id) is None
    assert claim(tester) is not None
    assert lease_of(tester, its.id).job_id == its.id
    assert claim(tester) is None
    assert owner.value("select count(*) from aside") == 0, "what it does not see is no stray"
    with pytest.raises(QueueError, match="row-level security"):
        tester.run(f"insert into lease values ({other.id}, 'w', 1, 'claude', 0, 0)")


def test_a_host_takes_only_what_its_own_user_serves(
    owner: Any, alice: Any, bob: Any, builder: Any
) -> None:
    """Whatever the queue's owner says of it."""
    builder.serves = Serves('{"claude-code": 1, "codex": null}', '["alice"]')
    queued(bob, "010", priority=9)
    queued(alice, "020", executor="gpu", priority=9)
    first, second, third = queued(alice, "030"), queued(alice, "040"), queued(alice, "050")
    jobs.change_job(owner, third.id, executor_name="codex")
    assert claim(builder) is not None
    assert claim(builder) is not None
    assert claim(builder) is None
    taken = [lease.job_id for lease in leases.leases_of(builder, named(builder))]
    assert taken == [first.id, third.id], "one of claude-code at a time"
    builder.serves = Serves('{"claude-code": null}', None)
    assert claim(builder) is not None
    assert leases.lease_of(owner, second.id) is None, "bob's has the higher priority"


def test_a_host_takes_only_what_it_offers_the_labels_for(
    owner: Any, alice: Any, builder: Any
) -> None:
    gpu = queued(alice, "010", terms=AuthorTerms(requires=("gpu", "linux")), priority=9)
    check = queued(
        alice, "020", verb=Verb.CHECK, executor=None, agent="",
        terms=CheckTerms(names=("unit",), requires=("macos",)), priority=9,
    )  # fmt: skip
    plain = queued(alice, "030", terms=AuthorTerms(clone=True))
    any_of = Serves('{"claude-code": null}', None)
    builder.serves = any_of._replace(labels='["linux"]')
    assert claim(builder) is not None
    assert claim(builder) is None
    taken = [lease.job_id for lease in leases.leases_of(builder, named(builder))]
    assert taken == [plain.id], "those of a higher priority require more"
    builder.serves = any_of._replace(labels='["gpu", "linux", "cuda"]')
    assert leases.is_any_claimable(builder, named(builder), total=MANY, own=MANY, now=NOW)
    assert claim(builder) is not None
    assert leases.lease_of(owner, gpu.id) is not None
    assert claim(builder) is None
    builder.serves = any_of._replace(labels='["macos"]')
    assert claim(builder) is not None
    assert leases.lease_of(owner, check.id) is not None


def test_a_limit_counts_for_each_host_and_that_of_the_queue_for_all(
    owner: Any, alice: Any, builder: Any, tester: Any
) -> None:
    from sow.jobs.server_rights import Joining, share, sharing_of

    share(owner, Joining(hosts=["tester"]), lease_seconds=None)
    for number in range(10, 19):
        queued(alice, f"0{number}", executor="gpu" if number % 2 else "claude-code")
    step = {"executor": None, "agent": "", "verb": Verb.CHECK}
    for number in range(20, 24):
        queued(alice, f"0{number}", terms=CheckTerms(names=("unit",)), priority=-1, **step)

    def claims(database: Any, **limits: int) -> bool:
        bounds: Any = {"total": MANY, "own": MANY, "checks": MANY, **limits}
        name = named(database)
        found = leases.is_any_claimable(database, name, now=NOW, **bounds)
        assert (leases.claim(database, name, now=NOW, **bounds) is not None) is found
        return found

    serves = Serves('{"claude-code": 1, "gpu": null}', None)
    builder.serves = tester.serves = serves
    assert [claims(builder, total=2, checks=1) for _ in range(4)] == [True, True, True, False]
    assert [claims(tester, total=2, checks=1) for _ in range(4)] == [True, True, True, False]
    ran = [lease.executor for lease in leases.leases_of(owner, named(builder))]
    assert sorted(ran) == ["", "claude-code", "gpu"], "one of claude-code on each host"
    share(owner, Joining(most={"": 5, "gpu": 2}), lease_seconds=None)
    assert sharing_of(owner).most == {"": 5, "gpu": 2}
    assert not claims(builder, checks=1), "no more of gpu in all, and none of claude-code here"
    builder.serves = Serves('{"claude-code": null, "gpu": null}', None)
    assert claims(builder, checks=1)
    assert not claims(builder, checks=1), "no more agents in all"
    share(owner, Joining(most={"": None}), lease_seconds=None)
    assert claims(builder, checks=1)
    assert claims(tester, total=1, checks=2), "a check has a limit of its own"


def test_a_budget_counts_what_the_agents_of_all_hosts_use_and_have_reserved(
    owner: Any, alice: Any, builder: Any, tester: Any
) -> None:
    from sow.jobs.server_rights import Joining, share

    share(owner, Joining(hosts=["tester"]), lease_seconds=None)
    budget = Budgets(project=Amounts(tokens=1000))
    first, second = (queued(alice, task, budgets=budget) for task in ("010", "020"))
    assert claim(builder) is not None
    begin(builder, first, share=Amounts(tokens=700))
    assert claim(tester) is not None
    (account,) = accounts.accounts_of(tester, second, now=NOW)
    assert (account.charged, account.running) == (700, 1)
    begin(tester, second, share=Amounts(tokens=300))
    spending.close_attempt(builder, first.id, Cause.CRASHED, "x", now=NOW)
    for database in (owner, alice, builder, tester):
        (account,) = accounts.accounts_of(database, second, now=NOW)
        assert (account.charged, account.running) == (1000, 1), "what is not known counts whole"


NEXT = NextExecutor(
    executor=ExecutorConfig(name="gpu", type=ExecutorType.CODEX), limits=Amounts(tokens=9)
)
OTHER = NextExecutor(executor=ExecutorConfig(name="more", type=ExecutorType.CODEX))
TERMS = AuthorTerms(clone=True, fallback=Fallback(next=(NEXT, OTHER)))


def test_a_host_hands_a_job_over_to_who_may_go_on_by_its_caller_s_word(
    owner: Any, alice: Any, builder: Any, tester: Any
) -> None:
    job = queued(alice, terms=TERMS, budgets=Budgets(project=Amounts(tokens=50)))
    assert claim(builder) is not None
    begin(builder, job)
    running = jobs.get_job(builder, job.id)
    verdict = Verdict(Cause.RATE_LIMITED, "no more", resets_at=NOW + 60)
    changes = moved(running, Way.HAND_OVER, verdict, attempt=1, session="s-1", place=0)
    lease = lease_of(builder, job.id)
    leases.requeue(builder, lease, state=JobState.QUEUED, retry_at=NOW, now=NOW, **changes)
    found = jobs.get_job(owner, job.id)
    assert (found.executor_name, found.fallback.left[0].session) == ("gpu", "s-1")
    assert [each.executor.name for each in found.fallback.next] == ["more", "claude-code"]
    assert found.budgets == Budgets(project=Amounts(tokens=50), executor=Amounts(tokens=9))
    assert owner.value("select executor from job_history") == "gpu"
    assert claim(tester) is not None, "it serves that executor"


def test_a_host_records_the_session_of_a_review(alice: Any, builder: Any) -> None:
    job = queued(alice, verb=Verb.REVIEW, terms=ReviewTerms(commit="a" * 40))
    assert claim(builder) is not None
    terms = ReviewTerms(commit="a" * 40, dialect="acp")
    jobs.change_job(builder, job.id, terms=terms)
    assert jobs.get_job(alice, job.id).terms == terms


PLAIN = {"name": "gpu", "type": "codex"}
BAD_MOVES: list[tuple[str, dict[str, Any]]] = [
    ("nobody named", {"executor_name": "evil", "executor": {"name": "evil", "type": "codex"}}),
    ("its name alone", {"executor_name": "gpu"}),
    ("another type", {"executor_name": "gpu", "executor": {"name": "gpu", "type": "claude"}}),
    ("a program", {"executor_name": "gpu", "executor": {**PLAIN, "command": ["/tmp/evil"]}}),
    ("no terms", {"terms": None}),
    ("not in a clone", {"terms": AuthorTerms(clone=False, fallback=TERMS.fallback)}),
    ("labels", {"terms": replace(TERMS, requires=("gpu",))}),
    (
        "more who may go on",
        {"terms": replace(TERMS, fallback=Fallback(next=(NEXT, OTHER, replace(OTHER,
            executor=ExecutorConfig(name="evil", type=ExecutorType.CODEX)))))},
    ),
    ("no limits", {"terms": replace(TERMS, fallback=Fallback(next=(replace(NEXT, limits=None),)))}),
    ("no budget", {"budgets": None}),
    ("a larger budget", {"budgets": Budgets(project=Amounts(tokens=5000))}),
    (
        "a budget of an executor",
        {"budgets": Budgets(project=Amounts(tokens=50), executor=Amounts(tokens=1))},
    ),
    ("facts of a machine", {"max_parallel": 9}),
]  # fmt: skip


@pytest.mark.parametrize(("what", "changes"), BAD_MOVES, ids=[what for what, _ in BAD_MOVES])
def test_a_host_changes_nothing_else_of_what_its_caller_asked_for(
    alice: Any, builder: Any, what: str, changes: dict[str, Any]
) -> None:
    job = queued(alice, terms=TERMS, budgets=Budgets(project=Amounts(tokens=50)))
    assert claim(builder) is not None
    with pytest.raises(QueueError, match="may not change the terms"):
        records.update(builder, "job", {"id": job.id}, changes)
    records.update(builder, "job", {"id": job.id}, {"reason": "x"})


def test_a_job_that_does_not_travel_waits_for_its_own_host(
    owner: Any, alice: Any, builder: Any
) -> None:
    register(builder)
    put_on_record(builder, Serves('{"claude-code": null}', None, '["linux"]'), version="1")
    job = insert(alice, terms=AuthorTerms(clone=True))
    leases.enqueue(alice, job.id, now=NOW)
    queued(alice, "020")
    reasons = unserved(alice, jobs.active_jobs(alice))
    assert reasons == {"no worker of its own host is heard, and it runs on no other": [job.id]}


def test_the_queue_s_owner_removes_records_and_a_host_its_own_output(
    owner: Any, alice: Any, builder: Any
) -> None:
    workspace = Workspace(owner.run_folder.parents[1])
    job = queued(alice)
    waiters.begin(alice, alice.named("c1"), job.id, on_behalf_of=None, now=NOW)
    assert claim(builder) is not None
    lease = lease_of(builder, job.id)
    leases.settle(builder, lease, state=JobState.DONE, ended_at=NOW)
    jobs.pay_task(alice, job.id)
    folder = workspace.job(job.id)
    folder.mkdir(parents=True)
    limits = Limits(seconds=10, size=1 << 40)
    assert prune(workspace, builder, limits, now=NOW + 11).jobs == (job.id,)
    assert not folder.exists()
    assert prune(workspace, builder, limits, now=NOW + 11).jobs == (), "there is nothing here"
    assert jobs.get_job(owner, job.id).state is JobState.DONE
    assert prune(workspace, owner, limits, now=NOW + 9).jobs == (), "its project was used since"
    assert prune(workspace, owner, limits, now=NOW + 11).jobs == (job.id,)
    assert owner.value("select count(*) from job") == 0
    assert owner.value("select count(*) from waiter") == 0, "whoever waited is on another host"


def test_a_host_knows_which_tasks_of_others_have_a_job_that_has_not_ended(
    alice: Any, builder: Any
) -> None:
    job = queued(alice)
    its_task = (alice.host_id, job.project_id, job.task_id)
    assert hosts.tasks_of_others(builder) == [its_task], "anybody may claim it"
    assert hosts.tasks_of_others(alice) == [], "it is no task of another host's"
    assert claim(builder) is not None
    begin(builder, job)
    assert hosts.tasks_of_others(builder) == [its_task], "it runs"
    leases.settle(builder, lease_of(builder, job.id), state=JobState.DONE, ended_at=NOW)
    assert hosts.tasks_of_others(builder) == []


def test_the_refs_of_an_old_job_are_its_home_s_to_remove(
    owner: Any, alice: Any, builder: Any
) -> None:
    job = queued(alice)
    assert claim(builder) is not None
    assert travels.ended_before(alice, NOW + 9) == [], "it runs"
    settle = {"state": JobState.DONE, "ended_at": NOW}
    begin(builder, job)
    leases.settle(builder, lease_of(builder, job.id), **settle)
    assert travels.ended_before(alice, NOW + 9) == [], "it owes its task what befell it"
    jobs.pay_task(alice, job.id)
    (found,) = travels.ended_before(alice, NOW)
    assert found.travel.ref == f"refs/sow/tasks/{job.project_id[:8]}/010/{'a' * 12}"
    assert (found.task_id, found.shares_ref) == ("010", False)
    assert list(found.attempts) == [1]
    for other in (owner, builder):
        assert travels.ended_before(other, NOW) == []


COPY = "insert into job select (jsonb_populate_record(job, '{}')).* from job where id = 1"
"""Puts a copy of a job on record with other fields."""


def copy_with(**fields: object) -> str:
    own = {"id": 77, "task_id": "077", "state": "preparing", "queue_row": None, "queued_at": None}
    return COPY.format(json.dumps({**own, **fields}).replace("'", "''"))


NAME = "'w@' || current_setting('sow.host')"
"""A name of the host of a role."""
WORKER_OF = (
    "insert into worker (id, process, concurrency, version, background, started_at, host)"
    " select {id}, '', 1, '', true, 0, '{role}'"
)
OTHERS_ID = "(select 'w@' || id from host where role <> session_user limit 1)"
END = "insert into change (project, task, job, kind, data) values ('', '', 1, '{}', '{{}}')"
REF = "(select 'refs/sow/tasks/' || left(project_id, 8) || '/' || task_id || '/aaaaaaaaaaaa')"
SENT = (
    "insert into travel (job_id, ref, packed, base, branch, trunk)"
    " select id, {ref}, repeat('a', 40), repeat('b', 40), 'x', 'main' from job where id = {job}"
)
TOLD = "insert into event (job_id, attempt, place, kind, data) values ({}, {}, 1, 'log', '{{}}')"


def preparing(statement: str) -> str:
    """Return a statement about a job of alice's that is not queued yet."""
    return f"{copy_with(owner='alice')}; {statement}"


ALLOWED = [
    ("alice", preparing(SENT.format(ref=REF, job=77))),
    ("alice", "update job set warnings = '[]' where id = 1"),
    ("tester", TOLD.format(3, 1)),
    ("bob", "update event set outcome = '' where job_id = 3"),
    ("alice", copy_with()),
    ("alice", "update job set budgets = null, reason = 'x' where id = 1"),
    ("alice", "update job set state = 'cancelled' where id = 1"),
    ("alice", END.format("status")),
    ("alice", f"insert into waiter select {NAME}, 1, null, 0"),
    ("alice", "insert into host (id, name) values ('0123456789ab', 'of mine')"),
    ("builder", "update job set reason = 'x' where id = 1"),
    ("builder", WORKER_OF.format(id=NAME, role="builder")),
    ("builder", "update fence set token = token + 1"),
]
"""Of each role statements that the server takes, and that differ little from the next ones."""
REFUSED = [
    ("alice", copy_with(owner="bob"), "to queue in another's name"),
    ("alice", copy_with(state="queued"), "to queue what was not placed"),
    ("alice", "update job set owner = 'bob' where id = 1", "to give a job away"),
    ("alice", "update job set id = 77 where id = 1", "to give it another number"),
    ("alice", "update job set state = 'done' where id = 1", "to say what only a host knows"),
    ("alice", "update job set state = 'running' where id = 1", "the same"),
    ("alice", "update job set prompt = 'another' where id = 1", "to ask for something else"),
    ("alice", "update job set cwd = '/' where id = 1", "to choose a folder"),
    ("alice", "update job set executor = '{}' where id = 1", "to choose a program"),
    ("alice", "update job set terms = null where id = 1", "the same"),
    ("alice", "update job set settled = 9 where id = 1", "to hide an attempt"),
    ("alice", "update job set outcome_status = 'completed' where id = 1", "to judge its task"),
    ("alice", "update job set prior_status = 'completed' where id = 1", "the same, by a cancel"),
    ("alice", "delete from job", "to remove what is on record"),
    ("alice", "insert into lease values (1, 'w', 1, 'x', 0, 0)", "to run a job"),
    ("alice", "insert into attempt select * from attempt", "the same"),
    ("alice", "insert into served values ('builder')", "to say what a host serves"),
    ("alice", "update control set value = '1' where name = 'paused'; delete from fence", "tokens"),
    ("alice", "insert into control values ('lease seconds', '1')", "how long leases are"),
    ("alice", f"insert into waiter select {NAME}, 1, 1, 0", "a job that counts against no limit"),
    ("alice", f"insert into waiter select {OTHERS_ID}, 1, null, 0", "to wait as another host"),
    ("alice", "insert into waiter values ('w', 1, null, 0)", "to wait as no host"),
    ("alice", "update job set batch = 1 where id = 1", "to put a job into another's batch"),
    ("alice", "insert into control values ('most agents', '99')", "how many agents run in all"),
    ("alice", copy_with(host_id="another"), "to queue as another host"),
    ("alice", "insert into host (id, role, name) values ('x', 'builder', 'x')", "the same"),
    ("alice", "update host set role = 'alice'", "to have another's host"),
    ("alice", "update waiter set on_behalf_of = 3 where id like 'alices@%'", "the same"),
    ("alice", END.format("done"), "to make up an end"),
    ("alice", "update change set kind = 'failed'", "to rewrite what was"),
    ("alice", "delete from change", "the same"),
    ("alice", "update spent set usd = 0", "to forget what was spent"),
    ("alice", "update sqlite_sequence set seq = 0", "to have numbers come again"),
    ("alice", "create table own (x text)", "to have tables of its own"),
    ("alice", "alter table job disable row level security", "to end the rules themselves"),
    ("alice", "set role sow", "to be somebody else"),
    ("alice", "set session authorization sow", "the same"),
    ("builder", copy_with(owner="builder"), "to queue"),
    ("builder", "update job set prompt = 'another' where id = 1", "another prompt"),
    ("builder", "update job set executor = '{}' where id = 1", "another program"),
    ("builder", "update job set executor_name = 'sh -c' where id = 1", "the same"),
    ("builder", "update job set terms = '{}' where id = 1", "the same, by what comes after it"),
    ("builder", "update job set cwd = '/' where id = 1", "another folder"),
    ("builder", "update job set owner = 'builder' where id = 1", "to own it"),
    ("builder", "update job set state = 'done' where id = 1", "to end what it does not run"),
    ("builder", "insert into served values ('builder')", "to serve more"),
    ("builder", WORKER_OF.format(id=NAME, role="tester"), "to be another role"),
    ("builder", WORKER_OF.format(id=OTHERS_ID, role="builder"), "to be another host"),
    ("builder", WORKER_OF.format(id="'w'", role="builder"), "to be no host"),
    ("builder", "insert into attempt select * from attempt", "to try what it does not run"),
    ("builder", "insert into waiter values ('w', 1)", "to wait"),
    ("tester", "insert into lease values (1, 'w', 1, 'x', 0, 0)", "to run what it does not serve"),
    ("alice", SENT.format(ref=REF, job=1), "to exchange what a queued job begins with"),
    ("alice", SENT.format(ref=REF, job=2), "what another's job begins with"),
    ("alice", preparing(SENT.format(ref="'refs/heads/main'", job=77)), "to send any ref"),
    ("alice", preparing(SENT.format(ref=f"{REF} || '/..'", job=77)), "the same"),
    ("alice", preparing(SENT.format(ref=f"replace({REF}, '077', '010')", job=77)), "another task"),
    ("alice", preparing(SENT.format(ref=f"replace({REF}, 'aaaa', 'bbbb')", job=77)), "other work"),
    ("alice", TOLD.format(1, 1), "to tell what befell a job"),
    ("bob", TOLD.format(3, 1), "the same"),
    ("bob", "update event set data = '{}' where job_id = 3", "to tell it otherwise"),
    ("builder", TOLD.format(3, 1), "what befell a job that another host runs"),
    ("builder", TOLD.format(1, 1), "what befell a job that nobody runs"),
    ("tester", TOLD.format(3, 2), "what befell it in an attempt that was never begun"),
    ("tester", "update event set outcome = '' where job_id = 3", "to say what came of it"),
    ("tester", "delete from event", "to take back what it has told"),
]
"""Of each role statements that the server refuses, and what for."""

EVIL = "/tmp/evil"
EXECUTOR: dict[str, Any] = {"name": "claude-code", "type": ExecutorType.CLAUDE}
FALLBACK = {"kind": "author", "clone": False}
HOSTILE: dict[str, list[object]] = {
    "id": [1],
    "project_id": ["../../..", "11111111"],
    "task_id": ["../../x", "-x", "10\n"],
    "phase": ["..", "a/b"],
    "verb": ["run", "", "sh -c id"],
    "agent": ["../x", "a b"],
    "executor_name": ["sh -c id", "", "gpu"],
    "max_parallel": [99],
    "executor": [
        json.dumps({**EXECUTOR, "command": [EVIL]}),
        json.dumps({**EXECUTOR, "yolo_mode": True}),
        json.dumps({**EXECUTOR, "custom_args": ["--settings", EVIL]}),
        json.dumps({**EXECUTOR, "env_inherit": ["AWS_SECRET"]}),
        json.dumps({**EXECUTOR, "sandbox": None}),
        json.dumps({**EXECUTOR, "name": "codex"}),
    ],
    "prompt": [],
    "cwd": ["/", "..", "a/../..", "../x", "/etc"],
    "path_variable": [EVIL],
    "config_file": [EVIL],
    "fresh": [],
    "priority": [],
    "parent": [2, 99],
    "state": ["queued", "running", "done"],
    "cause": ["reported"],
    "reason": [],
    "prior_status": ["completed", "abandoned"],
    "outcome_status": ["completed"],
    "retry_at": [],
    "retries": [-9],
    "worker_deaths": [-9],
    "settled": [9],
    "corrections": ['["crashed"]'],
    "warnings": [],
    "denied_tools": ['["Bash"]'],
    "cost_usd": [-1.0],
    "cancel_requested_at": [1.0],
    "caller": [],
    "created_at": [],
    "queued_at": [1.0],
    "started_at": [1.0],
    "ended_at": [1.0],
    "queue_row": [1],
    "owes_task": [True],
    "postponements": [-9],
    "excused_deaths": [-9],
    "waits_since": [],
    "terms": [
        json.dumps({**FALLBACK, "fallback": {"next": [{"executor": {**EXECUTOR, "command": []}}]}}),
        json.dumps({**FALLBACK, "fallback": {"leaving": {"id": "--evil"}}}),
    ],
    "held_for": [],
    "batch": [],
    "batch_step": [],
    "batch_deed": [],
    "budgets": [],
    "reached": ['{"kind": "task"}'],
    "owner": ["bob", "sow"],
    "host_id": ["another", ""],
    "lane": [],
}
"""For each field of a job what a hostile caller may write there, all of which is refused. Nothing
where any value only says what is to be done, or is no more than words, a time or a place in a line.
"""

UNTOUCHED = [
    ("alice", "update job set reason = 'x', cancel_requested_at = 1 where id in (2, 3)"),
    ("alice", "delete from task where id in (select queue_row from job where id = 2)"),
    ("builder", "update job set reason = 'x' where id = 3"),
    ("builder", "update lease set deadline = 0"),
    ("builder", "update lease set worker_id = 'w'"),
    ("builder", "delete from lease"),
    ("builder", "update attempt set cause = 'ok'"),
    ("builder", "update spending set usd = 0"),
    ("builder", "delete from worker"),
    ("builder", "update worker set short_of = 'x'"),
    ("tester", "update job set state = 'failed' where id < 3"),
    ("alice", "update control set value = 'x' where name = 'file_id'"),
    ("alice", "update event set outcome = '' where job_id = 3"),
]
"""Of each role statements that change no row, for they are another's."""


@pytest.fixture
def peopled(owner: Any, alice: Any, bob: Any, tester: Any) -> Any:
    """Job 1 is alice's and waits, 2 is bob's and waits, 3 is bob's and runs on tester."""
    its = alice.named("alices")
    waiters.begin(alice, its, queued(alice, "010").id, on_behalf_of=None, now=NOW)
    queued(bob, "020")
    running = queued(bob, "030", executor="gpu")
    register(tester, OTHER_WORKER)
    assert claim(tester, OTHER_WORKER) is not None
    begin(tester, running, OTHER_WORKER)
    event = "insert into event (job_id, attempt, place, kind, data) values (3, 1, 2, 'log', '{}')"
    tester.run(event)
    return owner


def outcome(owner: Any, role: str, statement: str) -> str:
    """Try a statement as a role, and undo it; return the error's code, or how many rows it met."""
    import psycopg

    with closing(as_role(owner, role)) as database:
        connection = database.connection
        connection.execute("begin")
        try:
            return str(connection.execute(statement).rowcount)
        except psycopg.Error as error:
            return error.sqlstate or ""
        finally:
            connection.execute("rollback")


def test_what_a_role_may_not_do_is_refused_by_the_server(peopled: Any) -> None:
    assert {case: outcome(peopled, *case) for case in ALLOWED} == dict.fromkeys(ALLOWED, "1")
    wrong = [
        f"{role} tried {what}: {statement}"
        for role, statement, what in REFUSED
        if outcome(peopled, role, statement) != "42501"
    ]
    assert wrong == []


EVENT = "insert into event (job_id, attempt, place, kind, data) values (3, 1, {}, {}, {})"
OUT_OF_BOUNDS = [
    ("tester", EVENT.format(3001, "'log'", "'{}'"), "thousands"),
    ("tester", EVENT.format(0, "'log'", "'{}'"), "what comes before all"),
    ("tester", EVENT.format(1, "'log'", "repeat('x', 9000000)"), "more than a file has"),
    ("tester", EVENT.format(1, "repeat('x', 101)", "'{}'"), "the same"),
    ("alice", "insert into host (id, name) values ('../../x', 'x')", "to name a folder"),
    ("alice", "insert into host (id, name) values ('/tmp/x', 'x')", "the same"),
]
"""What has a form that no sow would write."""


def test_what_is_longer_or_named_otherwise_than_it_can_be_is_refused(peopled: Any) -> None:
    wrong = [case for case in OUT_OF_BOUNDS if outcome(peopled, *case[:2]) != "23514"]
    assert wrong == []
    work = EVENT.format(1, "'work'", "'{}'")
    assert outcome(peopled, "tester", work) == "1"
    again = EVENT.format(3, "'work'", "'{}'")
    assert outcome(peopled, "tester", f"{work}; {again}") == "23505", "an attempt leaves one commit"


def test_no_field_of_a_new_job_chooses_what_a_host_runs_or_says_what_only_that_knows(
    peopled: Any,
) -> None:
    columns = peopled.rows(
        "select column_name as name from information_schema.columns"
        " where table_schema = ? and table_name = 'job'",
        (SCHEMA,),
    )
    assert set(HOSTILE) == {column["name"] for column in columns}
    assert outcome(peopled, "alice", copy_with()) == "1"
    taken = [
        f"{field}: {value!r}"
        for field, values in HOSTILE.items()
        for value in values
        if outcome(peopled, "alice", copy_with(**{field: value}))
        != ("23505" if field == "id" else "42501")
    ]
    assert taken == []


def test_what_a_call_puts_on_record_has_nothing_of_its_machine(owner: Any, alice: Any) -> None:
    config = ExecutorConfig(**EXECUTOR, command=("/bin/x",), env_names=("KEY",), max_parallel=3)
    others = Fallback(next=(NextExecutor(executor=replace(config, name="codex")),))
    job = make_job(
        executor=config,
        path_variable="/mine/bin",
        config_file="/mine/config.yaml",
        terms=AuthorTerms(fallback=others),
    )
    made = jobs.insert_job(alice, job)
    row = owner.row("select * from job")
    assert (row["path_variable"], row["config_file"], row["max_parallel"]) == ("", "", None)
    assert json.loads(row["executor"]) == EXECUTOR
    assert made.executor_names == ("claude-code", "codex")
    assert "/bin/x" not in row["terms"]
    assert "KEY" not in row["terms"]


@pytest.mark.parametrize(
    ("verb", "terms"),
    [
        (Verb.SPAWN, None),
        (Verb.RESUME, AuthorTerms(clone=True)),
        (Verb.REVIEW, ReviewTerms(commit="a" * 40)),
        (Verb.CHECK, CheckTerms(names=("test",))),
        (Verb.MERGE, MergeTerms(tasks=(TaskId("010"), TaskId("020")))),
        (Verb.UPDATE, None),
    ],
)
def test_a_caller_queues_jobs_of_each_kind_and_has_them_ended_unbegun(
    alice: Any, verb: Verb, terms: JobTerms | None
) -> None:
    is_step = verb in (Verb.CHECK, Verb.MERGE, Verb.UPDATE)
    asked = {"executor": None, "agent": ""} if is_step else {"executor": "codex"}
    job = insert(alice, verb=verb, terms=terms, prior_status=TaskStatus.FAILED, **asked)
    jobs.change_job(alice, job.id, prior_status=TaskStatus.PENDING)
    leases.enqueue(alice, job.id, now=NOW)
    assert leases.withdraw(alice, job.id)
    job_end.cancel(alice, jobs.get_job(alice, job.id), reason="enough", now=NOW)
    assert jobs.get_job(alice, job.id).state is JobState.CANCELLED
    jobs.pay_task(alice, job.id)


def test_a_caller_goes_on_with_its_job_whatever_a_worker_has_put_there(
    owner: Any, alice: Any
) -> None:
    leaving = LeavingSession(id="s-1")
    job = queued(alice)
    terms = AuthorTerms(fallback=Fallback(leaving=leaving))
    changes = {"terms": terms, "outcome_status": TaskStatus.NEEDS_REVIEW}
    jobs.change_job(owner, job.id, **changes)
    jobs.change_job(alice, job.id, cancel_requested_at=NOW)
    assert jobs.get_job(alice, job.id).fallback.leaving == leaving


def test_the_rows_of_others_are_not_touched(peopled: Any) -> None:
    assert {case: outcome(peopled, *case) for case in UNTOUCHED} == dict.fromkeys(UNTOUCHED, "0")


def test_a_host_says_neither_how_long_its_lease_is_nor_which_token_it_has(
    owner: Any, alice: Any, builder: Any
) -> None:
    job = queued(alice)
    assert claim(builder) is not None
    token = lease_of(owner, job.id).token
    builder.connection.execute("update lease set token = 0")
    builder.connection.execute("update lease set deadline = 'infinity'")
    assert seconds_left(owner) == {job.id: pytest.approx(120, abs=30)}
    assert lease_of(owner, job.id).token == token
    builder.connection.execute("update fence set token = 0")
    assert owner.value("select token from fence") > token


def test_after_its_deadline_another_host_takes_a_lease_over(
    owner: Any, alice: Any, builder: Any, tester: Any
) -> None:
    job = queued(alice, executor="gpu")
    register(builder)
    assert claim(builder) is not None
    its, old = named(tester, OTHER_WORKER), named(builder)
    assert leases.take_over(tester, old, its, now=NOW, if_expired=True) == []
    owner.run("update lease set deadline = deadline - 500")
    owner.run("update worker set beat_at = beat_at - 500")
    (taken,) = leases.take_over(tester, old, its, now=NOW, if_expired=True)
    assert taken.job_id == job.id
    assert owner.value("select host from lease") == "tester"
    workers.unregister(tester, old)
    assert workers.registered(owner) == []
    with closing(builder.beats(old)) as beats:
        assert beats.beat().jobs == set()


def test_roles_join_later_and_a_host_serves_what_was_said_last(owner: Any) -> None:
    from sow.jobs.server_rights import Joining, Served, share, sharing_of

    job = queued(owner)
    joining = Joining(("builder",), ("builder",), ("alice",), ("gpu", "cpu"))
    share(owner, joining, lease_seconds=300)
    found = sharing_of(owner)
    assert found.callers == ["alice", "bob", "builder"]
    assert found.hosts == [
        Served("builder", "alice", "cpu"),
        Served("builder", "alice", "gpu"),
        Served("tester", None, "gpu"),
    ]
    assert found.lease_seconds == 300
    assert jobs.get_job(owner, job.id).state is JobState.QUEUED
    share(owner, Joining(), lease_seconds=None)
    assert sharing_of(owner) == found


def test_a_role_that_is_not_there_and_one_that_does_not_own_the_queue_share_nothing(
    owner: Any, alice: Any
) -> None:
    from sow.jobs.server_rights import Joining, share

    before = owner.noted(LEASE_SECONDS)
    with pytest.raises(QueueError, match="there is no role carol"):
        share(owner, Joining(callers=["carol"]), lease_seconds=900)
    with pytest.raises(QueueError, match="only sow, who owns its tables"):
        share(alice, Joining(callers=["alice"]), lease_seconds=900)
    assert owner.noted(LEASE_SECONDS) == before


def test_an_owner_that_may_make_no_roles_is_told_who_can(
    workspace: Workspace, server: postgres.Server, poisoned_home: Path
) -> None:
    from sow.jobs.server_rights import Joining, share

    name_server(poisoned_home, server)
    with closing(open_queue(workspace)) as opened:
        database: Any = opened
        try:
            database.connection.execute(f"grant usage on schema {database.schema} to alice")
            for (table,) in database.rows(
                f"select tablename from pg_tables where schemaname = '{database.schema}'"
            ):
                database.connection.execute(f"alter table {database.schema}.{table} owner to alice")
            with closing(as_role(database, "alice")) as its:
                with pytest.raises(QueueError, match="may not make roles") as caught:
                    share(its, Joining(), lease_seconds=None)
                assert f"create role {database.schema}_callers" in caught.value.hint
        finally:
            database.connection.execute(f'drop schema "{database.schema}" cascade')


def test_who_was_let_in_by_nobody_is_told_so(
    workspace: Workspace, owner: Any, server: postgres.Server, poisoned_home: Path
) -> None:
    """It would seem to him that nothing was ever queued."""
    configuration = poisoned_home / ".config/sow/config.yaml"
    configuration.write_text(f"queue:\n  url: {server.url.replace('sow@', 'nobody_here@')}\n")
    for opening in (open_queue, open_existing_queue):
        with pytest.raises(QueueError, match="role nobody_here may not use this queue") as caught:
            opening(workspace)
        assert not isinstance(caught.value, QueueChanged)
        assert "sow hosts init --caller nobody_here" in caught.value.hint


def test_those_who_were_let_in_open_it_and_note_what_they_have_seen(
    workspace: Workspace, owner: Any, server: postgres.Server, poisoned_home: Path
) -> None:
    configuration = poisoned_home / ".config/sow/config.yaml"
    for role in ("alice", "builder"):
        configuration.write_text(f"queue:\n  url: {server.url.replace('sow@', f'{role}@')}\n")
        with closing(open_queue(workspace)) as database:
            statuses.catch_up(workspace, database, now=NOW)
            database.note("x", 1)
            assert changes.newest(database).seq >= 0


def test_each_checkout_and_each_role_is_a_host_of_its_own(
    tmp_path: Path, workspace: Workspace, owner: Any, server: postgres.Server, poisoned_home: Path
) -> None:
    (tmp_path / "other/.sow").mkdir(parents=True)
    elsewhere = Workspace(tmp_path / "other")
    elsewhere.queue_name.write_text(SCHEMA.removeprefix("sow_"))
    configuration = poisoned_home / ".config/sow/config.yaml"
    ids = []
    for role in ("alice", "builder"):
        configuration.write_text(f"queue:\n  url: {server.url.replace('sow@', f'{role}@')}\n")
        for place in (workspace, elsewhere, elsewhere):
            with closing(open_queue(place)) as database:
                ids.append(database.host_id)
                assert database.is_elsewhere(f"w1@{ids[0]}") is (database.host_id != ids[0])
    assert len(set(ids)) == 4
    assert ids[1] == ids[2], "a host keeps its id"
    names = owner.rows("select role, name from host where id in (?, ?)", (ids[0], ids[1]))
    assert sorted(row["role"] for row in names) == ["alice", "alice"]
    assert {row["name"].rpartition(":")[2] for row in names} == {
        str(workspace.root.resolve()),
        str(elsewhere.root.resolve()),
    }


def test_a_host_s_id_is_for_the_role_that_came_with_it_first(
    workspace: Workspace, owner: Any, server: postgres.Server, poisoned_home: Path
) -> None:
    configuration = poisoned_home / ".config/sow/config.yaml"
    configuration.write_text(f"queue:\n  url: {server.url.replace('sow@', 'alice@')}\n")
    with closing(open_queue(workspace)) as database:
        database.run("update host set name = 'another' where id = ?", (database.host_id,))
    owner.run("update host set role = 'bob' where role = 'alice'")
    with pytest.raises(QueueError, match="this host's id is kept for the role bob"):
        open_queue(workspace)
