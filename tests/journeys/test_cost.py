"""What agents have used: counted by the true worker, once, whoever is killed, and kept for good."""

import pytest
from journeys.callers import all_jobs, await_end, await_runs, gate, good, open_gate, queue
from journeys.site import Site, wait_until

from sow.jobs import pruning, spending

USE = {"use": {"input": 1000, "output": 100, "cache_read": 1000, "cache_write": 80}}
"""Each message of the stand-in costs $0.0051."""
NEW, OLD = {"version": "2.1.330"}, {"version": "2.1.197"}
SPAWN = ("agent", "spawn", "implementer", "010")
MESSAGE = 0.0051
PRICES = {"claude-standin-1": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}


def say(count: int) -> list[dict[str, object]]:
    """Messages of an agent; its report is one more."""
    return [{"say": "I am at work."} for _ in range(count)]


def cost_of(site: Site, *words: str) -> dict[str, object]:
    total: dict[str, object] = site.sow("cost", *words, "--json").json["total"]
    return total


@pytest.mark.parametrize("version", [NEW, OLD], ids=["2.1.330", "2.1.197"])
def test_a_spawn_and_its_resumes_count_once(site: Site, version: dict[str, str]) -> None:
    site.project("010")
    site.script([good(version, USE, *say(count)) for count in (1, 2, 3)])
    site.sow(*SPAWN)
    for _ in range(2):
        site.sow("agent", "resume", "010", "Go on.")
    costs = [site.job(number)["cost_usd"] for number in (1, 2, 3)]
    assert costs == [round(MESSAGE * count, 4) for count in (2, 3, 4)]
    total = cost_of(site)
    assert total["cost_usd"] == round(MESSAGE * 9, 4)
    assert total["tokens"] == {"input": 9000, "output": 900, "cache_read": 9000, "cache_write": 720}
    assert (total["run_count"], total["estimated_usd"], total["runs_without_cost"]) == (3, 0, 0)
    assert site.sow("task", "show", "010", "--json").json["used"]["cost_usd"] == total["cost_usd"]


def test_a_killed_agent_is_counted_by_its_messages_and_the_price_table(site: Site) -> None:
    """Its CLI forgets the run, so that the resume's total does not hold it."""
    site.project("010")
    site.configure({"prices": PRICES})
    site.script([[NEW, USE, *say(2), {"signal": 9}], good(NEW, USE, *say(1))])
    site.sow(*SPAWN)
    first, second = site.job(1)["attempts"]
    assert (first["used"]["tokens"]["input"], second["used"]["tokens"]["input"]) == (2000, 2000)
    assert first["used"]["estimated_usd"] == first["used"]["cost_usd"] == round(MESSAGE * 2, 4)
    assert (first["used"]["runs_cut_off"], second["used"]["runs_cut_off"]) == (1, 0)
    assert second["used"]["estimated_usd"] == 0
    shown = site.sow("cost")
    assert "~$0.0204" in shown.out
    assert "ended early" in shown.err


def test_without_a_price_the_cost_of_a_killed_agent_is_unknown_and_said(site: Site) -> None:
    site.project("010")
    site.script([[NEW, USE, *say(2), {"signal": 9}], good(NEW, USE, *say(1))])
    site.sow(*SPAWN)
    total = cost_of(site)
    assert (total["cost_usd"], total["runs_without_cost"]) == (round(MESSAGE * 2, 4), 1)
    assert total["tokens"]["input"] == 4000
    shown = site.sow("cost")
    assert "and more" in shown.out
    assert "is unknown: the true sum is higher" in shown.err
    assert "cost of 1 run unknown" in site.sow("job", "show", "1").out


