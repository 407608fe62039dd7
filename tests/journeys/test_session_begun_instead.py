"""A CLI that goes on in another conversation than it was asked for: told, ended, never taken on."""

import sys
from pathlib import Path

import pytest
from journeys.callers import ledger, report
from journeys.site import Site
from standins import read_runs

SCRIPT = """\
import json, os, subprocess, sys, time, uuid
from pathlib import Path

place = Path(os.environ["HOME"])
number = len(list(place.glob("run-*"))) + 1
(place / f"run-{number}").write_text(" ".join(sys.argv[1:]))
sys.stdin.read()
print(json.dumps({"type": "thread.started", "thread_id": str(uuid.uuid4())}), flush=True)
say = {"type": "item.completed", "item": {"type": "agent_message", "text": "At work"}}
print(json.dumps(say), flush=True)
if number == 2 or (place / "always").exists():
    time.sleep(600)
subprocess.run(["sow", "task", "set", "status", "paused" if number == 1 else "needs_review"])
print(json.dumps({"type": "turn.completed", "usage": {}}), flush=True)
"""
"""Speaks Codex's events. Each run tells a session of its own, whatever it was asked for."""


def furnish(site: Site) -> None:
    program = Path(site.env["PATH"].split(":")[0]) / "codex"
    program.write_text(f"#!{sys.executable}\n{SCRIPT}")
    program.chmod(0o755)
    site.project("010")
    site.configure({"agents": {"bindings": {"implementer": "codex"}}})


def test_a_resume_in_another_session_ends_and_a_person_decides(site: Site) -> None:
    furnish(site)
    site.sow("agent", "spawn", "implementer", "010")
    before = site.task("010")
    assert before["status"] == "paused"
    resumed = site.sow("agent", "resume", "010", "Blue", expect=5)
    job = site.job(2)
    assert (job["state"], job["cause"]) == ("failed", "session_lost")
    assert f"no longer knows session {before['session_id']} of task 010" in resumed.out
    assert "its CLI began another session" in resumed.out
    assert "--fresh" in resumed.err
    assert f"resume {before['session_id']} -" in (Path(site.env["HOME"]) / "run-2").read_text()
    after = site.task("010")
    assert (after["status"], after["session_id"]) == ("failed", before["session_id"])
    site.sow("agent", "spawn", "implementer", "010", "--fresh")  # the way that the message names
    assert site.task("010")["status"] == "needs_review"
    assert site.task("010")["session_id"] != before["session_id"]


@pytest.mark.few(2)
@pytest.mark.parametrize("cli", ["codex", "opencode", "gemini", "qwen", "copilot"])
def test_one_that_crashes_without_a_word_is_begun_again_once(site: Site, cli: str) -> None:
    """Codex has told of a session by then, and tells of another one the next time. Copilot has
    told of its own, and is asked for it once more."""
    executors = {cli: {"settings": {"yolo_mode": True}}}
    site.configure({"agents": {"executors": executors, "bindings": {"implementer": cli}}})
    site.project("010")
    site.script([[{"keep_nothing": True}, {"crash": 3}], [report()]])
    site.sow("agent", "spawn", "010")
    refused = [("resume", "session_unknown")] if cli == "copilot" else []
    assert ledger(site) == [("spawn", "crashed"), *refused, ("spawn", "reported")]
    assert site.task("010")["session_id"] == read_runs(site.root)[-1].session_id
