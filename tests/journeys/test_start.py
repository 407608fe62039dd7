"""`sow start`: an orchestrator's session on a terminal, and one that runs as a job to the end."""

import json
import os
from contextlib import suppress

import pytest
from journeys.callers import (
    Step,
    await_end,
    await_waiters,
    gate,
    good,
    job_of,
    killed_caller,
    open_gate,
    report,
)
from journeys.gitsite import make_repository
from journeys.json_contract import hold
from journeys.on_terminal import Terminal
from journeys.site import Site, wait_until
from standins import read_runs


def sow(*words: str) -> Step:
    return {"sow": list(words)}


@pytest.fixture
def planned(site: Site) -> Site:
    """A standard project that agents may approve, with nothing planned yet."""
    make_repository(site)
    (site.root / ".gitignore").write_text(".standin/\n")
    site.configure({"approve": "agents"})
    site.sow("init")
    site.sow("project", "new", "Sign-in", "--description", "People sign in.")
    return site


LEAD = [
    sow("next"),
    sow("task", "add", "Add the route", "--agent", "implementer"),
    sow("approve", "plan"),
    sow("advance"),
    sow("agent", "spawn", "020"),
    sow("review", "accept", "020", "--summary", "Good.", "--complete"),
    sow("advance"),
    sow("agent", "review", "--project"),
    sow("advance"),
    sow("advance"),
    sow("project", "finish"),
    sow("agent", "log", "The goal is reached"),
    report("completed"),
]
"""What an orchestrator does that is told what is next, from the goal to the project's end."""


def test_one_that_runs_as_a_job_takes_a_project_from_its_goal_to_its_end(planned: Site) -> None:
    """With the rules that its role gives it, and nothing more."""
    planned.script([LEAD], task="010")
    planned.script([good()], task="020")
    accepts = sow("review", "accept", "--project", "--summary", "It fits.")
    planned.script([[accepts]], task="030")
    done = planned.sow("start", "People sign in with JWT.", "--headless", "--json").json
    hold("start", [done])
    assert (done["task"], done["agent"], done["denied_tools"]) == ("010", "orchestrator", [])
    (lead,) = [run for run in read_runs(planned.root) if run.task == "010"]
    failed = [(tool.command, tool.output) for tool in lead.tools if tool.exit != 0]
    assert (failed, len(lead.tools)) == ([], len(LEAD))
    wait_until(lambda: not (planned.root / ".sow/project").exists(), "the project is ended")
    (ended,) = planned.sow("project", "list", "--json").json_lines
    assert (ended["ended"], ended["state"]) == ("finished", "completed")
    folder = planned.root / ended["folder"] / "phases/project/tasks/010"
    assert "People sign in with JWT." in (folder / "description.md").read_text()
    log = (folder / "log.md").read_text()
    assert "The goal is reached" in log
    assert "Job 1 done: spawn orchestrator, completed" in log


def test_it_survives_asks_and_is_answered(planned: Site) -> None:
    asks = [gate("first"), sow("agent", "log", "Which key?"), report("paused")]
    planned.script([asks, good(gate("second"))], task="010")
    job = killed_caller(planned, "start", "--headless", "People sign in.")
    caller = planned.start("start", "--headless")
    await_waiters(planned, "010")
    open_gate(planned, "first")
    out, _ = caller.communicate(timeout=240)
    assert f"010 paused (spawn orchestrator by claude-code, job {job.id}, " in out
    refused = planned.sow("start", "--headless", expect=4)
    assert 'sow agent answer 010 "…"' in refused.err
    assert planned.sow("next").out.startswith('sow agent answer 010 "<your answer>"')
    other = planned.sow("start", "--headless", "People sign out.", expect=4)
    assert "with another goal" in other.err
    planned.sow("agent", "answer", "010", "config/keys", "--detach")
    again = planned.start("start", "--headless")
    await_waiters(planned, "010")
    open_gate(planned, "second")
    out, _ = again.communicate(timeout=240)
    assert "010 needs_review (resume orchestrator by claude-code" in out
    refused = planned.sow("start", "--headless", expect=4)
    assert "reports that it is done" in refused.err


def test_an_outcome_that_nobody_was_told_is_told_to_the_same_call(planned: Site) -> None:
    planned.script([good(gate("on"))], task="010")
    job = killed_caller(planned, "start", "--headless", "People sign in.")
    open_gate(planned, "on")
    await_end(planned, "010")
    ended = planned.sow("start", "--headless", "People sign in.")
    assert f"outcome of job {job.id}" in ended.out
    assert len(read_runs(planned.root)) == 1


def test_it_works_in_the_checkout_where_tasks_have_clones(planned: Site) -> None:
    (planned.root / ".sow/config.yaml").write_text("clones: {use: always}\n")
    planned.script([good()], task="010")
    planned.sow("start", "--headless", "People sign in.")
    (run,) = read_runs(planned.root)
    assert run.cwd == str(planned.root)


def test_on_a_terminal_it_is_told_the_goal_and_is_nobodys_job(planned: Site) -> None:
    opened = Terminal(planned, "start", "People sign in.", "--json", CLAUDECODE="1")
    try:
        lines = opened.lines
        assert opened.words[-2:] == ["--", "People sign in."]
        assert "SOW_AGENT=orchestrator" in lines
        assert not any(line.startswith(("SOW_JOB_ID", "CLAUDECODE")) for line in lines)
        assert f"cwd {planned.root}" in lines
        opened.do('sow agent log "Begun"; exit 3')
        code, out, err = opened.end()
    finally:
        opened.do("exit 0")
        with suppress(OSError):
            os.close(opened.keyboard)
    assert code == 1, err
    last = json.loads(out.splitlines()[-1])
    hold("start", [last])
    assert last["cli_exit_code"] == 3
    assert job_of(planned, "010") is None
    entries = planned.sow("log", "--json").json_lines
    assert ("Begun", "orchestrator") in [(entry["action"], entry["agent"]) for entry in entries]
