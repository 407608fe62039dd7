"""In a shared queue too, a claim takes the job that a look at every message would find."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import postgres
import pytest
from claim_cases import DRAWN, LIMITS, Drawn, claim, empty, end, put, queue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_cases import NOW, WORKER
from stores import name_server
from test_server_rights import as_role

from sow.errors import QueueError
from sow.ids import JobId, WorkerId
from sow.jobs import leases
from sow.jobs.database import open_queue
from sow.jobs.store import Serves
from sow.paths import Workspace

pytestmark = pytest.mark.slow
SCHEMA = "sow_lanes"
ROLES = ("lane_caller", "lane_builder", "lane_tester")
CALLER, BUILDER, TESTER = ROLES
FORM_5 = """
    drop function heads(double precision); drop trigger lane on job; drop function set_lane();
    drop index job_retry; alter table job drop column lane; alter table task drop column job_id;
    update control set value = '5' where name = 'format'
"""
"""Makes of the tables what those of the form before were."""


class Place(NamedTuple):
    """Where a job of a shared queue comes from, and where it may run."""

    owner: str
    """A role."""
    home: str
    """The role of the host that it was queued from, or nobody's."""
    travels: bool
    sent_to: str
    tried_on: tuple[str, ...]


HOST = st.sampled_from(["", BUILDER, TESTER])
PLACES = st.builds(
    Place,
    st.sampled_from([CALLER, CALLER, "somebody"]),
    HOST,
    st.sampled_from([True, True, False]),
    HOST,
    st.sampled_from([(), (), (BUILDER,), (TESTER,), (BUILDER, TESTER), (TESTER, BUILDER)]),
)
SERVES = st.builds(
    Serves,
    st.sampled_from(['{"claude-code": null, "gpu": 1}', '{"gpu": null}', "{}"]),
    st.sampled_from([None, None, f'["{CALLER}"]']),
    st.sampled_from(["[]", '["gpu"]', '["gpu", "linux"]']),
)


class Shared(NamedTuple):
    """A shared queue, as its owner has it and as its hosts do."""

    owner: Any
    hosts: dict[str, Any]

    def id_of(self, role: str) -> str:
        return self.hosts[role].host_id if role else ""