def test_a_run_is_counted_while_it_goes_on_and_by_the_worker_that_adopts_it(site: Site) -> None:
    site.project("010")
    site.configure({"prices": PRICES})
    site.script([good(NEW, USE, *say(2), gate("on"), *say(1))])
    site.sow(*SPAWN, "--detach")
    await_runs(site)
    wait_until(lambda: cost_of(site)["tokens"]["input"] == 2000, "what was seen so far")
    assert (cost_of(site)["running"], cost_of(site)["runs_cut_off"]) == (1, 0)
    (worker,) = site.workers()
    site.kill(worker["pid"])
    open_gate(site, "on")
    site.sow("agent", "wait", "010")
    total = cost_of(site)
    assert (total["run_count"], total["running"], total["tokens"]["input"]) == (1, 0, 4000)
    assert (total["cost_usd"], total["estimated_usd"]) == (round(MESSAGE * 4, 4), 0)


def test_tokens_of_an_executor_that_tells_no_price(site: Site) -> None:
    site.project("010", "020")
    site.script([good(USE, *say(2))])
    site.configure({"prices": {"auto": PRICES["claude-standin-1"]}})
    bound = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
    site.sow(*SPAWN, env=bound, expect=None)
    await_end(site, "010")
    (group,) = site.sow("cost", "--by", "executor", "--json").json["groups"]
    assert group["key"] == "cursor"
    assert group["tokens"]["input"] == 2000
    assert group["cost_usd"] == group["estimated_usd"] == round(MESSAGE * 2, 4)


def test_an_executor_that_tells_nothing_is_no_free_one(site: Site) -> None:
    site.project("010")
    quiet = {
        "type": "command",
        "settings": {"command": ["sow", "task", "set", "status", "completed"]},
    }
    site.configure({"agents": {"executors": {"quiet": quiet}}})
    site.sow(*SPAWN, env={"SOW_AGENTS_IMPLEMENTER": "quiet"}, expect=None)
    await_end(site, "010")
    total = cost_of(site)
    assert (total["cost_usd"], total["runs_without_cost"], total["runs_without_tokens"]) == (
        None,
        1,
        1,
    )
    shown = site.sow("cost")
    assert "unknown" in shown.out
    assert "reported no tokens" in shown.err


def test_what_was_used_outlives_the_records_and_still_counts_off(site: Site) -> None:
    site.project("010")
    site.script([good(NEW, USE, *say(count)) for count in (1, 2)])
    site.sow(*SPAWN)
    before = cost_of(site)
    database = queue(site)
    pruning.forget(database, [job.id for job in all_jobs(site)])
    assert (all_jobs(site), cost_of(site)) == ([], before)
    site.sow("agent", "resume", "010", "Go on.", expect=None)
    assert cost_of(site)["cost_usd"] == round(MESSAGE * 5, 4)
    job = all_jobs(site)[0]
    assert spending.used_for_task(database, job.project_id, job.task_id, now=0).runs == 2
    database.close()


def test_groups_and_times(site: Site) -> None:
    site.project("010", "020")
    site.script([good(NEW, USE, *say(1))])
    site.sow("agent", "spawn", "010", "020")
    for by, keys in (("task", ["010", "020"]), ("agent", ["implementer"]), ("model", None)):
        groups = site.sow("cost", "--by", by, "--json").json["groups"]
        assert [group["key"] for group in groups] == (keys or ["claude-standin-1"])
    (day,) = site.sow("cost", "--by", "day", "--json").json["groups"]
    assert site.sow("cost", "--since", day["key"], "--json").json["total"]["run_count"] == 2
    assert site.sow("cost", "--since", "2999-01-01", "--json").json["groups"] == []
    assert "since then" in site.sow("cost", "--since", "2999-01-01").err
    assert site.sow("cost", "--since", "1h", "--json").json["total"]["run_count"] == 2
    for wrong in ("yesterday", "2026-13-01", "7", "99999-01-01"):
        assert "not a time" in site.sow("cost", "--since", wrong, expect=2).err


def test_nothing_was_used_before_the_first_job(site: Site) -> None:
    site.project("010")
    assert "No agent has used anything yet." in site.sow("cost").err
    assert site.sow("cost", "--json").json["total"]["cost_usd"] is None
