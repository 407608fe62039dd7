"""How costs grow: jobs on record, tasks in a project, jobs in the queue, entries in a log, output.

Each row is one command or one step at several sizes, measured interleaved in
one run, so that its ratios mean something on a machine whose speed drifts.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import psutil

from bench.place import LOUD_BYTES, Place, make_place
from bench.timing import time_call, time_process
from sow.ids import WorkerId
from sow.jobs import jobs, leases, waiters, workers
from sow.jobs.database import Database, open_queue
from sow.schema.job import JobState
from sow.state.log_writing import LogEntry
from sow.state.places import find_task
from sow.state.task_log import append_entry
from sow.state.tasks import list_tasks, read_task

JOBS = (10, 1_000, 10_000, 100_000)
QUEUED = (10, 1_000, 10_000)
TASKS = (10, 100, 1_000)
ENTRIES = (10, 1_000, 10_000)
TIMES_MORE_ROUNDS = 4
"""How many times as often that is measured which a bar compares."""


@dataclass(frozen=True)
class Growth:
    """One step at several sizes, each measured several times, in seconds."""

    what: str
    of: str
    sizes: Sequence[int]
    seconds: Sequence[Sequence[float]]

    @property
    def medians(self) -> list[float]:
        """The middle of each size's measurements, in seconds."""
        return [statistics.median(each) for each in self.seconds]


def measure(rounds: int) -> list[Growth]:
    """Return how each step grows."""
    return [
        *_jobs_on_record(rounds * TIMES_MORE_ROUNDS),
        *_queued(rounds),
        *_tasks(rounds),
        *_log(rounds),
    ]


def _jobs_on_record(rounds: int) -> list[Growth]:
    with _places(len(JOBS)) as places:
        for place, size in zip(places, JOBS, strict=True):
            _spawn(place, "1000")
            _copy_job(place, size - 1, JobState.DONE)
        ids = (f"{number:05}" for number in itertools.count(2000, 10))
        listed = each_place(places, rounds, lambda place: _command(place, "job", "list"))
        spawned = each_place(places, rounds, lambda place: _spawn(place, next(ids)))
    of = "finished jobs on record"
    return [
        Growth("sow job list", of, JOBS, listed),
        Growth("sow agent spawn, warm worker", of, JOBS, spawned),
    ]


def _queued(rounds: int) -> list[Growth]:
    """A claim and its release, with so many jobs in the queue and no worker at work."""
    with _places(len(QUEUED)) as places:
        for place, size in zip(places, QUEUED, strict=True):
            _spawn(place, "1000")
            _command(place, "worker", "stop")
            _copy_job(place, size, JobState.PREPARING)
            with closing(open_queue(place.workspace)) as database:
                for job in jobs.active_jobs(database):
                    leases.enqueue(database, job.id, now=time.time())
        claimed = each_place(places, rounds, _claim)
        for place in places:
            _fill_executor(place)
        refused = each_place(places, rounds, _refused_claim)
    return [
        Growth("claim and release, in process", "queued jobs", QUEUED, claimed),
        Growth("claim while the executor is full, in process", "queued jobs", QUEUED, refused),
    ]


WORKER = WorkerId("w0-bench")


def _fill_executor(place: Place) -> None:
    """Run as many jobs as their executor may at once, and have somebody wait for every job."""
    with closing(open_queue(place.workspace)) as database:
        database.run("update job set max_parallel = 3")
        for _ in range(3):
            leases.claim(database, WORKER, total=9, own=9, now=time.time())
        for job in jobs.active_jobs(database):
            waiters.begin(database, "c0-bench", job.id, on_behalf_of=None, now=time.time())


def _refused_claim(place: Place) -> float:
    with closing(open_queue(place.workspace)) as database:
        return time_call(lambda: leases.claim(database, WORKER, total=9, own=9, now=time.time()))


def _claim(place: Place) -> float:
    def claim_and_release() -> None:
        data = leases.claim(database, WORKER, total=4, own=4, now=time.time())
        assert data is not None
        (lease,) = leases.leases_of(database, WORKER)
        leases.requeue(database, lease, state=JobState.QUEUED, retry_at=0.0, now=time.time())

    with closing(open_queue(place.workspace)) as database:
        return time_call(claim_and_release)


