"""A worker of a place that has run a job, as a child of this process, perhaps below `strace`."""

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

from bench.place import Place

FIRST_TASK = "0900"
SECONDS = 60.0


@contextmanager
def warm_worker(place: Place, slots: int, below: Sequence[str] = ()) -> Iterator[int]:
    """Run a worker with so many slots and give its process id; `below` are words before its own.

    No other worker is ever started beside it. It is told to stop at the end, and waited for.
    """
    settings = f"worker: {{concurrency: {slots}, autostart: false}}\n"
    place.workspace.repository_config.write_text(settings)
    process = subprocess.Popen(
        [*below, *place.sow("worker")],
        cwd=place.root,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    worker = process.pid
    try:
        place.add_task(FIRST_TASK)
        _first_job(place)
        if below:
            (worker,) = [child.pid for child in psutil.Process(process.pid).children()]
        yield worker
    finally:
        if process.poll() is None:
            psutil.Process(worker).send_signal(signal.SIGTERM)
        process.wait(SECONDS)


def _first_job(place: Place) -> None:
    """Run a job; as long as the worker is not there, a call is refused."""
    deadline = time.monotonic() + SECONDS
    words = place.sow("agent", "spawn", "implementer", FIRST_TASK)
    while True:
        done = subprocess.run(
            words, cwd=place.root, env=place.env, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        time.sleep(0.1)
