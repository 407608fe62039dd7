"""What a worker and its supervisors weigh: idle, and with many agents at work.

Memory is PSS (proportional set size, proc_pid_smaps(5)): pages that processes
share are counted once between them. The agents themselves are not counted.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from bench.place import Place
from bench.price import Row
from sow.jobs import jobs, workers
from sow.jobs.database import Database, open_queue
from sow.sandbox.view import PROGRAM

IDLE_SECONDS = 10.0
DEADLINE_SECONDS = 120.0
MEGABYTE = 1_000_000
EACH_BAR, IDLE_BAR = 3 * MEGABYTE, 32 * MEGABYTE
"""Bytes that each agent at work, and an idle worker, may take."""


@dataclass(frozen=True)
class Weight:
    """A worker at one moment. Memory in bytes."""

    agents: int
    pss: int
    """Of the worker, its fork server and all its supervisors."""
    threads: int
    cpu_share: float
    """Of one core, over some seconds in which nothing was to be done but to watch."""

    def per_agent(self, idle: "Weight") -> float:
        """Return what each agent adds, in supervisors and in the worker, in bytes."""
        return (self.pss - idle.pss) / self.agents


def price(weights: Sequence[Weight]) -> list[Row]:
    """Return the bars of the price of a job: with the most agents at work, and idle."""
    idle, *busy = weights
    each, most = busy[-1].per_agent(idle), busy[-1].agents
    return [
        Row(
            what=f"memory of each of {most} agents at work (PSS, without the agents)",
            measured=f"{each / MEGABYTE:.1f} MB",
            bar=f"≤ {EACH_BAR / MEGABYTE:g} MB",
            former="≤ 10 MB",
            held=each <= EACH_BAR,
        ),
        Row(
            what="memory of an idle worker, with its fork server",
            measured=f"{idle.pss / MEGABYTE:.1f} MB",
            bar=f"≤ {IDLE_BAR / MEGABYTE:g} MB",
            former="≤ 60 MB",
            held=idle.pss <= IDLE_BAR,
        ),
    ]


def measure(place: Place, counts: Sequence[int]) -> list[Weight]:
    """Return the worker's weight when idle, then with each number of agents at work."""
    with _working(place, max(counts)) as database:
        weights = [_weigh(database)]
        for count in counts:
            _start_agents(place, database, count)
            weights.append(_weigh(database))
        (place.workspace.root / "go").touch()
        _wait(lambda: not jobs.active_jobs(database), "the agents end")
    return weights


@contextmanager
def _working(place: Place, concurrency: int) -> Iterator[Database]:
    """Run a fresh worker that has room for so many agents."""
    _run(place, "worker", "stop")
    settings = place.workspace.repository_config
    settings.write_text(f"worker: {{concurrency: {concurrency}}}\n")
    _run(place, "worker", "--background")
    database = open_queue(place.workspace)
    try:
        _wait(lambda: _living(place, database), "the worker starts")
        _wait(lambda: _has_settled(database), "a supervisor waits")
        yield database
    finally:
        database.close()
        _run(place, "worker", "stop")


def _run(place: Place, *words: str) -> None:
    subprocess.run(
        place.sow(*words), cwd=place.root, env=place.env, check=True, stdout=subprocess.DEVNULL
    )


def _living(place: Place, database: Database) -> bool:
    records = workers.registered(database)
    return any(workers.is_alive(place.workspace, record.id) for record in records)


def _start_agents(place: Place, database: Database, count: int) -> None:
    """Have `count` agents at work, those that are already among them."""
    running = len(jobs.active_jobs(database))
    tasks = [f"{9000 + number:05d}" for number in range(running, count)]
    for task in tasks:
        place.add_task(task)
    _run(place, "agent", "spawn", "tester", *tasks, "--reassign", "--detach")

    def started() -> bool:
        attempts = [place.workspace.attempt(job.id, 1) for job in jobs.active_jobs(database)]
        return sum(attempt.started.exists() for attempt in attempts) == count

    _wait(started, f"{count} agents run")
    _wait(lambda: _has_settled(database), "the next supervisor waits")


def _worker(database: Database) -> psutil.Process:
    (record,) = workers.registered(database)
    return psutil.Process(record.process.pid)


def _below(worker: psutil.Process) -> list[psutil.Process]:
    """Return all that runs below the worker, but for the agents, which are shells."""
    below = worker.children(recursive=True)
    return [*running_python(below), *sandboxes(below)]


def running_python(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return those that run this Python; what has ended since it was listed runs nothing.

    Raises psutil.AccessDenied: to leave out one that may not be looked at would weigh too little.
    """
    python = os.path.realpath(sys.executable)
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a zombie too
            if process.exe() == python:
                found.append(process)
    return found


def sandboxes(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return those that are bubblewrap's own: two around each agent in a sandbox."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.name() == PROGRAM:
                found.append(process)
    return found


def pss_of(processes: Iterable[psutil.Process]) -> int:
    """Return the memory of all together, in bytes; what has ended has none."""
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total


def _has_settled(database: Database) -> bool:
    """Whether something waits below the worker, and nothing more was started for a second."""
    before = _below(_worker(database))
    time.sleep(1.0)
    return bool(before) and _below(_worker(database)) == before


def _weigh(database: Database) -> Weight:
    worker = _worker(database)
    before, begun = worker.cpu_times(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    after, ended = worker.cpu_times(), time.monotonic()
    spent = after.user + after.system - before.user - before.system
    return Weight(
        agents=len(jobs.active_jobs(database)),
        pss=pss_of([worker, *_below(worker)]),
        threads=worker.num_threads(),
        cpu_share=spent / (ended - begun),
    )


def _wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.05)
