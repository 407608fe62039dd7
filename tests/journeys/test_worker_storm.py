"""A storm of SIGKILLs (§9): "0 lost, 0 run twice at the same time, 0 processes left"."""

import os
import random
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from journeys.calls import await_end, queue
from journeys.site import Site, wait_until
from journeys.staff import drain, kill, nothing_is_taken, shell_executor

from sow.jobs import jobs, workers
from sow.paths import Workspace

TASKS = [f"{number:03}" for number in range(10, 810, 10)]
GROUPS = [TASKS[start : start + 10] for start in range(0, len(TASKS), 10)]
KILLS = 30

AGENT = """
    echo "begin $SOW_TASK_ID" >>"$SOW_ROOT/lives"
    sleep 0.5
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
    echo "end $SOW_TASK_ID" >>"$SOW_ROOT/lives"
"""


class Storm:
    """Callers that wait for ten tasks each, and what can be killed meanwhile."""

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.workspace = Workspace(site.root)
        self.chance = random.Random(seed)
        self.callers = {number: self.call(number) for number in range(len(GROUPS))}

    def call(self, number: int) -> subprocess.Popen[str]:
        return self.site.start("agent", "spawn", "implementer", *self.undone(number))

    def undone(self, number: int) -> list[str]:
        """Return the tasks of a group that nobody has reported on."""
        states = {task: self.site.task(task)["status"] for task in GROUPS[number]}
        return [task for task, status in states.items() if status != "needs_review"]

    def call_again(self) -> None:
        """Repeat the calls whose process is gone while its tasks are not done."""
        for number, caller in self.callers.items():
            if caller.poll() is not None and self.undone(number):
                self.callers[number] = self.call(number)

    def victims(self) -> dict[str, list[int]]:
        living = [caller.pid for caller in self.callers.values() if caller.poll() is None]
        if not self.workspace.queue_db.exists():
            return {"caller": living}
        with closing(queue(self.site)) as database:
            staff = [
                record.process.pid
                for record in workers.registered(database)
                if workers.is_alive(self.workspace, record.id)
            ]
            attempts = [jobs.last_attempt(database, job.id) for job in jobs.active_jobs(database)]
            tended = [one.supervisor.pid for one in attempts if one and one.supervisor]
        return {"caller": living, "worker": staff, "supervisor": tended}

    def strike(self) -> str | None:
        """Kill somebody; return who it was."""
        wait_until(lambda: self.chance.random() < 0.1)
        kind, pids = self.chance.choice(sorted(self.victims().items()))
        if not pids:
            return None
        kill(self.chance.choice(pids))
        return kind


def carriers(root: Path) -> list[int]:
    """Return the processes that belong to any attempt of a workspace."""
    marker, found = f"SOW_ROOT={root}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker in variables and any(v.startswith(b"SOW_ATTEMPT_ID=") for v in variables):
                found.append(int(entry.name))
    return found


@pytest.mark.storm
def test_a_storm_of_kills_loses_nothing_and_runs_nothing_twice(site: Site) -> None:
    """ "SIGKILL storm (workers, callers, supervisors, random moments, ≥ 80 jobs)"."""
    executor = shell_executor(site, "quick", AGENT, retries=9)
    bindings = {"implementer": "quick"}
    config = {"executors": {"quick": executor}, "bindings": bindings}
    site.configure({"worker": {"concurrency": 6}, "agents": config})
    site.project(*TASKS)
    seed = random.randrange(1_000_000)
    storm = Storm(site, seed)
    struck: Counter[str] = Counter()
    while struck.total() < KILLS and any(storm.undone(n) for n in range(len(GROUPS))):
        kind = storm.strike()
        if kind is not None:
            struck[kind] += 1
        storm.call_again()

    def all_done() -> bool:
        storm.call_again()
        return not any(storm.undone(number) for number in range(len(GROUPS)))

    wait_until(all_done, f"all is done, seed {seed}", seconds=180)
    drain(site)  # it buries who was killed last
    wait_until(lambda: not carriers(site.root), f"no process is left, seed {seed}")
    for task in TASKS:
        await_end(site, task)
    lives = (site.root / "lives").read_text().splitlines()
    assert Counter(lives) == Counter(
        f"{what} {task}" for task in TASKS for what in ("begin", "end")
    )
    assert struck.total() >= 5, struck
    nothing_is_taken(site)
