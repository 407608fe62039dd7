"""Claims and settlements a second of a shared queue with 10,000 jobs, beside bare SQL.

The bare SQL is what a program without records, changes, rights and lanes would do on the same
server: the same lock, a row each of huey, the job, the lease and the fence, and a NOTIFY. Both run
in turns, by the same processes. Each process is a host with some workers, which are threads.
"""

import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from bench.place import Place, make_place
from bench.price import Row
from sow.ids import WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import open_queue
from sow.jobs.store import Serves
from sow.schema.job import JobState
from tests.jobs.queue_cases import make_job

JOBS, HOSTS, WORKERS = 10_000, 3, 10
PAIRS_BAR, BARE_BAR = 300.0, 0.8
SECONDS = 8.0
WARMING = 6
"""So often each statement is asked before psycopg has the server keep its plan."""
READY_SECONDS = 300.0
CALLER, HOST = "caller", "host"
MOST = HOSTS * WORKERS
SERVES = Serves('{"claude-code": null}', None)
COPIES = """
    set statement_timeout = 0; set session_replication_role = replica;
    create temp table numbers as select generate_series(2, {jobs}) as n;
    insert into job ({names}) select {values} from (select * from job limit 1) as first, numbers;
    insert into job_history (job_id, project_id, task_id, verb, agent, executor, state, created_at,
            since)
        select id, project_id, task_id, verb, agent, executor_name, 'queued', created_at, created_at
        from job where queue_row is null;
    insert into travel select id, '', '', '', null, '', '', null from job;
    insert into task (id, queue, data, priority, job_id)
        select id + {jobs}, 'sow', convert_to(replace(
            '{{"args":[#],"id":"job-#","kwargs":{{}},"name":"worker.broker.run_job"}}',
            '#', id::text), 'UTF8'), 0, id from job where queue_row is null;
    set session_replication_role = origin;
    update job set queue_row = id + {jobs}, state = 'queued' where queue_row is null;
    analyze;
"""
BARE = f"""
    create schema bare; set search_path = bare;
    create table task (id bigint primary key, data bytea not null);
    create table job (id bigint primary key, state text not null, priority bigint not null,
        retry_at double precision not null, queue_row bigint);
    create index on job (priority desc, id) where queue_row is not null;
    create table lease (job_id bigint primary key, worker text not null, token bigint not null);
    create table fence (token bigint not null);
    insert into fence values (0);
    insert into task select n, 'run' from generate_series(1, {JOBS}) as n;
    insert into job select n, 'queued', 0, 0, n from generate_series(1, {JOBS}) as n;
    analyze;
"""

Worker = Callable[[], object]
"""Claims a job and settles it, once."""


def measure(url: str, rounds: int) -> list[Row]:
    """Return the rows of claims on a server."""
    with _hosts(url) as places:
        pairs: dict[str, list[float]] = {"sow": [], "bare": []}
        for _ in range(rounds):
            for name, rates in pairs.items():
                rates.append(_rate(url, places, name))
    sow, bare = (statistics.median(rates) for rates in pairs.values())
    ratio = statistics.median(s / b for s, b in zip(*pairs.values(), strict=True))
    return [
        Row(
            f"claims and settlements a second of {JOBS:,} jobs by {MOST} workers on {HOSTS} hosts",
            f"{sow:.0f}",
            bar=f"≥ {PAIRS_BAR:.0f}",
            held=sow >= PAIRS_BAR,
            seconds={name: [1 / rate for rate in rates] for name, rates in pairs.items()},
        ),
        Row(
            "… as a part of what bare SQL does",
            f"{ratio:.2f} of {bare:.0f}",
            bar=f"≥ {BARE_BAR:g}",
            held=ratio >= BARE_BAR,
        ),
    ]


@contextmanager
def _hosts(url: str) -> Iterator[Sequence[Place]]:
    """Make a shared queue with its jobs, and the checkouts of its hosts."""
    with ExitStack() as stack:
        places = [stack.enter_context(make_place()) for _ in range(HOSTS)]
        for place in places:
            name_server(place, url.replace("owner@", f"{HOST}@"))
            place.workspace.queue_name.write_text("claims")
        share_queue(places[0], url)
        with opened(places[0], url.replace("owner@", f"{CALLER}@")) as database:
            job = jobs.insert_job(database, make_job("100"))
            leases.enqueue(database, job.id, now=time.time())
        with opened(places[0], url) as database:
            connection: Any = database.connection
            names = [column.name for column in connection.execute("select * from job").description]
            put = {"id": "n", "task_id": "(n + 1000)::text", "queue_row": "null", "lane": "null"}
            values = ", ".join(put.get(name, name) for name in names)
            connection.execute(COPIES.format(jobs=JOBS, names=", ".join(names), values=values))
            connection.execute(BARE)
            connection.execute("grant usage on schema bare to public")
            connection.execute("grant all on all tables in schema bare to public")
        yield places


