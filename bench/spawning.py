"""One spawn of an instant agent by a warm worker: the whole, and from its first write to its agent.

Both moments are seen from outside, by inotify: the first change of the queue's file (or of its
log), and a file that the agent makes before anything else. Neither build says anything itself.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.file_events import CREATED, MODIFIED, watching
from bench.place import SCRIPT, Place, make_place
from bench.price import Build, Row, in_turns
from bench.timing import Figure, time_process
from bench.warm_worker import warm_worker

ROUNDS, FEW_ROUNDS = 40, 10
SLOTS = 4
STARTS = "starts"
TELLING = SCRIPT.replace("cat >", f': >"$SOW_ROOT/{STARTS}/$SOW_TASK_ID"\ncat >', 1)
"""An agent whose first deed is an empty file that bears its task's name."""
TO_AGENT_BAR = 0.008
SPAWN_BAR, SPAWN_BAR_BEFORE = 8.0, 15.0
WAIT_SECONDS = 60.0
QUIET_SECONDS = 0.5
"""So long nothing is written before a spawn begins: a worker may write after the last one's end."""


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what a spawn takes over bare Python, and until its agent starts."""
    rounds = FEW_ROUNDS if quick else ROUNDS
    bare: list[float] = []
    alone: list[float] = []
    wholes: dict[str, list[float]] = {build.name: [] for build in builds}
    waits: dict[str, list[float]] = {build.name: [] for build in builds}
    with ExitStack() as stack:
        places = {
            build.name: stack.enter_context(make_place(build.program, TELLING)) for build in builds
        }
        for place in places.values():
            (place.workspace.root / STARTS).mkdir()
            stack.enter_context(warm_worker(place, SLOTS))
        # With its tasks in it, one of the builds would have twice as many to look after.
        apart = stack.enter_context(make_place(builds[0].program, TELLING))
        (apart.workspace.root / STARTS).mkdir()
        for number in range(rounds + 1):
            seconds = time_process([sys.executable, "-c", "pass"], apart.root, apart.env)
            script = _script_alone(apart, f"{50_000 + 10 * number}")
            if number:
                bare.append(seconds)
                alone.append(script)
            for build in in_turns(builds, number):
                whole, wait = _spawn(places[build.name], f"{10_000 + 10 * number}")
                if number:
                    wholes[build.name].append(whole)
                    waits[build.name].append(wait)
    return _rows(Figure("bare", bare), Figure("alone", alone), wholes, waits)


def _script_alone(place: Place, task: str) -> float:
    place.add_task(task)
    env = {**place.env, "SOW_ROOT": place.root, "SOW_TASK_ID": task}
    return time_process([str(place.script)], place.root, env)


def _spawn(place: Place, task: str) -> tuple[float, float]:
    """Return how long a spawn takes, and how much of it from its first write to its agent."""
    place.add_task(task)
    queue = place.workspace.queue_db
    wrote = started = 0.0
    watched = ((queue.parent, MODIFIED), (Path(place.root, STARTS), CREATED))
    with watching(*watched) as events:
        while list(events.next(QUIET_SECONDS)):
            pass
        begun = time.perf_counter()
        with subprocess.Popen(
            place.sow("agent", "spawn", "implementer", task),
            cwd=place.root,
            env=place.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        ) as process:
            while not started:
                if time.perf_counter() > begun + WAIT_SECONDS:
                    raise TimeoutError(task)
                for moment, kind, name in events.next(WAIT_SECONDS):
                    if kind & MODIFIED and name.startswith(queue.name) and not wrote:
                        wrote = moment
                    if kind & CREATED and name == task:
                        started = moment
            if process.wait():
                raise RuntimeError(f"sow agent spawn {task}: exit {process.returncode}")
        whole = time.perf_counter() - begun
    return whole, started - wrote


def _rows(
    bare: Figure,
    alone: Figure,
    wholes: dict[str, list[float]],
    waits: dict[str, list[float]],
) -> list[Row]:
    def times(name: str) -> float:
        return (Figure(name, wholes[name]).median - alone.median) / bare.median

    def spawn(name: str) -> str:
        return f"{Figure(name, wholes[name]).median * 1000:.0f} ms, {times(name):.1f} ×"

    def wait(name: str) -> str:
        figure = Figure(name, waits[name])
        return f"{figure.median * 1000:.1f} ms, p95 {figure.p95 * 1000:.1f}"

    this, *base = wholes
    return [
        Row(
            what="first write into the queue's file → the agent's start, warm worker, p50",
            measured=wait(this),
            base="".join(wait(name) for name in base),
            bar=f"≤ {TO_AGENT_BAR * 1000:g} ms",
            held=Figure(this, waits[this]).median <= TO_AGENT_BAR,
            seconds=dict(waits),
        ),
        Row(
            what="spawn of an instant agent, warm worker, less the agent, × bare Python",
            measured=spawn(this),
            base="".join(spawn(name) for name in base),
            bar=f"≤ {SPAWN_BAR:g} ×",
            former=f"≤ {SPAWN_BAR_BEFORE:g} ×",
            held=times(this) <= SPAWN_BAR,
            seconds={"bare": bare.seconds, "the script alone": alone.seconds, **wholes},
        ),
    ]
