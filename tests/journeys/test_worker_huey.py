"""Huey, for real (§8): its stock API enqueues, its Worker runs, and nothing else does."""

import pickle
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from journeys.callers import await_end, job_of, queue
from journeys.site import Site, wait_until
from journeys.staff import QUICK, WorkerRun, drain, nothing_is_taken, start_worker, write_program
from standins import read_runs

from sow.ids import JobId
from sow.jobs import leases
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import JobState
from worker.broker import SowHuey, make_huey


@pytest.fixture
def queued(site: Site) -> JobId:
    """A job in the queue, and nobody to take it."""
    site.configure({"worker": QUICK})
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    return JobId(1)


def only_enqueues(site: Site, database: Database) -> SowHuey:
    """Return a huey as any Python program would have it: its tasks run elsewhere."""

    def run(job_id: JobId) -> None:
        pytest.fail(f"job {job_id} ran in the process that enqueued it")

    return make_huey(run, database=database, workspace=Workspace(site.root))


@pytest.mark.one_of
@pytest.mark.parametrize(
    "enqueue",
    [
        lambda huey, job: huey.enqueue(huey.run_job.s(job)),
        lambda huey, job: huey.run_job(job),
        lambda huey, job: huey.run_job(job_id=job),
    ],
    ids=["enqueue", "call", "by keyword"],
)
def test_a_job_enqueued_by_the_stock_api_is_run_by_the_worker(
    site: Site, queued: JobId, enqueue: Callable[[SowHuey, int], Any]
) -> None:
    """ "an enqueue by huey's stock API runs": in another process."""
    with closing(queue(site)) as database:
        leases.withdraw(database, queued)
        enqueue(only_enqueues(site, database), queued)
    drain(site)
    assert len(read_runs(site.root)) == 1
    assert site.task("010")["status"] == "needs_review"
    nothing_is_taken(site)


def test_a_waiting_worker_hears_the_stock_api(site: Site, queued: JobId) -> None:
    """ "a doorbell instead of polling": huey's own enqueue rings it."""
    with closing(queue(site)) as database:
        leases.withdraw(database, queued)
        worker = start_worker(site)
        only_enqueues(site, database).run_job(queued)
    assert await_end(site, "010").state is JobState.DONE
    assert worker.process.poll() is None


def test_a_job_enqueued_twice_runs_once(site: Site, queued: JobId) -> None:
    with closing(queue(site)) as database:
        huey = only_enqueues(site, database)
        huey.run_job(queued)
        huey.run_job(queued)
    drain(site)
    assert len(read_runs(site.root)) == 1
    nothing_is_taken(site)


def test_what_is_no_job_is_never_executed_and_the_worker_goes_on(
    site: Site, queued: JobId, tmp_path: Path
) -> None:
    """facts/huey: "A row written by anyone who can write the file runs code in the worker"."""
    marker = tmp_path / "executed"

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (marker,))

    def put(database: Database, data: bytes | str) -> None:
        database.run("insert into task (queue, data, priority) values ('sow', ?, 9)", (data,))

    with closing(queue(site)) as database:
        put(database, pickle.dumps(Bomb()))
        put(database, b"\xff\x00 garbage")
        put(database, "garbage as text")
        put(database, b'{"name": "worker.broker.other", "id": "1", "args": []}')
        put(database, b'{"name": "os.system", "id": "1", "args": ["touch executed"]}')
        put(database, b'{"name": "worker.broker.run_job", "id": "1", "args": [999]}')
        put(database, b'{"name": "worker.broker.run_job", "id": "1", "args": "x", "kwargs": 5}')
    worker = drain(site)
    assert not marker.exists()
    assert "Traceback" not in worker.log_text
    assert site.task("010")["status"] == "needs_review"
    nothing_is_taken(site)


IDLE_WORKER = """
    import sys
    from pathlib import Path

    import huey.consumer

    seen = Path({seen!r})

    def do_nothing(self, now=None):
        with seen.open("a") as file:
            file.write(".")
        self.stop_flag.wait(0.02)

    huey.consumer.Worker.loop = do_nothing

    from sow.cli.root import run

    sys.exit(run(["worker"]))
"""


def test_with_a_huey_whose_workers_do_nothing_no_spawn_runs(site: Site, queued: JobId) -> None:
    """Huey's Worker is what takes jobs: replaced by one that does nothing, nothing is taken."""
    seen = site.base / "loops"
    idle = start_worker(
        site, program=write_program(site, "idle.py", IDLE_WORKER.format(seen=str(seen)))
    )
    wait_until(lambda: seen.exists() and len(seen.read_text()) > 20, "huey's Worker loops")
    job = job_of(site, "010")
    assert job is not None
    assert (job.state, job.started_at) == (JobState.QUEUED, None)
    assert read_runs(site.root) == []
    waited = site.sow("agent", "wait", "010", "--wait", "1s", expect=75)
    assert "still queued" in waited.out
    idle.kill()
    truly_run(site)


def truly_run(site: Site) -> WorkerRun:
    """Show that the job was fit to be run: the true worker runs it."""
    worker = drain(site)
    assert len(read_runs(site.root)) == 1
    return worker


def test_huey_consumer_is_started_in_the_main_thread_with_one_worker_thread(site: Site) -> None:
    """ "One queue, one Consumer, started in the main thread"."""
    program = write_program(
        site,
        "watching.py",
        """
        import sys, threading
        import huey.consumer

        start = huey.consumer.Consumer.start

        def tell(self):
            print("thread:", threading.current_thread().name, flush=True)
            start(self)
            print("workers:", len(self.worker_threads), flush=True)

        huey.consumer.Consumer.start = tell
        from sow.cli.root import run

        sys.exit(run(["worker", "--drain"]))
        """,
    )
    site.project("010")
    worker = start_worker(site, program=program)
    assert worker.wait() == 0
    assert "thread: MainThread" in worker.log_text
    assert "workers: 1" in worker.log_text
