"""The workers of a storm: hired, drawn a fate, heard of, and replaced.

They die by themselves, at points drawn for them (`storm_worker`). Some stop
instead, lose their name, and are woken when others have ended their job.
"""

import json
import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from journeys.callers import process_state
from journeys.site import Site, wait_until
from journeys.staff import WorkerRun, launch_worker
from journeys.storm_plan import (
    BY_ITSELF,
    BY_ITSELF_WITH_EXECUTORS,
    TO_STOP_AT,
    Plan,
    window_of_point,
)
from journeys.storm_worker import STOPPED, Fate

from sow.paths import Workspace

PROGRAM = Path(__file__).with_name("storm_worker.py")


@dataclass
class Stopped:
    """A worker that has stopped before it wrote something down."""

    run: WorkerRun
    job: int


class Staff:
    """The workers of one storm. `kills` is where their deaths are counted."""

    def __init__(
        self, site: Site, plan: Plan, chance: random.Random, kills: Counter[tuple[str, str]]
    ) -> None:
        self.site, self.plan, self.chance, self.kills = site, plan, chance, kills
        self.fates = draw_fates(plan)
        self.runs: list[WorkerRun] = []
        self.anchor: WorkerRun | None = None
        self.stopped: list[Stopped] = []
        self.ghosts: list[WorkerRun] = []
        self.told_fates = 0
        self.stops = 0
        self.hired = 0

    @property
    def log(self) -> Path:
        return self.site.base / "fates"

    def hear_fates(self) -> None:
        """Count the workers that have met their ends; a stopped one loses its name."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        for fate in map(json.loads, lines[self.told_fates :]):
            if fate["window"] == STOPPED:
                self.unname(fate["pid"], fate["worker"], fate["job"])
            else:
                self.fates -= Counter({fate["point"]: 1})
                self.kills[fate["window"], "worker"] += 1
        self.told_fates = len(lines)

    def unname(self, pid: int, worker: str, job: int) -> None:
        """Delete the lock file of a stopped worker, as somebody who cleans up would."""
        run = next((run for run in self.runs if run.pid == pid), None)
        if run is None or not self.has_stopped(run):
            return  # killed from outside in this moment
        self.stops += 1
        (Workspace(self.site.root).workers / f"{worker}.lock").unlink(missing_ok=True)
        self.runs.remove(run)
        self.stopped.append(Stopped(run, job))

    def has_stopped(self, run: WorkerRun) -> bool:
        """Wait until a worker that is about to stop has done so; False when it is dead."""

        def rests() -> bool:
            return run.process.poll() is not None or process_state(run.pid) == "T"

        wait_until(rests, f"worker {run.pid} has stopped")
        return run.process.poll() is None

    def wake_stopped(self, has_ended: Callable[[int], bool]) -> None:
        """Have stopped workers go on where others have ended their job."""
        for each in list(self.stopped):
            if has_ended(each.job):
                self.stopped.remove(each)
                self.ghosts.append(each.run)
                each.run.signal(signal.SIGCONT)

    def replace_the_gone(self) -> None:
        """Hire anew where workers are gone. One of them meets no end of its own."""
        self.runs = [run for run in self.runs if run.process.poll() is None]
        if self.anchor not in self.runs:
            self.anchor = self.hire(Fate(str(self.log)), "--concurrency", "1")
        while len(self.runs) < self.plan.workers:
            self.hire(self.draw_fate())

    def draw_fate(self) -> Fate:
        points = {point: window_of_point(point) for point in self.fates}
        if self.stops < self.plan.stops:
            points[TO_STOP_AT] = STOPPED
        return Fate(
            str(self.log), points, self.chance.randint(1, 2), self.plan.odds, self.plan.seed
        )

    def hire(self, fate: Fate, *options: str) -> WorkerRun:
        plan, self.hired = self.plan, self.hired + 1
        orders = replace(
            fate,
            seed=fate.seed * 1000 + self.hired,
            hurried=plan.sessions,
            recovery=plan.recovery,
            fencing=plan.fencing,
            session_law=plan.session_law,
        )
        run = launch_worker(self.site, json.dumps(asdict(orders)), *options, program=PROGRAM)
        self.runs.append(run)
        return run

    def send_home(self) -> None:
        """Have every worker leave, stopped ones too, and see them gone."""
        leaving = [*self.runs, *self.ghosts, *(each.run for each in self.stopped)]
        for run in leaving:
            if run.process.poll() is None:
                run.signal(signal.SIGTERM)
                run.signal(signal.SIGCONT)
        for run in leaving:
            run.wait()


def draw_fates(plan: Plan) -> Counter[str]:
    """Return how many workers are to die at each point."""
    fates: Counter[str] = Counter()
    for window, points in {**BY_ITSELF, **BY_ITSELF_WITH_EXECUTORS}.items():
        if window in plan.windows:
            shares = max(plan.kills, len(points))
            fates.update(points[turn % len(points)] for turn in range(shares))
    return fates
