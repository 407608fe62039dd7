"""`--json` of the call's commands: stable keys, one object a line (DESIGN, "The call")."""

import pytest
from journeys.callers import HANG, all_jobs, await_end, await_runs, gate, good, open_gate
from journeys.site import Site

from sow.schema.output.outcome import Outcome

SPAWN = ("agent", "spawn", "implementer", "010")
KEYS = list(Outcome.__struct_fields__)
"""Programs read these. A key may be added at the end; none goes or changes its meaning."""


def outcome_of(site: Site, *words: str, expect: int = 0) -> dict[str, object]:
    """Return the one object that a command prints, after a look at its keys."""
    record: dict[str, object] = site.sow(*words, "--json", expect=expect).json
    assert list(record) == KEYS
    return record


def test_an_outcome(site: Site) -> None:
    site.project("010")
    site.script([good({"say": "done"})])
    outcome = outcome_of(site, *SPAWN)
    assert outcome["session_id"] == site.task("010")["session_id"]
    assert outcome["seconds"] > 0
    assert outcome["cost_usd"] == 0.01
    same = {key: outcome[key] for key in KEYS}
    assert same == outcome_of(site, "agent", "wait", "010")
    expected = {
        "task": "010",
        "job": 1,
        "verb": "spawn",
        "agent": "implementer",
        "executor": "claude-code",
        "state": "done",
        "status": "needs_review",
        "cause": "reported",
        "reason": "",
        "exit_code": 0,
        "attempt_count": 1,
        "denied_tools": [],
        "warnings": [],
        "owed": False,
        "continue_with": None,
    }
    assert {key: outcome[key] for key in expected} == expected


def test_a_resume_counts_what_it_cost_alone(site: Site) -> None:
    site.project("010")
    site.script([good()])
    site.sow(*SPAWN)
    outcome = outcome_of(site, "agent", "resume", "010", "Go on.")
    assert (outcome["verb"], outcome["job"], outcome["cost_usd"]) == ("resume", 2, 0.01)


def test_a_call_that_still_waits_and_its_cancellation(site: Site) -> None:
    site.project("010")
    site.script([HANG])
    queued = outcome_of(site, *SPAWN, "--detach")
    assert (queued["state"], queued["exit_code"]) == ("queued", None), "the call exits with 0"
    assert queued["continue_with"] == "sow agent wait 010 --json"
    await_runs(site)
    running = outcome_of(site, *SPAWN, "--wait", "1s", expect=75)
    waiting = outcome_of(site, "agent", "wait", "010", "--wait", "1s", expect=75)
    for outcome in (running, waiting):
        assert (outcome["state"], outcome["status"]) == ("running", "in_progress")
        assert outcome["exit_code"] == 75
        assert outcome["continue_with"] == "sow agent wait 010 --wait 1s --json"
        assert (outcome["ended_at"], outcome["seconds"]) == (None, None)
    cancelled = site.sow("agent", "cancel", "010", "--json").json
    assert list(cancelled) == [*KEYS, "children", "kept"]
    assert (cancelled["state"], cancelled["status"]) == ("cancelled", "paused")
    assert cancelled["exit_code"] == 7


def test_a_failure(site: Site) -> None:
    site.project("010")
    site.configure({"agents": {"executors": {"claude-code": {"retries": 0}}}})
    site.script([[{"stderr": "it broke\nhere\n"}, {"crash": 3}]])
    outcome = outcome_of(site, *SPAWN, expect=1)
    assert (outcome["state"], outcome["status"]) == ("failed", "failed")
    assert (outcome["cause"], outcome["reason"]) == ("crashed", "it broke\nhere")


def test_denied_tools(site: Site) -> None:
    """Denied tools with a status reported: done, with a warning and `denied_tools` in the JSON."""
    site.project("010")
    site.script([good({"deny": "WebFetch"}, {"deny": "WebFetch"})])
    outcome = outcome_of(site, *SPAWN)
    assert outcome["denied_tools"] == ["WebFetch"]
    assert "allowed_tools" in str(outcome["warnings"])


def test_an_owed_outcome(site: Site) -> None:
    site.project("010")
    site.script([good(gate("go"))])
    site.sow(*SPAWN, "--wait", "1s", expect=75)
    open_gate(site, "go")
    await_end(site, "010")
    assert outcome_of(site, *SPAWN)["owed"] is True


def test_several_tasks_are_one_object_a_line(site: Site) -> None:
    site.project("010", "020")
    site.script([good()])
    lines = site.sow(*SPAWN, "020", "--json").json_lines
    assert sorted(line["task"] for line in lines) == ["010", "020"]
    assert all(list(line) == KEYS for line in lines)
    assert len(all_jobs(site)) == 2


@pytest.mark.parametrize(
    "words", [("agent", "wait", "010"), ("agent", "cancel", "010"), ("agent", "resume", "010", "x")]
)
def test_an_error_is_an_object_too(site: Site, words: tuple[str, ...]) -> None:
    """It stands on standard output, in place of the result; the words are on stderr as ever."""
    site.project("010")
    refused = site.sow(*words, "--json", expect=None)
    assert refused.code in (4, 5)
    error = refused.json["error"]
    assert (error["exit_code"], refused.json["task"]) == (refused.code, "010")
    assert refused.err == f"Error: {error['message']}\n\n{error['hint']}\n"
