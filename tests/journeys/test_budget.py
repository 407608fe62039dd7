"""Budgets, kept by the true worker: shares, warnings, the end, and how one goes on."""

from typing import Any

import pytest
from journeys.callers import Step, await_runs, gate, good, open_gate
from journeys.site import Site
from standins import read_runs

USE: Step = {"use": {"input": 1000, "output": 100, "cache_read": 1000, "cache_write": 80}}
"""Each message of the stand-in costs $0.0051, and has 2180 tokens."""
MESSAGE, TOKENS = 0.0051, 2180
PRICE = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
NEW: Step = {"version": "2.1.330"}
SPAWN = ("agent", "spawn", "implementer", "010")
GO_ON = ("agent", "resume", "010", "Go on.")


def say(count: int) -> list[Step]:
    return [{"say": "I am at work."} for _ in range(count)]


def limit_of(argv: tuple[str, ...]) -> float | None:
    """Return the budget that a CLI was given for itself."""
    words = list(argv)
    flag = "--max-budget-usd"
    return float(words[words.index(flag) + 1]) if flag in words else None


def total(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.sow("cost", "--json").json["total"]
    return found


def budget_changes(site: Site) -> list[str]:
    lines = site.sow("changes", "--json").json_lines
    return [line["data"]["reason"] for line in lines if line["kind"] == "budget"]


def test_money_is_kept_by_the_cli_itself_and_the_raised_budget_goes_on(site: Site) -> None:
    site.project("010")
    site.script([[NEW, USE, *say(9)], good(NEW, USE, *say(2))])
    ended = site.sow(*SPAWN, "--budget", "usd=0.02", "--json", expect=1).json
    assert (ended["state"], ended["cause"], ended["status"]) == (
        "failed",
        "budget_reached",
        "failed",
    )
    assert "the budget of task 010 is reached: $0.0204 of $0.0200" in ended["reason"]
    assert ended["next_step"].endswith('`sow agent resume 010 "Go on." --budget usd=0.04`.')
    (run,) = read_runs(site.root)
    assert limit_of(run.argv) == 0.02
    assert ended["cost_usd"] == pytest.approx(0.0204)
    refused = site.sow(*GO_ON, expect=4)
    assert "the budget of task 010 is reached" in refused.err
    assert "--budget usd=0.04" in refused.err
    assert len(read_runs(site.root)) == 1, "nothing new starts"
    done = site.sow(*GO_ON, "--budget", "usd=0.05", "--json").json
    assert (done["state"], done["status"]) == ("done", "needs_review")
    last = read_runs(site.root)[-1]
    assert (last.verb, last.session_id) == ("resume", run.session_id)
    assert limit_of(last.argv) == pytest.approx(0.0296, abs=0.0001)
    assert total(site)["cost_usd"] == pytest.approx(7 * MESSAGE)


def test_tokens_are_kept_by_sow_over_by_one_message(site: Site) -> None:
    site.project("010")
    site.script([[NEW, USE, *say(3), {"hang": True}], good(NEW, USE)])
    ended = site.sow(*SPAWN, "--budget", f"tokens={3 * TOKENS}", "--json", expect=1).json
    assert ended["cause"] == "budget_reached"
    assert "tokens of" in ended["reason"]
    assert total(site)["tokens"]["input"] == 3000
    done = site.sow(*GO_ON, "--budget", "tokens=1M", "--json").json
    assert (done["state"], done["verb"]) == ("done", "resume")


def test_time_is_kept_for_any_executor(site: Site) -> None:
    site.project("010")
    quiet = {"type": "command", "settings": {"command": ["tail", "-f", "/dev/null"]}}
    site.configure({"agents": {"executors": {"quiet": quiet}}})
    bound = {"SOW_AGENTS_IMPLEMENTER": "quiet"}
    ended = site.sow(*SPAWN, "--budget", "time=1s", "--json", env=bound, expect=1).json
    assert ended["cause"] == "budget_reached"


def test_a_warning_comes_before_the_end(site: Site) -> None:
    site.project("010")
    site.script([good(NEW, USE, *say(6), gate("on"))])
    site.configure({"prices": {"claude-standin-1": PRICE}})
    call = site.start(*SPAWN, "--budget", f"usd={7.2 * MESSAGE:.5f},tokens=1M")
    await_runs(site)
    assert call.stderr is not None
    words = next(line for line in call.stderr if line.startswith("Note: "))
    assert words.startswith("Note: 83 % of the budget of task 010 is used: $0.0306 of $0.0367")
    assert [f"Note: {change}\n" for change in budget_changes(site)] == [words]
    open_gate(site, "on")
    assert call.wait(timeout=240) == 0
    assert len(budget_changes(site)) == 1, "once for each figure"


def test_what_cannot_be_kept_is_refused_before_it_starts(site: Site) -> None:
    site.project("010")
    bound = {"SOW_AGENTS_IMPLEMENTER": "cursor"}
    for budget in ("usd=1", "tokens=1M"):
        refused = site.sow(*SPAWN, "--budget", budget, env=bound, expect=5)
        assert "cannot be kept by cursor" in refused.err
        assert "--unmetered" in refused.err
    assert read_runs(site.root) == []
    assert site.task("010")["status"] == "pending"
    site.configure({"agents": {"executors": {"cursor": {"settings": {"yolo_mode": True}}}}})
    site.script([good(USE)])
    done = site.sow(*SPAWN, "--budget", "usd=1", "--unmetered", env=bound)
    assert "the budget usd of the task cannot be kept by cursor" in done.err


def test_agents_beside_each_other_share_the_projects_budget(site: Site) -> None:
    """The sum of what they may spend by themselves is never more than the budget."""
    site.project("010", "020", "030")
    (site.root / ".sow/config.yaml").write_text("budget: {usd: 0.1}\n")
    site.script([good(NEW, USE, gate("on"))])
    for task in ("010", "020", "030"):
        site.sow("agent", "spawn", task, "--detach")
    await_runs(site, 3)
    limits = [limit_of(run.argv) or 0.0 for run in read_runs(site.root)]
    assert min(limits) > 0
    assert sum(limits) <= 0.1
    open_gate(site, "on")
    site.sow("agent", "wait", "010", "020", "030")
    assert total(site)["cost_usd"] == pytest.approx(3 * MESSAGE)


def test_a_killed_worker_and_a_killed_agent_leave_no_budget_unkept(site: Site) -> None:
    """The next worker counts from the output; a lost cost counts for the whole share."""
    site.project("010")
    site.script([[NEW, USE, *say(2), gate("on"), {"signal": 9}], good(NEW, USE)])
    site.sow(*SPAWN, "--budget", "usd=1", "--detach")
    await_runs(site)
    (worker,) = site.workers()
    site.kill(worker["pid"])
    open_gate(site, "on")
    ended = site.sow("agent", "wait", "010", "--json", expect=1).json
    assert ended["cause"] == "budget_reached"
    assert "never told" in ended["reason"]
    assert len(read_runs(site.root)) == 1
    site.sow(*GO_ON, "--budget", "usd=2")


def test_an_executors_budget_binds_all_its_tasks(site: Site) -> None:
    site.project("010", "020")
    executor = {"max_parallel": 1, "budget": {"tokens": f"{5 * TOKENS}"}}
    site.configure({"agents": {"executors": {"claude-code": executor}}})
    site.script([good(NEW, USE, *say(3))], task="010")
    site.script([[NEW, USE, *say(2), {"hang": True}], good(NEW, USE)], task="020")
    site.sow(*SPAWN)
    ended = site.sow("agent", "spawn", "020", "--json", expect=1).json
    assert ended["cause"] == "budget_reached"
    assert "the budget of executor claude-code is reached" in ended["reason"]
    refused = site.sow("agent", "resume", "020", "Go on.", "--again", expect=4)
    assert "agents.executors.claude-code.budget.tokens" in refused.err
    site.configure({"agents": {"executors": {"claude-code": {"budget": {"tokens": "1M"}}}}})
    site.sow("agent", "resume", "020", "Go on.")


@pytest.mark.parametrize("wrong", ["5", "usd=0", "usd=-1", "usd=1,usd=2", "tokens=2X", "eur=1", ""])
def test_a_budget_is_written_in_one_way(site: Site, wrong: str) -> None:
    site.project("010")
    assert "not a budget" in site.sow(*SPAWN, "--budget", wrong, expect=2).err


@pytest.mark.parametrize("whose", ["project", "executor"])
def test_what_a_used_up_budget_refuses_is_not_what_comes_next(site: Site, whose: str) -> None:
    """The file that raises it is, and after that the commands are right again."""
    site.project("010", "020")
    repository = site.root / ".sow/config.yaml"

    def bound_by(usd: float) -> None:
        if whose == "project":
            repository.write_text(f"budget: {{usd: {usd}}}\n")
        else:
            site.configure({"agents": {"executors": {"claude-code": {"budget": {"usd": usd}}}}})

    bound_by(0.02)
    site.script([[NEW, USE, *say(9)], good(NEW, USE, *say(2))], task="010")
    assert site.sow(*SPAWN, "--json", expect=1).json["cause"] == "budget_reached"
    first, *others = site.sow("next", "--json").json_lines
    file = ".sow/config.yaml" if whose == "project" else "sow config edit"
    assert file in first["command"]
    assert "is reached: $0.0204 of $0.0200" in first["why"]
    begin = ("sow agent ", "sow batch run", "sow start")
    assert not [line for line in others if line["command"].startswith(begin)]
    bound_by(1)
    commands = [line["command"] for line in site.sow("next", "--json").json_lines]
    assert commands[0].startswith("sow agent resume 010 ")
    assert commands[1].startswith("sow agent spawn 020")
    assert site.sow(*GO_ON, "--json").json["status"] == "needs_review"
    bound_by(0.02)
    site.sow("task", "abandon", "010")
    (only,) = site.sow("next", "--json").json_lines
    assert file in only["command"], "nobody has to go on, and 020 cannot begin"
