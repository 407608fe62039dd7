"""A storm of SIGKILLs over one repository: callers, workers, supervisors and agents die.

`run_storm` makes a project, has callers wait for all of its tasks, keeps some
workers going, kills, asks again, and returns a `Verdict`: what was killed in
which window, and the promises that were broken. The workers die by themselves
as well (`storm_staff`); the kills from outside are `storm_strikes`.
"""

import json
import os
import random
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from journeys.callers import queue
from journeys.site import Site, wait_until
from journeys.staff import drain
from journeys.storm_agents import executor_of, kinds_of, tell_kinds
from journeys.storm_executors import ROLES, agents_of, broken_homes, make_logins
from journeys.storm_lives import Lives
from journeys.storm_plan import Plan, Verdict
from journeys.storm_staff import Staff
from journeys.storm_strikes import Strikes
from journeys.storm_verdict import broken_promises

from sow.ids import JobId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace

MORE = ("crashing", "leaving", "plain", "leaving", "crashing", "leaving")
"""The tasks of one more call, where a storm has not killed enough when all work is done."""
MORE_WITH_EXECUTORS = ("renewing", "moving", "crashing", "leaving", "limited", "renewing")
MOST_TASKS = 400
RETRY = {"worker_deaths": 50}
"""A storm kills so many workers under one job that the setting's default is no fault."""
LONGEST_SECONDS = 1800.0
"""A slow machine is no fault; a storm in which nothing moves ends earlier (`Plan.patience`)."""


def outcomes_in(out: str) -> dict[str, dict[str, Any]]:
    """Return the outcomes that a command has printed, by task; a refusal is none: it asks again."""
    lines = [json.loads(line) for line in out.splitlines() if line.endswith("}")]
    return {line["task"]: line for line in lines if "error" not in line}


