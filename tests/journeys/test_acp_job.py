"""Jobs of an agent over ACP: the client of sow's own, and a stand-in below it."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from journeys.site import Site, wait_until

STAND_IN = Path(__file__).parents[1] / "standins/acp_agent.py"


def report(status: str) -> dict[str, str]:
    return {"run": f"sow task set status {status}"}


def be_agent(site: Site, script: dict[str, Any], **settings: Any) -> Path:
    """Have the stand-in play the implementer, and return the file of what it gets."""
    file = site.base / "script.json"
    file.write_text(json.dumps({"known": ["session-1"], **script}), encoding="utf-8")
    command = [sys.executable, str(STAND_IN), str(file)]
    executor = {"type": "acp", "settings": {"command": command, **settings}}
    bindings = {"implementer": "mine"}
    site.configure({"agents": {"executors": {"mine": executor}, "bindings": bindings}})
    return file.with_name("script.json.got")


def methods(got: Path) -> list[str]:
    messages = [json.loads(line) for line in got.read_text("utf-8").splitlines()]
    return [message["method"] for message in messages if "method" in message]


def test_a_task_is_paused_resumed_and_reported(site: Site) -> None:
    site.project("010")
    call = {"toolCallId": "1", "kind": "execute", "rawInput": {"command": "sow task show 010"}}
    asks: dict[str, Any] = {"ask": {"toolCall": call}}
    paused = {"turn": [{"say": "Which colour?"}, asks, report("paused")]}
    got = be_agent(site, paused)
    assert site.sow("agent", "spawn", "implementer", "010").out.startswith("010 paused")
    assert site.task("010")["session_id"] == "session-1"
    be_agent(site, {"turn": [{"say": "Blue it is."}, report("needs_review")]})
    assert site.sow("agent", "resume", "010", "Blue.").out.startswith("010 needs_review")
    assert methods(got) == [
        *("initialize", "session/new", "session/prompt"),
        *("initialize", "session/load", "session/prompt"),
    ]
    [attempt] = site.job(1)["attempts"]
    assert (attempt["session_id"], attempt["tool_uses"]) == ("session-1", 1)
    folder = site.root / ".sow/run/jobs/1/1"
    assert '"type": "permission"' in (folder / "output.jsonl").read_text("utf-8")
    assert "session/prompt" in (folder / "acp.jsonl").read_text("utf-8")


def test_what_was_refused_is_why_a_job_without_a_report_failed(site: Site) -> None:
    site.project("010")
    call = {"toolCallId": "1", "kind": "execute", "rawInput": {"command": "npm test"}}
    be_agent(site, {"turn": [{"ask": {"toolCall": call}}, {"say": "I may not."}]})
    result = site.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    assert result["cause"] == "denied"
    assert "npm test" in result["reason"]


@pytest.mark.slow
def test_a_worker_dies_and_the_agent_goes_on_in_its_turn(site: Site) -> None:
    site.project("010")
    begun, go_on = site.base / "begun", site.base / "go-on"
    waits = {"run": f"touch {begun}; while ! [ -e {go_on} ]; do sleep 0.1; done"}
    got = be_agent(site, {"turn": [{"say": "Begun."}, waits, report("needs_review")]})
    call = site.start("agent", "spawn", "implementer", "010")
    wait_until(begun.exists, "the agent's turn")
    [worker] = site.workers()
    os.kill(worker["pid"], signal.SIGKILL)
    go_on.touch()
    output, _ = call.communicate(timeout=240)
    assert output.startswith("010 needs_review")
    assert methods(got).count("session/prompt") == 1


@pytest.mark.slow
def test_an_agent_that_dies_is_run_again_in_its_session(site: Site) -> None:
    site.project("010")
    mark = site.base / "crashed"
    turn = [
        {"say": "Begun."},
        {"run": f"if [ -e {mark} ]; then sow task set status needs_review; fi"},
        {"run": f"if ! [ -e {mark} ]; then touch {mark}; kill -9 $PPID; fi"},
    ]
    got = be_agent(site, {"turn": turn})
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (result["exit_code"], result["attempt_count"]) == (0, 2)
    assert methods(got).count("session/load") == 1
    assert methods(got).count("session/new") == 1
