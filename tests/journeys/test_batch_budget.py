"""The budget of a batch: what is reached stops its tasks, what is raised puts them back to work."""

import sys

import pytest
from journeys.callers import good
from journeys.site import Site
from journeys.staff import write_program
from standins import read_runs

USE = {"use": {"input": 1000, "output": 100, "cache_read": 1000, "cache_write": 80}}
TOKENS = 2180
"""What one message of an agent uses: as much as the budgets here, so that the first one ends it."""
LITTLE = {"use": {"input": 80, "output": 20, "cache_read": 0, "cache_write": 0}}
NEW = {"version": "2.1.330"}
SAY = {"say": "I am at work."}


def counts(site: Site) -> dict[str, int]:
    found: dict[str, int] = site.sow("batch", "show", "night", "--json").json["counts"]
    return {state: count for state, count in found.items() if count}


def test_a_batch_stops_at_its_budget_and_goes_on_with_a_raised_one(site: Site) -> None:
    site.project("010", "020")
    site.script([good(NEW, LITTLE, SAY)], task="010")
    site.script([[NEW, USE, SAY, SAY, {"hang": True}], good(NEW, USE)], task="020")
    run = ("batch", "run", "--name", "night", "--max-parallel", "1")
    ended = site.sow(*run, "--budget", f"tokens={TOKENS}", expect=1)
    assert "the budget of batch night is reached" in ended.out + ended.err
    assert "sow batch resume night --budget" in ended.out + ended.err
    (group,) = site.sow("cost", "--by", "batch", "--json").json["groups"]
    assert (group["key"], group["tokens"]["input"] >= 1000) == ("1", True)
    site.sow("batch", "resume", "night", "--budget", "tokens=1M")
    site.sow("batch", "wait", "night", expect=None)
    assert site.task("020")["status"] == "needs_review"


@pytest.mark.one_of
@pytest.mark.parametrize(
    "raising",
    [("batch", "resume", "night"), ("batch", "run", "--name", "night", "--wait", "1ms")],
    ids=["resume", "the same call"],
)
def test_a_batch_of_nothing_but_spent_tasks_is_not_over_and_a_raised_budget_takes_them_up(
    site: Site, raising: tuple[str, ...]
) -> None:
    site.project("010")
    site.script([[NEW, USE, SAY, SAY, {"hang": True}], good(NEW, USE)], task="010")
    run = ("batch", "run", "--name", "night", "--budget", f"tokens={TOKENS}")
    ended = site.sow(*run, expect=1).out
    assert "Batch 1 night is running: 1 needs_person" in ended
    assert "010 needs_person: the budget of batch night is reached" in ended
    assert ": sow batch resume night --budget tokens=" in ended
    site.sow(*raising, "--budget", "tokens=1M", expect=None)
    site.sow("batch", "wait", "night", expect=None)
    assert site.task("010")["status"] == "needs_review"


def test_a_batch_whose_budget_cannot_be_kept_is_refused_at_once(site: Site) -> None:
    site.project("010")
    bound = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
    refused = site.sow("batch", "run", "--budget", "usd=1", env=bound, expect=5)
    assert "the budget usd of the batch cannot be kept by cursor" in refused.err
    assert "--unmetered" in refused.err
    assert "no batch" in site.sow("batch", "show", expect=4).err


@pytest.mark.parametrize("options", [(), ("--budget", "usd=5")])
def test_the_figure_of_the_same_call_is_the_new_total(site: Site, options: tuple[str, ...]) -> None:
    site.project("010")
    site.script([[{"hang": True}]])
    run = ("batch", "run", "--name", "night", "--detach")
    site.sow(*run, "--budget", "usd=1")
    site.sow(*run, *options)
    policy = site.sow("batch", "show", "night", "--json").json["policy"]
    assert policy["budget"] == {"usd": 5.0 if options else 1.0}
    site.sow("batch", "cancel", "night")


SEEN = """
import os, sqlite3, sys, time
from pathlib import Path

task = os.environ["SOW_TASK_ID"]
count = Path(sys.argv[1], task)
said = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(said))
queue = sqlite3.connect(Path(os.environ["SOW_ROOT"], ".sow/run/queue.db"), timeout=60)
noted = "select coalesce(sum(input), 0) from spending where task_id = ?"
running = (
    "select input + output + cache_read + cache_write, share_tokens from spending"
    " where task_id = ? and ended_at is null"
)
while queue.execute(noted, (task,)).fetchone()[0] < 1000 * said:
    time.sleep(0.05)
while any(used >= share for used, share in queue.execute(running, (task,))):
    time.sleep(0.05)
"""
"""A turn of a model: it lasts until a worker has seen what was used before it. One that begins when
the share is used up is in the middle when it is ended."""


@pytest.mark.one_of
@pytest.mark.parametrize("turns", [10, 0.5], ids=["several turns", "less than one turn"])
def test_agents_at_once_are_over_the_budget_by_one_turn_each(site: Site, turns: float) -> None:
    tasks = ("010", "020", "030", "040")
    site.project(*tasks)
    site.configure({"worker": {"concurrency": 4}})
    seen = f"{sys.executable} {write_program(site, 'seen.py', SEEN)} {site.base}"
    site.script([[NEW, USE, *[SAY, {"aside": seen}] * 40]])
    budget = f"tokens={int(turns * TOKENS)}"
    ended = site.sow("batch", "run", "--name", "night", "--budget", budget, "--json", expect=1)
    assert ended.json["counts"] == {"needs_person": 4}
    (group,) = site.sow("cost", "--by", "batch", "--json").json["groups"]
    assert turns <= sum(group["tokens"].values()) / TOKENS <= turns + 4
    begun = len(read_runs(site.root))
    site.sow("batch", "run", "--name", "night", expect=1)
    assert len(read_runs(site.root)) == begun, "nothing more begins"


def test_a_batch_s_budget_of_time_ends_all_that_runs(site: Site) -> None:
    site.project("010", "020")
    site.script([[NEW, SAY, {"hang": True}]])
    run = ("batch", "run", "--name", "night", "--budget", "time=2s", "--json")
    ended = site.sow(*run, expect=1).json
    assert ended["counts"] == {"needs_person": 2}
    assert all("the budget of batch night is reached" in item["reason"] for item in ended["items"])
    assert all(
        "sow batch resume night --budget time=" in item["command"] for item in ended["items"]
    )