def name_server(place: Place, url: str) -> None:
    """Have a place's user keep queues on a server, from now on."""
    path = Path(place.env["SOW_CONFIG"])
    kept = [line for line in path.read_text().splitlines() if not line.startswith("queue:")]
    path.write_text("\n".join([*kept, f"queue: {{url: '{url}'}}", ""]))


@contextmanager
def opened(place: Place, url: str = "") -> Iterator[Any]:
    """Open the queue of a place in this process, as the role of an address, or as its user does."""
    config = Path(place.env["SOW_CONFIG"])
    before, named = config.read_text(), os.environ.get("SOW_CONFIG")
    if url:
        name_server(place, url)
    os.environ["SOW_CONFIG"] = str(config)
    try:
        with closing(open_queue(place.workspace)) as database:
            yield database
    finally:
        config.write_text(before)
        if named is None:
            del os.environ["SOW_CONFIG"]
        else:
            os.environ["SOW_CONFIG"] = named


def share_queue(place: Place, url: str) -> None:
    """Make a queue on a server and share it; CALLER may queue there, HOST queue and run."""
    from sow.jobs.server_rights import Joining, share

    with opened(place, url) as database:
        for role in (CALLER, HOST):
            if not database.value("select 1 from pg_roles where rolname = ?", (role,)):
                database.connection.execute(f"create role {role} login")
        share(database, Joining((CALLER, HOST), (HOST,)), lease_seconds=None)


def _rate(url: str, places: Sequence[Place], name: str) -> float:
    """Return how many pairs a second all workers together come to."""
    fork = multiprocessing.get_context("fork")
    ready, done = fork.Barrier(HOSTS + 1), fork.Queue()
    hosts = [fork.Process(target=_host, args=(url, place, name, ready, done)) for place in places]
    for host in hosts:
        host.start()
    ready.wait(READY_SECONDS)
    counts = [done.get(timeout=READY_SECONDS) for _ in hosts]
    for host in hosts:
        host.join()
    return sum(counts) / SECONDS


def _host(url: str, place: Place, name: str, ready: Any, done: Any) -> None:
    """Run the workers of a host for some seconds; put how many pairs they came to into `done`."""
    made = [
        _sow_worker(place, n) if name == "sow" else _bare_worker(url, n) for n in range(WORKERS)
    ]
    for worker in made:
        for _ in range(WARMING):
            worker()
    counts = [0] * WORKERS
    ready.wait(READY_SECONDS)
    deadline = time.monotonic() + SECONDS

    def run(number: int) -> None:
        while time.monotonic() < deadline:
            made[number]()
            counts[number] += time.monotonic() < deadline

    threads = [threading.Thread(target=run, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.put(sum(counts))


def _sow_worker(place: Place, number: int) -> Worker:
    os.environ["SOW_CONFIG"] = place.env["SOW_CONFIG"]
    database = open_queue(place.workspace)
    database.serves = SERVES
    worker = WorkerId(database.named(f"w{number}"))

    def claim_and_settle() -> None:
        now = time.time()
        if leases.claim(database, worker, now=now, total=MOST, own=MOST) is None:
            raise RuntimeError("no job is left to be claimed")
        for lease in leases.leases_of(database, worker):
            leases.settle(database, lease, state=JobState.DONE, ended_at=now)

    return claim_and_settle


def _bare_worker(url: str, number: int) -> Worker:
    import psycopg

    connection = psycopg.connect(url.replace("owner@", f"{HOST}@"), autocommit=True)
    connection.execute("set search_path = bare")
    ask = connection.execute
    lock = "select pg_advisory_xact_lock(1)"

    def claim_and_settle() -> None:
        ask(f"begin; set local synchronous_commit = off; {lock}")
        found = ask(
            "select job.id, task.id, task.data from job join task on task.id = job.queue_row"
            " where queue_row is not null and retry_at <= %s and (select count(*) from lease) < %s"
            " order by priority desc, job.id limit 1",
            (time.time(), MOST),
        ).fetchone()
        if found is None:
            raise RuntimeError("no job is left to be claimed")
        job, row, _ = found
        ask("delete from task where id = %s", (row,))
        (token,) = ask("update fence set token = token + 1 returning token").fetchone() or (0,)
        ask("insert into lease values (%s, %s, %s)", (job, f"w{number}", token))
        ask("update job set state = 'running', queue_row = null where id = %s", (job,))
        ask("select pg_notify('bare', %s)", (str(job),))
        ask("commit")
        ask(f"begin; {lock}")
        ask("select token from lease where job_id = %s", (job,))
        ask("delete from lease where job_id = %s and token = %s", (job, token))
        ask("update job set state = 'done' where id = %s", (job,))
        ask("select pg_notify('bare', %s)", (str(job),))
        ask("commit")

    return claim_and_settle
