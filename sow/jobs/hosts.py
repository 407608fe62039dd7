"""Which host what is on record is of, where several hosts share a queue.

A host is a checkout on one machine that uses the queue as one role of its server. Its id is a code
of all of these (`server_checkout`), and the server keeps it for the role that came with it first
(`server_forms/hosts.sql`). In a shared queue the names of workers and of calls that wait end with
the id of their host (`Database.named`), and a job has that of the host it was queued from. So
whoever reads a row knows whose it is before it looks at anything: what another host has is told by
deadlines alone (`server_deadlines`). No lock, process or folder of this machine says anything of
it. Imported where a queue is shared.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from sow.ids import BatchId, JobId, ProjectId, TaskId
from sow.jobs.server_deadlines import LEASE_SECONDS
from sow.jobs.store import ACTIVE, HOST_MARK, MOST_AGENTS, Database, Serves
from sow.schema.job import WAITING_STATES, Job
from sow.schema.job_terms import required_by

MOST_NAMED = 3
"""How many hosts that are not heard are named to whoever asks why a job waits."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a host's user has it run, and what it offers, as it says itself."""

    executors: tuple[str, ...] = ()
    owners: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    version: str = ""
    """Of its sow."""


class Host(NamedTuple):
    """A host of a shared queue."""

    id: str
    role: str
    name: str
    """The machine's name and the checkout's folder."""
    offer: Offer
    silent_seconds: float
    """How long ago the server has heard one of its workers, or one of its commands first came."""
    workers: int
    jobs: int
    is_heard: bool
    """Whether a worker of it was heard within the length of a lease."""

    @property
    def node(self) -> str:
        """The machine's name."""
        return node_of(self.name)

    @property
    def is_silent(self) -> bool:
        """Whether it has a worker on record, and none was heard within the length of a lease."""
        return bool(self.workers) and not self.is_heard


def node_of(name: str) -> str:
    """Return the machine's name of a host's name."""
    return name.partition(":")[0]


class Ran(NamedTuple):
    """Where an attempt ran."""

    host: str
    """As people call it."""
    is_elsewhere: bool
    """Whether that is another host than this one: its files are there."""


def put_on_record(database: Database, serves: Serves, *, version: str) -> None:
    """Say what this host serves and offers."""
    offer = Offer(
        executors=tuple(msgspec.json.decode(serves.executors)),
        owners=msgspec.json.decode(serves.owners) if serves.owners is not None else None,
        labels=tuple(msgspec.json.decode(serves.labels)),
        version=version,
    )
    text = msgspec.json.encode(offer).decode()
    database.run("update host set serves = ? where id = ?", (text, database.host_id))


def hosts_of(database: Database) -> list[Host]:
    """Return the hosts of a shared queue; a host itself counts the jobs alone that it serves."""
    rows = database.rows(
        """
        with length as (
            select cast(value as double precision) as seconds from control where name = ?)
        select host.id, host.role, host.name, host.serves,
            clock() - coalesce(max(worker.beat_at), host.heard_at) as silent,
            count(worker.id) as workers,
            coalesce(max(worker.beat_at) >= clock() - max(length.seconds), false) as is_heard,
            (select count(*) from lease where split_part(lease.worker_id, '@', 2) = host.id)
                as jobs
        from host cross join length
        left join worker on split_part(worker.id, '@', 2) = host.id
        group by host.id order by host.name, host.role, host.id
        """,
        (LEASE_SECONDS,),
    )
    return [
        Host(
            row["id"],
            row["role"],
            row["name"],
            _offer(row["serves"]),
            row["silent"],
            row["workers"],
            row["jobs"],
            row["is_heard"],
        )
        for row in rows
    ]


def _offer(text: str) -> Offer:
    try:
        return msgspec.json.decode(text, type=Offer)
    except (msgspec.MsgspecError, RecursionError):  # a host says what it likes
        return Offer()


