"""The kills from outside: whom a storm kills, in which window, and whether it was that window.

The storm judges by what it sees: the records, and what the agents say they do.
A kill counts in a window only if the victim's job was there before it and after it.
"""

import json
import os
import random
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

from journeys.callers import exists
from journeys.site import Site, wait_until
from journeys.staff import WorkerRun, kill
from journeys.storm_lives import Life, Lives
from journeys.storm_plan import AT_ONCE, FORKED, FORKING, Plan
from journeys.storm_verdict import processes_with

from sow.jobs import jobs, leases
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.schema.job import Attempt, Lease
from worker.supervisor.foreign_processes import NO_ATTEMPT

FEWEST_AGENTS = 3
"""Everybody dies at once only while so many agents are at work."""


class Strikes:
    """The kills from outside of one storm."""

    def __init__(
        self,
        site: Site,
        plan: Plan,
        chance: random.Random,
        database: Database,
        lives: Lives,
        kills: Counter[tuple[str, str]],
    ) -> None:
        self.site, self.plan, self.chance, self.database = site, plan, chance, database
        self.workspace = Workspace(site.root)
        self.lives, self.kills = lives, kills
        self.left = Counter({w: plan.kills for w in plan.from_outside if w in plan.windows})
        self.moments = self.forks = 0

    def strike(self, staff: list[WorkerRun], callers: dict[str, int]) -> None:
        """Kill somebody in a window that lacks kills, and see in which window it was.

        `callers` are the pids of those who wait, by task.
        """
        lives = self.lives.read()
        scenes = [(self.window_of(lease, lives), lease) for lease in self.all_leases()]
        wanted = [(w, lease) for w, lease in scenes if w is not None and self.left[w] > 0]
        if not wanted:
            return
        window, lease = self.chance.choice(wanted)
        victims = self.victims(self.chance.choice(self.plan.from_outside[window]), lease, staff)
        if victims is None:
            caller = callers.get(jobs.get_job(self.database, lease.job_id).task_id)
            victims = {"caller": caller} if caller and exists(caller) else {}
        if not victims:
            return
        kill(*victims.values())  # they may just have ended
        wait_until(lambda: not any(map(exists, victims.values())), f"{victims} are gone")
        if self.is_still_in(window, lease, victims):
            self.left[window] -= 1
            self.kills.update((window, victim) for victim in victims)

    def strike_all(self, staff: list[WorkerRun], callers: dict[str, int]) -> None:
        """Kill everybody at once: workers, callers, supervisors, agents, and what these run."""
        victims = [("worker", run.pid) for run in staff]
        victims += [("caller", pid) for pid in callers.values()]
        for lease in self.all_leases():
            victims += (self.victims("both", lease, staff) or {}).items()
        if sum(victim == "agent" for victim, _ in victims) < FEWEST_AGENTS:
            return
        alive = {(victim, pid) for victim, pid in victims if exists(pid)}
        kill(*(pid for _, pid in alive))
        marker = f"HOME={self.site.env['HOME']}"
        wait_until(lambda: not kill_all(marker), "nothing of the storm is left alive")
        self.kills.update((AT_ONCE, victim) for victim, _ in alive)
        self.moments += 1

    def strike_forked(self) -> None:
        """Kill a fork server, or a supervisor that waits ahead for orders."""
        found = processes_with(f"HOME={self.site.env['HOME']}", f"SOW_ATTEMPT_ID={NO_ATTEMPT}\0")
        if found:
            kill(self.chance.choice(found))
            self.kills[FORKING, FORKED] += 1
            self.forks += 1

    def all_leases(self) -> list[Lease]:
        owners = sorted(leases.lease_owners(self.database))
        return [each for owner in owners for each in leases.leases_of(self.database, owner)]

    def window_of(self, lease: Lease, lives: dict[str, Life]) -> str | None:
        """Return what an agent, or its supervisor after it, is doing in this moment."""
        attempt = jobs.last_attempt(self.database, lease.job_id)
        if attempt is None or not (self.supervisor(attempt) or self.agent(attempt)):
            return None
        if self.workspace.attempt(attempt.job_id, attempt.number).exit.exists():
            return None
        life = lives.get(attempt.id)
        if life is None:
            return "starting" if self.agent(attempt) else None
        return life.window

    def is_still_in(self, window: str, lease: Lease, victims: dict[str, int]) -> bool:
        """Whether a job is where it was; where the agent has died, whether that was there."""
        lives = self.lives.read()
        if "agent" not in victims:
            return self.window_of(lease, lives) == window
        attempt = jobs.last_attempt(self.database, lease.job_id)
        life = lives.get(attempt.id) if attempt else None
        if life is None:
            return window == "starting"
        return "end" not in life.signs and life.step == window

    def victims(self, word: str, lease: Lease, staff: list[WorkerRun]) -> dict[str, int] | None:
        """Return the living processes that a word of the plan means, by what they are.

        None means a caller: which those are the storm knows.
        """
        attempt = jobs.last_attempt(self.database, lease.job_id)
        if attempt is None:
            return {}
        agent, supervisor = self.agent(attempt), self.supervisor(attempt)
        match word:
            case "worker":
                runs = [run for run in staff if f"w{run.pid}-" in lease.worker_id]
                pids = {"worker": runs[0].pid if runs else None}
            case "supervisor":
                pids = {word: supervisor}
            case "agent":
                pids = {word: agent}
            case "both":
                pids = {"supervisor": supervisor, "agent": agent}
            case _:
                return None
        return {victim: pid for victim, pid in pids.items() if pid and exists(pid)}

    def supervisor(self, attempt: Attempt) -> int | None:
        """Return an attempt's supervisor, if it lives."""
        pid = attempt.supervisor.pid if attempt.supervisor else None
        return pid if pid and exists(pid) else None

    def agent(self, attempt: Attempt) -> int | None:
        """Return an attempt's agent, if it lives."""
        started = self.workspace.attempt(attempt.job_id, attempt.number).started
        with suppress(OSError, ValueError):
            pid = int(json.loads(started.read_bytes())["agent_pid"])
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if f"SOW_ATTEMPT_ID={attempt.id}".encode() in variables:
                return pid
        return None


def kill_all(marker: str) -> list[int]:
    """Kill every process that carries a variable; return which there were."""
    found = processes_with(marker)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found
