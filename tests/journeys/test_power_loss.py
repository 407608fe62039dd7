"""The power goes, again and again: callers, workers, supervisors and agents die in one moment.

Nothing of it is the fault of any job, so none of them is given up for it: "power
lost 20 times: 40 of 40 jobs done".
"""

import os
import random
import signal
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import pytest
from journeys.callers import Step, all_jobs, exists, gate, good, open_gate, queue
from journeys.site import Site, wait_until
from journeys.staff import nothing_is_taken, start_worker
from proving import drawn, hand_in, rounds
from standins import overlapping, read_runs

from sow.config.defaults import DEFAULT_RETRY_WORKER_DEATHS
from sow.jobs import control
from sow.schema.job import JobState

LOSSES = rounds(20, 8)
TASKS = tuple(f"{10 * number:03}" for number in range(1, rounds(40, 16) + 1))
LONG = TASKS[: rounds(12, 6)]
"""Tasks that no agent ends before the power stays: they lose it many times in a row."""
CUT_OFF: list[Step] = [{"keep_nothing": True}, {"shell": "echo began >> tree"}, {"sleep": 1}]
"""A first run that is not kept, if it is cut off; the later ones are."""
FEWEST_RUNNING = 2
SECONDS = 300.0


@pytest.mark.storm
@pytest.mark.parametrize("seed", drawn(5, 6, 7))
def test_every_job_outlives_many_losses_of_power(site: Site, seed: int) -> None:
    """ "Those that cannot be the job's fault … do not count"."""
    chance = random.Random(seed)
    begin(site)
    killed = [lose_power(site, chance) for _ in range(LOSSES)]
    assert min(killed) >= 2 * FEWEST_RUNNING + 2, killed  # agents, supervisors, worker, caller
    open_gate(site, "power")
    start_worker(site, "--drain").process.wait(SECONDS)
    ended = all_jobs(site)
    done = sum(job.state is JobState.DONE for job in ended)
    facts = {"losses": LOSSES, "processes killed": sum(killed), "jobs": len(ended), "done": done}
    hand_in("power lost", seed, facts)
    failed = [(job.id, job.cause, job.reason) for job in ended if job.state is not JobState.DONE]
    assert failed == []
    assert {job.task_id for job in ended} == set(TASKS)
    assert {site.task(task)["status"] for task in TASKS} == {"needs_review"}
    records = site.sow("agent", "wait", *TASKS, "--json").json_lines
    assert {each["task"] for each in records if each["status"] == "needs_review"} == set(TASKS)
    runs = read_runs(site.root)
    assert [
        pair for pair in overlapping(runs) if pair[0].task == pair[1].task and told_end(pair)
    ] == []
    assert max(job.excused_deaths for job in ended) >= DEFAULT_RETRY_WORKER_DEATHS
    assert processes_of(site) == []
    nothing_is_taken(site)
    print(f"seed {seed}: {sum(killed)} processes killed in {LOSSES} losses, {len(runs)} runs")


def told_end(pair: tuple[object, ...]) -> bool:
    """Whether the first of two runs has told when it ended; one that was killed has not."""
    return getattr(pair[0], "ended", None) is not None


def begin(site: Site) -> None:
    """Queue every task; workers are started by the test alone."""
    site.project(*TASKS)
    site.script([good(*CUT_OFF), good({"say": "Going on"}, {"sleep": 1})])
    for task in LONG:
        site.script([good(*CUT_OFF, gate("power")), good(gate("power"))], task=task)
    executor = {"settings": {"allowed_tools": ["Bash"]}}
    site.configure(
        {
            "worker": {"autostart": False, "concurrency": 4},
            "agents": {"executors": {"claude-code": executor}},
        }
    )
    site.sow("agent", "spawn", "implementer", *TASKS, "--detach")


def lose_power(site: Site, chance: random.Random) -> int:
    """Have workers and a caller at work, kill all there is at some moment; return how many."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    site.start("agent", "wait", *TASKS, "--json", **quiet)
    for _ in range(chance.randint(1, 2)):
        start_worker(site)
    wait_until(lambda: running(site) >= FEWEST_RUNNING, "several agents run", seconds=SECONDS)
    wait_until(lambda: chance.random() < 0.05)
    return kill_everything(site)


def running(site: Site) -> int:
    """Return how many agents live and are on record as running."""
    with closing(queue(site)) as database:
        on_record = sum(control.running_by_executor(database).values())
    living = [run for run in read_runs(site.root) if run.ended is None and exists(run.pid)]
    return min(on_record, len(living))


def kill_everything(site: Site) -> int:
    """Stop every process of the site, then kill them all: none sees another die."""
    stopped: set[int] = set()
    while new := [pid for pid in processes_of(site) if pid not in stopped]:
        for pid in new:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= set(new)
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in site.started:
        process.wait()
    wait_until(lambda: processes_of(site) == [], "everything is dead")
    return len(stopped)


def processes_of(site: Site) -> list[int]:
    """Return the processes that were started in this site: all have its HOME."""
    home = f"HOME={site.base / 'home'}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and home in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return [pid for pid in found if exists(pid)]
