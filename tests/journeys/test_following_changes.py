"""`sow changes --follow` beside a true call: each step once, in its order, until nobody reads."""

import json
import subprocess
from typing import Any

from journeys.site import Site

from sow.errors import ExitCode


def read_until(process: "subprocess.Popen[str]", kind: str) -> list[dict[str, Any]]:
    """Return the lines that a follower prints, up to the first of a kind."""
    assert process.stdout is not None
    lines: list[dict[str, Any]] = []
    while not lines or lines[-1]["kind"] != kind:
        lines.append(json.loads(process.stdout.readline()))
    return lines


def test_a_call_is_followed_step_by_step(site: Site) -> None:
    site.project("010")
    follower = site.start("changes", "--follow", "--json")  # there is no queue yet
    site.sow("agent", "spawn", "implementer", "010")
    lines = read_until(follower, "done")
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    job = [line["kind"] for line in lines if line["kind"] != "status"]
    assert job == ["placed", "queued", "running", "attempt_began", "attempt_ended", "done"]
    statuses = [line["data"]["status"] for line in lines if line["kind"] == "status"]
    assert statuses[-2:] == ["in_progress", "needs_review"]
    assert len(statuses) == len(set(statuses))
    kinds = [(line["kind"], line["data"].get("status")) for line in lines]
    assert kinds.index(("status", "in_progress")) < kinds.index(("queued", None))
    site.sow("task", "set", "010", "status", "completed")
    (more,) = site.sow("changes", "--json", "--since", lines[-1]["cursor"]).json_lines
    assert (more["data"]["before"], more["data"]["status"]) == ("needs_review", "completed")
    (also,) = read_until(follower, "status")
    assert also == more
    assert follower.stdout is not None
    follower.stdout.close()
    assert follower.wait(timeout=240) == ExitCode.INTERRUPTED, "though nothing more is printed"
    assert follower.stderr is not None
    assert follower.stderr.read() == ""
