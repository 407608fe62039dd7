"""Two batches of thirty on four slots, with true workers and agents: the rule of fairness."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from journeys.site import Site
from journeys.staff import shell_executor

SLOTS, EACH, SINGLE = 4, 30, 6
ENDS = ("done", "failed", "cancelled", "backoff", "parked")
SINGLE_CALLS = None
"""All calls outside of batches count as one batch; so the record has them."""

Batch = int | None


@dataclass
class Reading:
    """What was seen of the record so far: who runs, who might, and who is due a slot since when."""

    slots: int
    queued: Counter[Batch] = field(default_factory=Counter)
    running: dict[int, Batch] = field(default_factory=dict)
    """The jobs that run, with their batch."""
    due: dict[Batch, set[int]] = field(default_factory=dict)
    """The batches that have less than their share though they have work that may run, each with
    the jobs that ran already when that began: nothing is preempted, so those may end first."""
    broken: list[str] = field(default_factory=list)

    def read(self, change: dict[str, Any]) -> None:
        """Take a change in, and hold the rule against how things stand after it."""
        job, batch, kind = change["job"], change["batch"], change["kind"]
        if job is None:
            return
        if kind == "queued":
            self.queued[batch] += 1
        elif kind == "running":
            self.queued[batch] -= 1
            self._hold_claim(batch, change["seq"])
            self.running[job] = batch
        elif kind in ENDS and job in self.running:
            del self.running[job]
        self._hold_shares(change["seq"])

    def of(self, batch: Batch) -> int:
        return sum(1 for other in self.running.values() if other == batch)

    def _hold_claim(self, batch: Batch, seq: int) -> None:
        """A slot goes to one of those that have the fewest running and something to run."""
        fewest = min((self.of(o) for o, count in self.queued.items() if count), default=SLOTS)
        if self.of(batch) > fewest:
            self.broken.append(f"change {seq}: {batch} took a slot beside {self._counts()}")

    def _hold_shares(self, seq: int) -> None:
        """None has fewer than its share once what ran has ended; a free slot counts as its own."""
        runnable = {batch for batch, count in self.queued.items() if count}
        parties = runnable | set(self.running.values())
        share = self.slots // max(1, len(parties))
        poor = {batch for batch in runnable if self.of(batch) < share}
        kept = {batch: before for batch, before in self.due.items() if batch in poor}
        self.due = {batch: kept.get(batch, set(self.running)) for batch in poor}
        free = self.slots - len(self.running)
        for batch, before in self.due.items():
            still = before & self.running.keys()
            if not still and self.of(batch) + free < share:
                self.broken.append(f"change {seq}: {batch} has too few beside {self._counts()}")

    def _counts(self) -> dict[Batch, int]:
        return dict(Counter(self.running.values()))


def broken(changes: list[dict[str, Any]], slots: int = SLOTS) -> list[str]:
    """Return each change by which the rule is broken."""
    reading = Reading(slots)
    for change in changes:
        reading.read(change)
    assert not reading.running
    return reading.broken


def test_at_every_change_no_batch_has_less_than_its_share(site: Site) -> None:
    executor = shell_executor(site, "brief")
    site.configure(
        {
            "worker": {"concurrency": SLOTS},
            "agents": {"executors": {"brief": executor}, "bindings": {"implementer": "brief"}},
        }
    )
    first = [f"{number}" for number in range(100, 100 + EACH)]
    second = [f"{number}" for number in range(200, 200 + EACH)]
    single = [f"{number}" for number in range(300, 300 + SINGLE)]
    site.project(*first, *second, *single)
    site.sow("queue", "pause")
    for tasks in (first, second):
        site.sow("batch", "run", *tasks, "--detach")
    site.sow("queue", "resume")
    site.sow("agent", "spawn", *single, "--detach")
    for number in ("1", "2"):
        site.sow("batch", "wait", number, expect=1)  # each task waits for a verdict
    site.sow("agent", "wait", "--all", *single)
    changes = site.sow("changes", "--json").json_lines
    begun = Counter(change["batch"] for change in changes if change["kind"] == "attempt_began")
    assert begun == {1: EACH, 2: EACH, SINGLE_CALLS: SINGLE}
    assert broken(changes) == []


def change_of(kind: str, job: int, batch: Batch) -> dict[str, Any]:
    return {"seq": 100 * job, "kind": kind, "job": job, "batch": batch}


QUEUED = [change_of("queued", job, 1 if job <= 4 else 2) for job in range(1, 9)]


@pytest.mark.parametrize(
    ("order", "is_fair"),
    [
        ((1, 5, 2, 6), True),
        ((1, 5, 6, 2), True),
        ((1, 2, 5, 6), False),
        ((1, 2, 3, 4), False),
    ],
)
def test_the_reading_tells_a_fair_order_from_an_unfair_one(
    order: tuple[int, ...], is_fair: bool
) -> None:
    begun = [change_of("running", job, 1 if job <= 4 else 2) for job in order]
    rest = [job for job in range(1, 9) if job not in order]
    ended = [change_of("done", job, 1 if job <= 4 else 2) for job in order]
    later = [
        change_of(kind, job, 1 if job <= 4 else 2) for job in rest for kind in ("running", "done")
    ]
    assert (broken([*QUEUED, *begun, *ended, *later]) == []) is is_fair


def test_the_reading_finds_a_batch_that_waits_though_all_that_ran_has_ended() -> None:
    """One that came later, and whose turn each free slot was."""
    early = [change_of("queued", job, 1) for job in range(1, 9)]
    begun = [change_of("running", job, 1) for job in range(1, 5)]
    late = [change_of("queued", job, 2) for job in (9, 10)]
    passed_over = []
    for job in range(1, 5):
        passed_over += [change_of("done", job, 1), change_of("running", job + 4, 1)]
    ends = [change_of("done", job, 1) for job in range(5, 9)]
    after = [change_of(kind, job, 2) for job in (9, 10) for kind in ("running", "done")]
    found = broken([*early, *begun, *late, *passed_over, *ends, *after])
    assert any("took a slot" in each for each in found)
    assert any("has too few" in each for each in found)