def silent_hosts(database: Database) -> list[Host]:
    """Return the hosts of a shared queue whose workers are on record and not heard any more."""
    return [host for host in hosts_of(database) if host.is_silent]


def most_agents(database: Database) -> dict[str, int]:
    """Return how many agents run at once on all hosts together, by executor; `""` for all."""
    rows = database.rows("select name, value from control where name like ?", (f"{MOST_AGENTS}%",))
    return {row["name"].removeprefix(MOST_AGENTS).strip(): int(row["value"]) for row in rows}


def may_run_jobs(database: Database) -> bool:
    """Whether our role may run jobs of a shared queue."""
    return bool(database.value("select has_table_privilege('lease', 'insert')"))


def unserved(database: Database, some: Iterable[Job]) -> dict[str, list[JobId]]:
    """Return for what some jobs wait that no host offers which is heard, in words, and which do."""
    hosts = hosts_of(database)
    reasons: dict[str, list[JobId]] = {}
    for job in some:
        if job.state in WAITING_STATES and (reason := lacking_for(database, hosts, job)):
            reasons.setdefault(reason, []).append(job.id)
    return reasons


def is_offered(database: Database, executor: str) -> bool:
    """Whether a host of a shared queue is heard that runs an executor."""
    return any(host.is_heard and executor in host.offer.executors for host in hosts_of(database))


def lacking_for(database: Database, hosts: Sequence[Host], job: Job) -> str:
    """Return for what a job waits that no host offers which is heard; empty where one would do.

    Hosts that would do, if they were heard, are named.
    """
    row = database.row(
        "select owner, host_id, exists (select 1 from travel where job_id = job.id) as travels"
        " from job where id = ?",
        (job.id,),
    )
    if row is None:
        return ""
    if row["host_id"] and not row["travels"]:
        hosts = [host for host in hosts if host.id == row["host_id"]]
        if not any(host.is_heard for host in hosts):
            return "no worker of its own host is heard, and it runs on no other"
    executor, owner, requires = job.executor_name, row["owner"], required_by(job.terms)
    found = lacking(hosts, executor=executor, requires=requires, owner=owner)
    if found is None:
        return ""
    able = [host for host in hosts if _is_able(host, executor, owner, requires)]
    named = ", ".join(sorted({host.node for host in able})[:MOST_NAMED])
    return f"{found}; not heard: {named}" if named else found


def _is_able(host: Host, executor: str, owner: str, requires: Sequence[str]) -> bool:
    """Whether a host would do for a job, if it were heard."""
    return (
        (not executor or executor in host.offer.executors)
        and (host.offer.owners is None or owner in host.offer.owners)
        and set(requires) <= set(host.offer.labels)
    )


def lacking(
    hosts: Iterable[Host], *, executor: str, requires: Sequence[str], owner: str
) -> str | None:
    """Return for what a job waits that no host offers which is heard; None where one would do.

    `executor` is empty for a job without an agent.
    """
    heard = [host for host in hosts if host.is_heard]
    if not heard:
        return "no host is heard"
    able = [host for host in heard if not executor or executor in host.offer.executors]
    if not able:
        return f"no host that is heard serves executor {executor}"
    able = [host for host in able if host.offer.owners is None or owner in host.offer.owners]
    if not able:
        return f"no host that is heard runs jobs of {owner}"
    if any(set(requires) <= set(host.offer.labels) for host in able):
        return None
    alone = [label for label in requires if not any(label in host.offer.labels for host in able)]
    if alone:
        return f"no host that is heard has the label {', '.join(alone)}"
    return f"no host that is heard has all of the labels {', '.join(requires)}"


def host_of(name: str) -> str:
    """Return the id of the host that a name is of; empty for one from before the queue was shared.

    That is of the checkout which used the queue then.
    """
    return name.partition(HOST_MARK)[2]


def name_of(database: Database, worker_id: str) -> str:
    """Return what people call the host of a worker; empty for one that is on no record."""
    sql = "select name from host where id = ?"
    return database.value(sql, (host_of(worker_id),)) or ""