@dataclass
class Group:
    """A caller and the tasks it asks for."""

    role: str
    tasks: list[str]
    process: subprocess.Popen[str]
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What it was told of each task, over all its calls."""

    @property
    def untold(self) -> list[str]:
        return [task for task in self.tasks if task not in self.outcomes]

    @property
    def waits(self) -> bool:
        return self.process.poll() is None


def run_storm(site: Site, plan: Plan) -> Verdict:
    """Let a storm pass over an empty site."""
    storm = Storm(site, plan)
    wait_until(storm.step, f"the storm of seed {plan.seed} is over", seconds=LONGEST_SECONDS)
    return storm.verdict()


class Storm:
    """A storm that goes on step by step."""

    def __init__(self, site: Site, plan: Plan) -> None:
        self.site, self.plan = site, plan
        self.chance = random.Random(plan.seed)
        self.kinds = kinds_of(plan, self.chance)
        self.make_project()
        self.groups = [self.first_call(number) for number in range(plan.callers)]
        wait_until(Workspace(site.root).queue_db.exists, "the first call makes the queue")
        self.database: Database = queue(site)
        self.kills: Counter[tuple[str, str]] = Counter()
        self.staff = Staff(site, plan, self.chance, self.kills)
        self.lives = Lives(site.root)
        self.strikes = Strikes(site, plan, self.chance, self.database, self.lives, self.kills)
        self.to_cancel = [task for task, kind in self.kinds.items() if kind == "cancelled"]
        self.cancelling: subprocess.Popen[str] | None = None
        self.shown: dict[str, dict[str, Any]] = {}
        """What cancels have shown, by task."""
        self.seen: object = None
        self.changed_at = 0.0

    def make_project(self) -> None:
        if self.plan.executors:
            agents = agents_of(self.site)
            make_logins(self.site)
        else:
            executor = executor_of(self.site, self.plan)
            agents = {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}}
        worker = {"concurrency": 8, "autostart": False}
        self.site.configure({"worker": worker, "agents": agents, "retry": RETRY})
        self.site.project()
        for number in range(self.plan.callers):
            self.site.add_tasks(*self.tasks_of(number), agent=self.role_of(number))
        tell_kinds(self.site, self.plan, self.kinds, self.chance)

    def tasks_of(self, number: int) -> list[str]:
        """Return the tasks that a caller asks for first."""
        return list(self.kinds)[number :: self.plan.callers]

    def role_of(self, number: int) -> str:
        return ROLES[number % len(ROLES)] if self.plan.executors else "implementer"

    def first_call(self, number: int) -> Group:
        tasks, role = self.tasks_of(number), self.role_of(number)
        return Group(role, tasks, self.call(role, tasks))

    def call(self, role: str, tasks: list[str]) -> subprocess.Popen[str]:
        return self.site.start("agent", "spawn", role, *tasks, "--json")

    def step(self) -> bool:
        """Go on; return whether the storm is over."""
        self.hear_callers()
        self.staff.hear_fates()
        self.staff.replace_the_gone()
        self.cancel_one()
        self.staff.wake_stopped(self.has_ended)
        if self.chance.random() < self.plan.rate:
            self.strikes.strike(self.staff.runs, self.waiting_callers())
        if self.is_time_for_all():
            self.strikes.strike_all(self.staff.runs, self.waiting_callers())
        if self.strikes.forks < self.plan.forks and self.chance.random() < self.plan.rate / 4:
            self.strikes.strike_forked()
        return self.is_over()

    def is_time_for_all(self) -> bool:
        """Whether everybody is to die now: moments come as the other kills go on."""
        share = 1 - self.strikes.left.total() / max(1, self.plan.kills * len(self.plan.windows))
        return self.strikes.moments < share * self.plan.moments

    def is_over(self) -> bool:
        """Whether everybody has been told everything, or nothing has moved for too long."""
        if not any(group.untold for group in self.groups):
            return not jobs.has_active_jobs(self.database) and not self.goes_on()
        rows = self.database.rows("select id, state, settled, worker_deaths, retries from job")
        current = [tuple(row) for row in rows], len(self.lives.read())
        now = os.times().elapsed
        if repr(current) != self.seen:
            self.seen, self.changed_at = repr(current), now
        return now - self.changed_at > self.plan.patience

    def goes_on(self) -> bool:
        """Call for more work where the jobs were done before enough had met their end."""
        has_enough = self.plan.is_met_by(self.kills) and not self.lacks
        if has_enough or not self.plan.is_whole or len(self.kinds) >= MOST_TASKS:
            return False
        first = len(self.kinds) + 1
        names = MORE_WITH_EXECUTORS if self.plan.executors else MORE
        more = {f"{10 * number:03}": kind for number, kind in enumerate(names, first)}
        role = self.role_of(len(self.groups))
        self.site.add_tasks(*more, agent=role)
        tell_kinds(self.site, self.plan, more, self.chance)
        self.kinds |= more
        self.groups.append(Group(role, list(more), self.call(role, list(more))))
        return True

    @property
    def lacks(self) -> int:
        """How many moments and stops are still to come."""
        stops = max(0, self.plan.stops - self.staff.stops)
        forks = max(0, self.plan.forks - self.strikes.forks)
        return stops + forks + max(0, self.plan.moments - self.strikes.moments)

    def hear_callers(self) -> None:
        """Take down what callers that are gone have printed; they ask again for the rest."""
        for group in self.groups:
            if group.waits or not (group.process.stdout and group.untold):
                continue
            out, _ = group.process.communicate()
            group.outcomes |= outcomes_in(out)
            group.outcomes |= {
                task: self.shown[task] for task in group.untold if task in self.shown
            }
            if group.untold and self.staff.runs:
                group.process = self.call(group.role, group.untold)

    def waiting_callers(self) -> dict[str, int]:
        """Return the pid of the caller that waits for each task."""
        waiting = [group for group in self.groups if group.waits]
        return {task: group.process.pid for group in waiting for task in group.untold}

    def has_ended(self, job: int) -> bool:
        return jobs.get_job(self.database, JobId(job)).state.is_final

    def hear_cancel(self) -> None:
        """Take down what a cancel has shown: it is owed to no caller that was gone by then."""
        if self.cancelling is None:
            return
        out, _ = self.cancelling.communicate()
        self.cancelling = None
        self.shown |= outcomes_in(out)

    def cancel_one(self) -> None:
        """Cancel a task whose agent works; again, where the one who did so was killed."""
        if self.cancelling and self.cancelling.poll() is None:
            return
        self.hear_cancel()
        if not self.to_cancel:
            return
        rows = self.database.rows(
            "select task_id from job where queued_at is not null"
            " and (cancel_requested_at is not null or state = 'cancelled')"
        )
        done = {row["task_id"] for row in rows}
        self.to_cancel = [task for task in self.to_cancel if task not in done]
        lives = self.lives.read().values()
        working = {life.task for life in lives if life.window == "running"}
        task = next((task for task in self.to_cancel if task in working), None)
        if task is not None:
            self.cancelling = self.site.start("agent", "cancel", task, "--json")

    def verdict(self) -> Verdict:
        """Send the workers home, bury the dead, and see what is left."""
        active = jobs.active_jobs(self.database)
        broken = [f"lost: job {job.id} of {job.task_id} never ended: {job.state}" for job in active]
        self.staff.send_home()
        if not broken:
            drain(self.site)
        outcomes = {task: each for group in self.groups for task, each in group.outcomes.items()}
        with closing(self.database):
            broken += broken_promises(self.site, self.database, self.plan, self.kinds, outcomes)
            if self.plan.executors and not broken:
                broken += broken_homes(self.site)
            count = len(jobs.recent_jobs(self.database, limit=10_000))
        return Verdict(
            self.plan,
            self.kills,
            self.strikes.moments,
            self.staff.stops,
            count,
            len(self.lives.read()),
            broken,
        )