@pytest.fixture
def shared(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> Iterator[Shared]:
    from sow.jobs.server_rights import Joining, share

    name_server(poisoned_home, postgres_server)
    workspace.queue_name.write_text(SCHEMA.removeprefix("sow_"))
    with ExitStack() as stack:
        owner: Any = stack.enter_context(closing(open_queue(workspace)))
        drop = f"drop schema if exists {SCHEMA} cascade"
        for role in (*ROLES, f"{SCHEMA}_callers", f"{SCHEMA}_hosts"):
            stack.callback(owner.connection.execute, f"drop role if exists {role}")
        stack.callback(owner.connection.execute, drop)
        for role in ROLES:
            owner.connection.execute(f"create role {role} login")
        share(owner, Joining((CALLER,), (BUILDER,)), lease_seconds=None)
        served = Joining(hosts=[TESTER], owners=[CALLER], executors=["gpu"])
        share(owner, served, lease_seconds=None)
        yield Shared(
            owner,
            {
                role: stack.enter_context(closing(as_role(owner, role)))
                for role in (BUILDER, TESTER)
            },
        )


def put_in_place(shared: Shared, job_id: JobId, place: Place) -> None:
    """Write down of a job that is not queued yet what others have told of it."""
    owner = shared.owner
    owner.run(
        "update job set owner = ?, host_id = ? where id = ?",
        (place.owner, shared.id_of(place.home), job_id),
    )
    for number, role in enumerate(place.tried_on, 1):
        owner.run(
            "insert into attempt (job_id, number, id, verb, worker_id, argv, reason, created_at,"
            " host) values (?, ?, ?, 'spawn', ?, '[]', '', 0, ?)",
            (job_id, number, f"{job_id}.{number}", f"w@{shared.id_of(role)}", role),
        )
    if place.travels:
        owner.run(
            "insert into travel (job_id, ref, packed, base, branch, trunk, host)"
            " values (?, '', '', '', '', '', ?)",
            (job_id, shared.id_of(place.sent_to) or None),
        )


@settings(
    max_examples=settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    drawn=st.lists(st.tuples(DRAWN, PLACES), min_size=1, max_size=10),
    limits=LIMITS,
    serves=st.tuples(SERVES, SERVES),
    silent=HOST,
    steps=st.lists(st.sampled_from([BUILDER, BUILDER, TESTER, "end"]), max_size=10),
)
def test_a_claim_takes_what_a_look_at_every_message_finds(
    shared: Shared,
    drawn: list[tuple[Drawn, Place]],
    limits: Any,
    serves: tuple[Serves, Serves],
    silent: str,
    steps: list[str],
) -> None:
    owner = shared.owner
    empty(owner)
    owner.run("delete from travel where true")
    owner.run("update host set heard_at = clock() - 500 * cast(role = ? as int)", (silent,))
    owner.connection.execute("alter table travel disable trigger guard")
    owner.connection.execute("alter table job disable trigger guard")
    jobs_put = put(owner, [its for its, _ in drawn])
    for job, (its, place) in zip(jobs_put, drawn, strict=True):
        put_in_place(shared, job.id, place)
        queue(owner, job, its)
    owner.connection.execute("alter table travel enable trigger guard")
    owner.connection.execute("alter table job enable trigger guard")
    for host, its_serves in zip(shared.hosts.values(), serves, strict=True):
        host.serves = its_serves
    running = list[JobId]()
    for step in [*steps, BUILDER, TESTER]:
        if step == "end":
            if running:
                end(owner, running.pop(0))
        else:
            host = shared.hosts[step]
            if taken := claim(host, WorkerId(host.named(WORKER)), NOW, limits):
                running.append(taken)


def test_what_runs_of_jobs_that_a_host_does_not_serve_is_no_single_call_s(shared: Shared) -> None:
    owner, tester = shared.owner, shared.hosts[TESTER]
    tester.serves = Serves('{"gpu": null}', None)
    drawn = [*[Drawn("claude-code")] * 2, *[Drawn("gpu", batch=1)] * 2, Drawn("gpu")]
    put_jobs = put(owner, drawn)
    owner.run("update job set owner = ?, host_id = ?", (CALLER, tester.host_id))
    for number, job in enumerate(put_jobs[:3]):
        owner.run(
            "insert into lease (job_id, worker_id, token, executor, taken_at, deadline, host)"
            " select id, 'w', ?, executor_name, 0, 1e18, ? from job where id = ?",
            (number, BUILDER, job.id),
        )
    for job in put_jobs[3:]:
        leases.enqueue(owner, job.id, now=NOW)
    limits = {"total": 9, "own": 9, "checks": 9, "most": None}
    taken = claim(tester, WorkerId(tester.named(WORKER)), NOW, limits)
    assert taken == put_jobs[-1].id, "it sees one of the batch run, and no single call"


def test_of_each_job_the_host_of_its_last_attempt_is_found(shared: Shared) -> None:
    from sow.jobs.hosts import last_hosts

    owner = shared.owner
    owner.run("update host set name = role")
    made = put(owner, [Drawn("gpu")] * 3)
    for job, tried_on in zip(made, [(BUILDER, TESTER), (), (TESTER, BUILDER)], strict=True):
        put_in_place(shared, job.id, Place(CALLER, BUILDER, False, "", tried_on))
    found = last_hosts(owner, [job.id for job in made])
    assert found == {made[0].id: TESTER, made[2].id: BUILDER}


COLUMNS = """
    select column_name as name from information_schema.columns
    where table_schema = ? and table_name = 'job'
"""
MANY = "generate_series(1, 5000) as n"


def rows_of(plan: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield how many rows each node of a plan that was run has read, and of what."""
    read = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    yield int(read * plan["Actual Loops"]), plan.get("Relation Name", plan["Node Type"])
    for below in plan.get("Plans", ()):
        yield from rows_of(below)


@pytest.mark.parametrize("statement", [leases.CLAIMABLE, leases.ANY_CLAIMABLE], ids=["take", "any"])
def test_a_claim_from_a_long_queue_reads_few_rows(
    shared: Shared, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the server believes of its tables, as after many jobs have run."""
    from sow.jobs.server_statements import translated, values_for

    owner, builder = shared.owner, shared.hosts[BUILDER]
    builder.serves = Serves('{"claude-code": null}', None)
    (job,) = put(owner, [Drawn("claude-code")])
    owner.run("update job set host_id = ? where id = ?", (builder.host_id, job.id))
    leases.enqueue(owner, job.id, now=NOW)
    columns = [row["name"] for row in owner.rows(COLUMNS, (SCHEMA,))]
    other = {"id": "id + n", "task_id": "cast(n + 1000 as text)", "queue_row": "queue_row + n"}
    values = ", ".join(other.get(name, name) for name in columns)
    owner.connection.execute(
        f"set session_replication_role = replica;"
        f"insert into job ({', '.join(columns)}) select {values} from job, {MANY};"
        f"insert into task (id, queue, data, priority, job_id)"
        f" select id + n, queue, data, priority, job_id + n from task, {MANY};"
        f"insert into lease (job_id, worker_id, token, executor, taken_at, deadline)"
        f" select -n, 'w', n, 'claude-code', 0, 0 from {MANY};"
        "insert into travel (job_id, ref, packed, base, branch, trunk)"
        " select id, '', '', '', '', '' from job;"
        "set session_replication_role = origin; analyze; delete from lease where token > 9"
    )
    plans, execute = [], builder._execute

    def explained(sql: str, parameters: Any) -> Any:
        asked = f"explain (analyze, format json) {translated(sql)}"
        ((plan,),) = builder.connection.execute(asked, values_for(sql, parameters)).fetchall()
        plans.append(plan[0]["Plan"])
        return execute(sql, parameters)

    monkeypatch.setattr(builder, "_execute", explained)
    worker = WorkerId(builder.named(WORKER))
    parameters = leases._parameters(worker, NOW, {"total": 9, "own": 9})
    assert leases._look(builder, statement, parameters) is not None
    ((most, of),) = (max(rows_of(plan)) for plan in plans)
    assert most < 50, of


def described(owner: Any) -> list[tuple[str, ...]]:
    """Return the columns, indexes and functions of a queue."""
    return [
        tuple(row)
        for sql in (
            "select table_name, column_name, data_type from information_schema.columns"
            " where table_schema = ? order by 1, 2",
            "select indexdef from pg_indexes where schemaname = ? order by 1",
            "select proname, prosrc, prosecdef from pg_proc"
            " where pronamespace = cast(? as regnamespace) order by 1, 2",
        )
        for row in owner.rows(sql, (SCHEMA,))
    ]


def lanes_of(database: Any) -> dict[int, str]:
    return {row["id"]: row["lane"] for row in database.rows("select id, lane from job")}


def test_a_shared_queue_of_the_form_before_is_brought_up_to_date(
    shared: Shared, workspace: Workspace
) -> None:
    owner, builder = shared.owner, shared.hosts[BUILDER]
    builder.serves = Serves('{"claude-code": null, "gpu": null}', None)
    made = put(owner, [Drawn("claude-code"), Drawn("gpu", None, 5), Drawn("gpu")])
    for job in made:
        owner.run("update job set host_id = ? where id = ?", (builder.host_id, job.id))
        leases.enqueue(owner, job.id, now=NOW)
    leases.enqueue_message(owner, b"a stray", priority=None, now=NOW)
    today, lanes = described(owner), lanes_of(owner)
    owner.connection.execute(FORM_5)
    assert described(owner) != today
    from sow.jobs import server_making  # it imports psycopg

    with (
        closing(as_role(owner, BUILDER)) as host,
        pytest.raises(QueueError, match="has format 5") as refused,
    ):
        server_making._bring_up_to_date(host)
    assert "Whoever owns its tables" in refused.value.hint
    with closing(open_queue(workspace)) as again:
        assert described(again) == today
        assert lanes_of(again) == lanes
    worker = WorkerId(builder.named(WORKER))
    limits = {"total": 9, "own": 9}
    taken = [claim(builder, worker, NOW, limits) for _ in range(4)]
    assert taken == [made[1].id, made[0].id, made[2].id, None]
    assert owner.value("select count(*) from aside") == 1