def _tasks(rounds: int) -> list[Growth]:
    with _places(len(TASKS)) as places:
        for place, size in zip(places, TASKS, strict=True):
            for number in range(size):
                place.add_task(f"{1000 + number * 10:05}")
        every = each_place(
            places, rounds, lambda place: time_call(lambda: list_tasks(place.workspace))
        )
        first = each_place(
            places, rounds, lambda place: time_call(lambda: read_task(place.workspace, "01000"))
        )
        shown = each_place(places, rounds, lambda place: _command(place, "task", "show", "01000"))
    of = "tasks in the project"
    return [
        Growth("all states read and validated, in process", of, TASKS, every),
        Growth("one state read and validated, in process", of, TASKS, first),
        Growth("sow task show", of, TASKS, shown),
    ]


def _log(rounds: int) -> list[Growth]:
    entry = LogEntry(timestamp="2026-01-31T12:00:00Z", agent="implementer", action="Did a step")
    with _places(len(ENTRIES)) as places:
        for place, size in zip(places, ENTRIES, strict=True):
            place.add_task("1000")
            folder = find_task(place.workspace, "1000").folder
            for _ in range(size):
                append_entry(folder, entry)
        words = ("agent", "log", "measured", "--task", "1000")
        logged = each_place(places, rounds, lambda place: _command(place, *words))
    return [Growth("sow agent log", "entries in the log", ENTRIES, logged)]


def measure_output() -> dict[str, float]:
    """Return what an agent that prints 200 MB costs its worker, in seconds and bytes."""
    with make_place() as place, closing(open_queue(place.workspace)) as database:
        _spawn(place, "1000")
        (record,) = workers.registered(database)
        worker = psutil.Process(record.process.pid)
        place.add_task("2000")
        before, idle = worker.cpu_times(), worker.memory_info().rss
        seconds = _command(place, "agent", "spawn", "architect", "2000", "--reassign")
        after = worker.cpu_times()
        return {
            "bytes": LOUD_BYTES,
            "seconds": seconds,
            "worker_cpu_seconds": after.user + after.system - before.user - before.system,
            "worker_growth_bytes": worker.memory_info().rss - idle,
        }


@contextmanager
def _places(number: int) -> Iterator[list[Place]]:
    with ExitStack() as stack:
        yield [stack.enter_context(make_place()) for _ in range(number)]


def each_place(
    places: Sequence[Place], rounds: int, action: Callable[[Place], float]
) -> list[list[float]]:
    """Measure an action in each place once a round; the first round does not count."""
    seconds: list[list[float]] = [[] for _ in places]
    for number in range(rounds + 1):
        for place, measured in zip(places, seconds, strict=True):
            taken = action(place)
            if number:
                measured.append(taken)
    return seconds


def _command(place: Place, *words: str) -> float:
    return time_process(place.sow(*words), place.root, place.env)


def _spawn(place: Place, task_id: str) -> float:
    place.add_task(task_id)
    return _command(place, "agent", "spawn", "implementer", task_id)


def _copy_job(place: Place, number: int, state: JobState) -> None:
    """Put copies of the first job on record, each of another task, with an attempt each."""
    with closing(open_queue(place.workspace)) as database, database.transaction():
        _copy(database, "job", {"id": "null", "task_id": "printf('9%07d', n)"}, number)
        _copy(
            database,
            "attempt",
            {"job_id": "(select max(id) from job) - n + 1", "id": "'copy.' || n"},
            number,
        )
        database.run(
            "update job set state = ?, caller = null, queue_row = null where task_id like '9%'",
            (state.value,),
        )


def _copy(database: Database, table: str, changed: dict[str, str], number: int) -> None:
    columns = [row["name"] for row in database.rows(f"pragma table_info({table})")]
    values = ", ".join(changed.get(name, name) for name in columns)
    first = "id = 1" if table == "job" else "job_id = 1"
    database.run(
        f"with recursive counter(n) as (select 1 union all select n + 1 from counter where n < ?)"
        f" insert into {table} select {values} from counter,"
        f" (select * from {table} where {first} limit 1) where ? > 0",
        (number, number),
    )
