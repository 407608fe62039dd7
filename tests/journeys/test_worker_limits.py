"""Limits hold across all workers of a project (§8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from journeys.callers import all_jobs, await_end, await_runs, await_state, good, open_gate
from journeys.callers import gate as wait_at
from journeys.site import Site
from journeys.staff import QUICK, nothing_is_taken, shell_executor, start_worker
from standins import overlapping, read_runs

from sow.schema.job import JobState

TIMED_AGENT = """
    begun=$(date +%s%N)
    sleep 0.1
    sed -i 's/status: in_progress/status: needs_review/' "$1/state.yaml"
    echo "$SOW_EXECUTOR $SOW_TASK_ID $begun $(date +%s%N)" >>"$SOW_ROOT/times"
"""
"""An agent that writes down its executor, its task, and when it began and ended."""


@dataclass(frozen=True)
class Span:
    """One agent's life, in nanoseconds of the wall clock."""

    executor: str
    task: str
    begun: int
    ended: int


def spans(site: Site) -> list[Span]:
    lines = (site.root / "times").read_text().splitlines()
    found = []
    for line in lines:
        executor, task, begun, ended = line.split()
        found.append(Span(executor, task, int(begun), int(ended)))
    return found


def most_at_once(lives: Sequence[Span]) -> int:
    """Return how many lived at the same moment, at the most."""
    edges = [(span.begun, 1) for span in lives] + [(span.ended, -1) for span in lives]
    alive = most = 0
    for _, change in sorted(edges):
        alive += change
        most = max(most, alive)
    return most


def test_two_workers_and_forty_jobs_on_limits_of_three_and_five(site: Site) -> None:
    """ "Two workers and 40 jobs on limits 3 (executor) and 5 (total): never exceeded, none
    starved, all done"."""
    site.configure(
        {
            "worker": {**QUICK, "concurrency": 5},
            "agents": {
                "executors": {
                    "narrow": shell_executor(site, "narrow", TIMED_AGENT, max_parallel=3),
                    "wide": shell_executor(site, "wide", TIMED_AGENT),
                },
                "bindings": {"implementer": "narrow", "architect": "wide"},
            },
        }
    )
    narrow = [f"{number:03}" for number in range(10, 210, 10)]
    wide = [f"{number:03}" for number in range(210, 410, 10)]
    site.project(*narrow)
    site.add_tasks(*wide, agent="architect")
    site.sow("agent", "spawn", "implementer", *narrow, "--detach")
    site.sow("agent", "spawn", "architect", *wide, "--detach")
    workers = [start_worker(site, "--drain") for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    lives = spans(site)
    assert sorted(life.task for life in lives) == [*narrow, *wide]
    assert most_at_once([life for life in lives if life.executor == "narrow"]) <= 3
    assert 1 < most_at_once(lives) <= 5
    assert {job.state for job in all_jobs(site)} == {JobState.DONE}
    assert all(" runs: " in worker.log_text for worker in workers)
    nothing_is_taken(site)


def test_a_full_executor_blocks_nobody_elses_jobs(site: Site) -> None:
    """ "a full executor never blocks another's jobs; an ending rings the doorbell"."""
    site.configure(
        {
            "worker": QUICK,
            "agents": {
                "executors": {
                    "claude-code": {"max_parallel": 1},
                    "quick": shell_executor(site, "quick"),
                },
                "bindings": {"architect": "quick"},
            },
        }
    )
    site.project("010", "020")
    site.add_tasks("030", agent="architect")
    site.script([good(wait_at("first"))], task="010")
    site.sow("agent", "spawn", "implementer", "010", "020", "--detach")
    site.sow("agent", "spawn", "architect", "030", "--detach")
    start_worker(site)
    await_runs(site)
    assert await_end(site, "030").state is JobState.DONE
    assert await_state(site, "020", JobState.QUEUED)
    open_gate(site, "first")
    assert await_end(site, "020").state is JobState.DONE
    assert overlapping(read_runs(site.root)) == []


def test_one_worker_can_be_given_less_than_the_project(site: Site) -> None:
    """§7: "`sow worker --concurrency N` caps one worker, `worker.concurrency` the project"."""
    site.configure({"worker": {**QUICK, "concurrency": 3}})
    tasks = ("010", "020", "030", "040")
    site.project(*tasks)
    site.script([good(wait_at("all"))])
    site.sow("agent", "spawn", "implementer", *tasks, "--detach")
    small = start_worker(site, "--concurrency", "1")
    await_runs(site, 1)
    big = start_worker(site)
    await_runs(site, 3)
    running = {worker["worker"]: len(worker["jobs"]) for worker in site.workers()}
    assert running == {small.name: 1, big.name: 2}
    await_state(site, "040", JobState.QUEUED)
    open_gate(site, "all")
    for task in tasks:
        assert await_end(site, task).state is JobState.DONE
