"""A storm of SIGKILLs over one repository: callers, workers and supervisors die, agents work on.

`run_storm` makes a project, has callers wait for all of its tasks, keeps some
workers going, kills, asks again, and returns a `Verdict`: what was killed in
which window, and the promises that were broken. The workers die by themselves,
at points drawn for them (`storm_worker`); whom the storm kills from outside it
judges by what it sees: the records, and what the agents say they do.
"""

import json
import os
import random
import signal
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from journeys.calls import exists, process_state, queue
from journeys.site import Site, wait_until
from journeys.staff import WorkerRun, drain, kill, launch_worker, shell_executor
from journeys.storm_lives import AGENT, Life, read_lives
from journeys.storm_plan import (
    BY_ITSELF,
    FROM_OUTSIDE,
    TO_STOP_AT,
    Plan,
    Verdict,
    window_of_point,
)
from journeys.storm_verdict import broken_promises
from journeys.storm_worker import STOPPED, Fate

from sow.ids import JobId
from sow.jobs import jobs, leases
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Lease

MORE = ("crashing", "plain", "leaving", "crashing")
"""The tasks of one more call, where a storm has not killed enough when all work is done."""
MOST_TASKS = 400
PROGRAM = Path(__file__).with_name("storm_worker.py")


@dataclass
class Group:
    """A caller and the tasks it asks for."""

    tasks: list[str]
    process: subprocess.Popen[str]
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What it was told of each task, over all its calls."""

    @property
    def untold(self) -> list[str]:
        return [task for task in self.tasks if task not in self.told]


@dataclass
class Stopped:
    """A worker that has stopped before it wrote something down."""

    run: WorkerRun
    job: int


def run_storm(site: Site, plan: Plan) -> Verdict:
    """Let a storm pass over an empty site."""
    storm = Storm(site, plan)
    wait_until(storm.step, f"the storm of seed {plan.seed} is over", seconds=600)
    return storm.verdict()


class Storm:
    """A storm that goes on step by step."""

    def __init__(self, site: Site, plan: Plan) -> None:
        self.site, self.plan = site, plan
        self.workspace = Workspace(site.root)
        self.chance = random.Random(plan.seed)
        self.kinds = self.draw_kinds()
        self.make_project()
        self.groups = [self.first_call(number) for number in range(plan.callers)]
        wait_until(self.workspace.queue_db.exists, "the first call makes the queue")
        self.database: Database = queue(site)
        self.fates = self.draw_fates()
        self.strikes = Counter({w: plan.kills for w in FROM_OUTSIDE if w in plan.windows})
        self.to_cancel = [task for task, kind in self.kinds.items() if kind == "cancelled"]
        self.kills: Counter[tuple[str, str]] = Counter()
        self.staff: list[WorkerRun] = []
        self.anchor: WorkerRun | None = None
        self.stopped: list[Stopped] = []
        self.ghosts: list[WorkerRun] = []
        self.told_fates = 0
        self.stops = 0
        self.hired = 0
        self.seen: object = None
        self.changed_at = 0.0

    @property
    def log(self) -> Path:
        return self.site.base / "fates"

    def draw_kinds(self) -> dict[str, str]:
        plan = self.plan
        kinds = ["plain"] * plan.plain + ["crashing"] * plan.crashing
        kinds += ["leaving"] * plan.leaving + ["cancelled"] * plan.cancelled
        self.chance.shuffle(kinds)
        return {f"{10 * number:03}": kind for number, kind in enumerate(kinds, 1)}

    def draw_fates(self) -> Counter[str]:
        """Return how many workers are to die at each point."""
        fates: Counter[str] = Counter()
        for window, points in BY_ITSELF.items():
            if window in self.plan.windows:
                shares = max(self.plan.kills, len(points))
                fates.update(points[turn % len(points)] for turn in range(shares))
        return fates

    def make_project(self) -> None:
        executor = shell_executor(self.site, "brief", AGENT, retries=9)
        config = {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}}
        self.site.configure({"worker": {"concurrency": 8, "autostart": False}, "agents": config})
        self.site.project(*self.kinds)
        (self.site.root / "kinds").mkdir()
        self.tell_kinds(self.kinds)

    def tell_kinds(self, kinds: dict[str, str]) -> None:
        """Write down for the agents what each of them is to do."""
        way = "itself" if self.plan.quick_report else "command"
        for task, kind in kinds.items():
            work = self.chance.uniform(0.05, 0.5)
            (self.site.root / "kinds" / task).write_text(f"{kind} {way} {work:.2f}\n")

    def first_call(self, number: int) -> Group:
        tasks = list(self.kinds)[number :: self.plan.callers]
        return Group(tasks, self.call(tasks))

    def call(self, tasks: list[str]) -> subprocess.Popen[str]:
        return self.site.start("agent", "spawn", "implementer", *tasks, "--json")

    def step(self) -> bool:
        """Go on; return whether the storm is over."""
        self.hear_callers()
        self.hear_fates()
        self.restaff()
        self.cancel_one()
        self.wake_stopped()
        if self.chance.random() < 0.25:
            self.strike()
        return self.is_over()

    def is_over(self) -> bool:
        """Whether everybody has been told everything, or nothing has moved for too long."""
        if not any(group.untold for group in self.groups):
            return not jobs.has_active_jobs(self.database) and not self.goes_on()
        rows = self.database.rows("select id, state, settled, worker_deaths, retries from job")
        current = [tuple(row) for row in rows], len(self.lives())
        now = os.times().elapsed
        if repr(current) != self.seen:
            self.seen, self.changed_at = repr(current), now
        return now - self.changed_at > self.plan.patience

    def goes_on(self) -> bool:
        """Call for more work where the jobs were done before everybody had met their end."""
        lacks = self.plan.stops - self.stops + self.strikes.total() + self.fates.total()
        is_whole = self.plan.recovery and self.plan.fencing
        if lacks <= 0 or not is_whole or len(self.kinds) >= MOST_TASKS:
            return False
        first = len(self.kinds) + 1
        more = {f"{10 * number:03}": kind for number, kind in enumerate(MORE, first)}
        self.site.add_tasks(*more, agent="implementer")
        self.tell_kinds(more)
        self.kinds |= more
        self.groups.append(Group(list(more), self.call(list(more))))
        return True

    def lives(self) -> dict[str, Life]:
        return read_lives(self.site.root)

    def hear_callers(self) -> None:
        """Take down what callers that are gone have printed; they ask again for the rest."""
        for group in self.groups:
            if group.process.poll() is None or not (group.process.stdout and group.untold):
                continue
            out, _ = group.process.communicate()
            lines = [line for line in out.splitlines() if line.endswith("}")]
            group.told |= {told["task"]: told for told in map(json.loads, lines)}
            if group.untold and self.staff:
                group.process = self.call(group.untold)

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
        run = next((run for run in self.staff if run.pid == pid), None)
        if run is None or not self.has_stopped(run):
            return  # killed from outside in this moment
        self.stops += 1
        (self.workspace.workers / f"{worker}.lock").unlink(missing_ok=True)
        self.staff.remove(run)
        self.stopped.append(Stopped(run, job))

    def has_stopped(self, run: WorkerRun) -> bool:
        """Wait until a worker that is about to stop has done so; False when it is dead."""

        def rests() -> bool:
            return run.process.poll() is not None or process_state(run.pid) == "T"

        wait_until(rests, f"worker {run.pid} has stopped")
        return run.process.poll() is None

    def wake_stopped(self) -> None:
        """Have stopped workers go on where others have ended their job."""
        for one in list(self.stopped):
            if jobs.get_job(self.database, JobId(one.job)).state.is_final:
                self.stopped.remove(one)
                self.ghosts.append(one.run)
                one.run.signal(signal.SIGCONT)

    def restaff(self) -> None:
        """Replace the workers that are gone. One of them meets no end of its own."""
        self.staff = [run for run in self.staff if run.process.poll() is None]
        if self.anchor not in self.staff:
            self.anchor = self.hire(Fate(str(self.log)), "--concurrency", "1")
        while len(self.staff) < self.plan.workers:
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
        told = replace(
            fate,
            seed=fate.seed * 1000 + self.hired,
            recovery=plan.recovery,
            fencing=plan.fencing,
        )
        run = launch_worker(self.site, json.dumps(asdict(told)), *options, program=PROGRAM)
        self.staff.append(run)
        return run

    def cancel_one(self) -> None:
        """Cancel a task whose agent works."""
        working = {life.task for life in self.lives().values() if life.window == "running"}
        for task in self.to_cancel:
            if task in working:
                self.to_cancel.remove(task)
                self.site.start("agent", "cancel", task)
                return

    def strike(self) -> None:
        """Kill somebody in a window that lacks kills, and see in which window it was."""
        scenes = [(self.window_of(lease), lease) for lease in self.supervised()]
        wanted = [(w, lease) for w, lease in scenes if w is not None and self.strikes[w] > 0]
        if not wanted:
            return
        window, lease = self.chance.choice(wanted)
        victim = self.chance.choice(FROM_OUTSIDE[window])
        pid = self.pid_of(victim, lease)
        if pid is None:
            return
        kill(pid)  # it may just have ended
        wait_until(lambda: not exists(pid), f"{victim} {pid} is gone")
        if self.window_of(lease) == window:
            self.strikes[window] -= 1
            self.kills[window, victim] += 1

    def supervised(self) -> list[Lease]:
        """Return the leases on jobs whose supervisor lives."""
        owners = sorted(leases.lease_owners(self.database))
        found = [one for owner in owners for one in leases.leases_of(self.database, owner)]
        return [lease for lease in found if self.pid_of("supervisor", lease) is not None]

    def window_of(self, lease: Lease) -> str | None:
        """Return what an agent, or its supervisor after it, is doing in this moment."""
        attempt = jobs.last_attempt(self.database, lease.job_id)
        life = self.lives().get(attempt.id) if attempt else None
        if attempt is None or life is None:
            return None
        ended = self.workspace.attempt(attempt.job_id, attempt.number).exit.exists()
        return None if ended else life.window

    def pid_of(self, victim: str, lease: Lease) -> int | None:
        """Return a process that has to do with a job, if it runs."""
        attempt = jobs.last_attempt(self.database, lease.job_id)
        job = jobs.get_job(self.database, lease.job_id)
        match victim:
            case "worker":
                pids = [run.pid for run in self.staff if f"w{run.pid}-" in lease.worker_id]
            case "supervisor":
                pids = [attempt.supervisor.pid] if attempt and attempt.supervisor else []
            case _:
                waiting = [group for group in self.groups if job.task_id in group.untold]
                pids = [g.process.pid for g in waiting if g.process.poll() is None]
        return next((pid for pid in pids if exists(pid)), None)

    def verdict(self) -> Verdict:
        """Send the workers home, bury the dead, and see what is left."""
        active = jobs.active_jobs(self.database)
        broken = [f"job {job.id} of {job.task_id} never ended: {job.state}" for job in active]
        for one in self.stopped:
            one.run.signal(signal.SIGCONT)
        leaving = [*self.staff, *self.ghosts, *(one.run for one in self.stopped)]
        for run in leaving:
            if run.process.poll() is None:
                run.signal(signal.SIGTERM)
        for run in leaving:
            run.wait()
        if not broken:
            drain(self.site)
        told = {task: one for group in self.groups for task, one in group.told.items()}
        with closing(self.database):
            broken += broken_promises(self.site, self.database, self.kinds, told)
        return Verdict(self.kills, self.stops, broken)
