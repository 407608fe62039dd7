"""From a committed job to a running agent, and a whole spawn against its agent alone."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.place import Place
from bench.timing import Figure, interleave, time_process
from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.processes import process_facts
from sow.processes.fork_server import ForkServer
from sow.processes.life import Life
from worker.fork_servers import supervisor_server
from worker.supervisor.instructions import pack


def measure(place: Place, rounds: int) -> list[Figure]:
    """Return pick-up times, a spawn's whole time, and what they are compared with."""
    task_ids = iter(f"{number:04d}" for number in range(1000, 9000, 10))
    subprocess.run(place.sow("worker", "--background"), cwd=place.root, env=place.env, check=True)

    def spawn() -> float:
        task_id = next(task_ids)
        place.add_task(task_id)
        words = place.sow("agent", "spawn", "implementer", task_id)
        return time_process(words, place.root, place.env)

    def script_alone() -> float:
        task_id = next(task_ids)
        place.add_task(task_id)
        env = {**place.env, "SOW_ROOT": place.root, "SOW_TASK_ID": task_id}
        return time_process([str(place.script)], place.root, env)

    server = supervisor_server(place.env)
    server.start()
    figures = interleave(
        {
            "python -c pass": lambda: time_process(
                [sys.executable, "-c", "pass"], place.root, place.env
            ),
            "the agent's script alone": script_alone,
            "sow agent spawn, warm worker": spawn,
            "supervisor's own start": lambda: _supervisor_start(server),
        },
        rounds,
    )
    server.close()
    return [*figures, Figure("commit → agent's exec", _pick_ups(place)[1:])]


def _supervisor_start(server: ForkServer) -> float:
    """Return the time from forking a supervisor to its agent's exec, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "prompt.md").touch()
        orders = pack(folder, folder, ["/bin/true"], {"SOW_ATTEMPT_ID": "bench"})
        begun = time.time()
        with server.forked() as waiting:
            waiting.give(orders)
        while process_facts.life_of(waiting.identity) is Life.ALIVE:
            time.sleep(0.001)
        return float(json.loads(Path(folder, "started.json").read_text())["started_at"]) - begun


def _pick_ups(place: Place) -> list[float]:
    """Return, for every job on record, the time from its commit to its agent's exec."""
    database = open_queue(place.workspace)
    found = []
    for job in reversed(jobs.recent_jobs(database, limit=10_000)):
        started = place.workspace.attempt(JobId(job.id), 1).started
        if job.queued_at is not None and started.exists():
            found.append(json.loads(started.read_text())["started_at"] - job.queued_at)
    database.close()
    return found
