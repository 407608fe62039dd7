"""Several hosts over one queue on a server, beside a queue in a file.

Debian's PostgreSQL runs in a temporary folder, with fsync, over loopback.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial

import psutil

from bench import claiming, elsewhere
from bench.claiming import HOST, name_server, opened, share_queue
from bench.memory import pss_of, running_python
from bench.place import Place, make_place
from bench.price import Build, Row
from bench.server import running_server
from bench.timing import interleave, time_process
from sow.ids import BatchId, TaskId
from sow.jobs import batches, jobs, workers
from sow.jobs.database import Database
from sow.schema.batch import Batch, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import JobState
from sow.state.projects import read_project
from tests.jobs.queue_cases import make_job

ROUNDS, FEW_ROUNDS = 7, 3
STARTS, FEW_STARTS = 20, 5
COMMANDS = {
    "sow job list": ("job", "list"),
    "sow status": ("status",),
    "sow batch show": ("batch", "show", "1"),
}
COMMAND_BAR, IDLE_BAR, MEMORY_BAR = 1.3, 0.003, 70
"""How often as long as with a file, of a core, in MB."""
ON_RECORD, OF_BATCH = 200, 10
IDLE_SECONDS, SETTLE_SECONDS = 30.0, 10.0
MEGABYTE = 1_000_000


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what a shared queue on a server takes; of this build alone."""
    assert builds
    with running_server() as url:
        rows = claiming.measure(url, FEW_ROUNDS)
        rows += elsewhere.measure(url, FEW_STARTS if quick else STARTS)
        with make_place() as in_file, make_place() as on_server:
            name_server(on_server, url.replace("owner@", f"{HOST}@"))
            share_queue(on_server, url)
            for place in (in_file, on_server):
                with opened(place) as database:
                    _fill(database, place)
            rows += _commands(in_file, on_server, FEW_ROUNDS if quick else ROUNDS)
            rows += _idle(on_server)
        return rows


def _fill(database: Database, place: Place) -> None:
    """Put jobs on record, and a batch."""
    project = read_project(place.workspace).id
    tasks = [TaskId(f"{1000 + number}") for number in range(ON_RECORD)]
    for task in tasks[:OF_BATCH]:
        place.add_task(task)
    with database.transaction():
        made = batches.insert_batch(
            database,
            Batch(
                id=BatchId(0),
                project_id=project,
                name="",
                selection=Selection(tasks=tuple(tasks[:OF_BATCH])),
                policy=BatchPolicy(),
                path_variable="",
                made_at=time.time(),
            ),
        )
        batches.add_items(database, made, tasks[:OF_BATCH])
        for task in tasks:
            job = jobs.insert_job(database, make_job(task, project_id=project))
            jobs.change_job(database, job.id, state=JobState.CANCELLED, ended_at=time.time())


def _commands(in_file: Place, on_server: Place, rounds: int) -> Iterator[Row]:
    for name, words in COMMANDS.items():
        file, server = interleave(
            {
                where: partial(time_process, place.sow(*words), place.root, place.env)
                for where, place in (("file", in_file), ("server", on_server))
            },
            rounds,
        )
        pairs = zip(server.seconds, file.seconds, strict=True)
        ratio = statistics.median(theirs / ours for theirs, ours in pairs)
        yield Row(
            f"{name} in a shared queue, as often as with a file",
            f"{ratio:.2f} × {file.median * 1000:.0f} ms",
            bar=f"≤ {COMMAND_BAR:g} ×",
            held=ratio <= COMMAND_BAR,
            seconds={name: figure.seconds for name, figure in (("file", file), ("server", server))},
        )


def _idle(place: Place) -> Iterator[Row]:
    """A worker of a shared queue that has nothing to do."""
    time_process(place.sow("worker", "--background"), place.root, place.env)
    with opened(place) as database:
        (record,) = workers.registered(database)
        worker = psutil.Process(record.process.pid)
        time.sleep(SETTLE_SECONDS)
        before = worker.cpu_times()
        time.sleep(IDLE_SECONDS)
        after = worker.cpu_times()
        share = (after.user + after.system - before.user - before.system) / IDLE_SECONDS
        weight = pss_of([worker, *running_python(worker.children(recursive=True))]) / MEGABYTE
    yield Row(
        "an idle worker of a shared queue, of a core",
        f"{share:.2%}",
        bar=f"≤ {IDLE_BAR:.1%}",
        held=share <= IDLE_BAR,
    )
    yield Row(
        "its memory, with its fork server (PSS)",
        f"{weight:.0f} MB",
        bar=f"≤ {MEMORY_BAR} MB",
        held=weight <= MEMORY_BAR,
    )