def names_of(database: Database) -> dict[str, str]:
    """Return what people call each host of a shared queue, by its id."""
    return {row["id"]: row["name"] for row in database.rows("select id, name from host")}


def where_attempts_ran(database: Database, job_id: JobId) -> dict[int, Ran]:
    """Return where each attempt of a job ran, by its number, as far as its host is on record."""
    rows = database.rows(
        """
        select attempt.number, attempt.worker_id, host.name
        from attempt join host on host.id = split_part(attempt.worker_id, '@', 2)
        where attempt.job_id = ? order by attempt.number
        """,
        (job_id,),
    )
    return {
        row["number"]: Ran(row["name"], database.is_elsewhere(row["worker_id"])) for row in rows
    }


def last_hosts(database: Database, job_ids: Sequence[JobId]) -> dict[JobId, str]:
    """Return what people call the host of the last attempt of each job that has one on record."""
    rows = database.rows(
        """
        select attempt.job_id, host.name
        from attempt join host on host.id = split_part(attempt.worker_id, '@', 2)
        where attempt.job_id in (select cast(value as bigint) from json_each(?))
        order by attempt.number
        """,
        (msgspec.json.encode(job_ids).decode(),),
    )
    return {JobId(row["job_id"]): row["name"] for row in rows}


def hosts_of_batch(database: Database, batch_id: BatchId) -> dict[str, str]:
    """Return what people call the host of the newest attempt of each task of a batch."""
    rows = database.rows(
        """
        select job.task_id, host.name
        from job join attempt on attempt.job_id = job.id
        join host on host.id = split_part(attempt.worker_id, '@', 2)
        where job.batch = ? order by job.id, attempt.number
        """,
        (batch_id,),
    )
    return {row["task_id"]: row["name"] for row in rows}


def is_queued_elsewhere(database: Database, job_id: JobId) -> bool:
    """Whether a job was queued from another host: there its call is, and the state of its task."""
    return database.is_elsewhere(f"{HOST_MARK}{home_of(database, job_id)}")


def tasks_of_others(database: Database) -> list[tuple[str, ProjectId, TaskId]]:
    """Return the tasks with a job that another host has queued and that has not ended.

    Each with the id of that host and its project.
    """
    rows = database.rows(f"select host_id, project_id, task_id from job where {ACTIVE}")  # noqa: S608 - words of ours
    return [
        (row["host_id"], ProjectId(row["project_id"]), TaskId(row["task_id"]))
        for row in rows
        if database.is_elsewhere(f"{HOST_MARK}{row['host_id']}")
    ]


def home_of(database: Database, job_id: JobId) -> str:
    """Return the id of the host that a job was queued from; empty before the queue was shared."""
    return database.value("select host_id from job where id = ?", (job_id,)) or ""


def is_home(database: Database, project_id: ProjectId) -> bool:
    """Whether the state of a project's tasks is this host's: the newest job was queued from here.

    Other hosts have files of the same names, which say how things stood when they were copied.
    """
    sql = "select host_id from job where project_id = ? order by id desc limit 1"
    host_id = database.value(sql, (project_id,))
    return host_id is not None and not database.is_elsewhere(f"{HOST_MARK}{host_id}")


def is_batch_elsewhere(database: Database, batch_id: BatchId) -> bool:
    """Whether a batch was made on another host, whose workers drive it."""
    host_id = database.value("select host_id from batch where id = ?", (batch_id,))
    return host_id is not None and database.is_elsewhere(f"{HOST_MARK}{host_id}")


def runs_elsewhere(database: Database, job_id: JobId) -> bool:
    """Whether another host's worker has a job's lease or, where nobody has, had its last attempt.

    What its agent has written lies there.
    """
    sql = """
        select coalesce(
            (select worker_id from lease where job_id = :job),
            (select worker_id from attempt where job_id = :job order by number desc limit 1))
    """
    name = database.value(sql, {"job": job_id})
    return name is not None and database.is_elsewhere(name)
