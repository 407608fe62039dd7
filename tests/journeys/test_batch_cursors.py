"""A caller with little time goes from cursor to cursor: nothing missed, nothing told twice."""

from typing import Any

from journeys.batch_site import COMPLETES, accept_by_check, diamond
from journeys.callers import gate, good, open_gate
from journeys.site import Site


def test_a_batch_is_followed_to_its_end_from_cursor_to_cursor(site: Site) -> None:
    diamond(site)
    accept_by_check(site)
    site.script([COMPLETES])
    site.sow("batch", "run", "--detach")
    cursor, code, seen = "0", 75, []
    while code == 75:
        step = site.sow("batch", "wait", "1", "--since", cursor, "--json", expect=None)
        code, cursor = step.code, step.json["cursor"]
        seen += step.json["changes"]
    assert code == 0
    last = site.sow("batch", "wait", "1", "--since", cursor, "--json").json
    seen += last["changes"]
    assert _numbers(seen) == sorted(set(_numbers(seen)))
    everything = site.sow("changes", "--json").json_lines
    of_batch = [change["seq"] for change in everything if change["batch"] == 1]
    assert _numbers(seen) == of_batch
    ends = [c["task"] for c in seen if c["kind"] == "item" and c["data"]["status"] == "done"]
    assert ends[0] == "010"
    assert ends[-1] == "040"
    # It says `running` once more where a job has ended and its task could be marked only later.
    states = [c["data"]["status"] for c in seen if c["kind"] == "batch"]
    assert list(dict.fromkeys(states)) == ["running", "over"]


def _numbers(changes: list[dict[str, Any]]) -> list[int]:
    return [change["seq"] for change in changes]


def test_any_task_s_first_change_ends_the_wait(site: Site) -> None:
    site.project("010", "020")
    site.script([[gate("go"), *good()]], "010")
    site.script([[gate("never"), *good()]], "020")
    site.sow("agent", "spawn", "010", "020", "--detach")
    first = site.sow("agent", "wait", "--any", "--since", "0", "--json", expect=75).json
    open_gate(site, "go")
    cursor, changes = first["cursor"], []
    while not [change for change in changes if change["kind"] == "done"]:
        step = site.sow("agent", "wait", "--any", "--since", cursor, "010", "--json", expect=None)
        cursor, changes = step.json["cursor"], changes + step.json["changes"]
    assert {change["task"] for change in changes} == {"010"}
    passed = site.sow("agent", "wait", "--any", "--since", cursor, "--wait", "10ms", expect=75)
    assert passed.out.splitlines()[-1].startswith("cursor: ")
    refused = site.sow("agent", "wait", "--since", "0", "010", expect=2)
    assert "--any" in refused.err
