"""What somebody sees who waits: failing requests, slots that are taken, a paused queue."""

import os
import pty
from collections.abc import Iterator
from contextlib import suppress

import pytest
from journeys.callers import await_runs, await_waiters, gate, good, open_gate
from journeys.site import Site, wait_until

FAILS = "request failed (429), tried again, 4th time"
SPAWN = ("agent", "spawn", "implementer", "010", "020")


class Screen:
    """The terminal that a call's standard error is."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        os.set_blocking(self.ours, False)
        self.seen = ""

    def shows(self, words: str) -> bool:
        with suppress(BlockingIOError):
            self.seen += os.read(self.ours, 65536).decode()
        return words in self.seen


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    os.close(made.ours)
    os.close(made.theirs)


def test_whoever_waits_sees_what_keeps_a_task(site: Site, screen: Screen) -> None:
    site.project("010", "020")
    site.configure({"agents": {"executors": {"claude-code": {"max_parallel": 1}}}})
    site.script([[{"api_retry": 429}] * 4 + good(gate("go"))], task="010")
    call = site.start(*SPAWN, stderr=screen.theirs, env={"COLUMNS": "200"})
    await_runs(site)
    wait_until(lambda: screen.shows(FAILS), "the failing request on the terminal")
    wait_until(lambda: screen.shows("020 queued: waits for a slot: 1 of 1 claude-code run"), "why")
    listed = site.sow("job", "list").out
    assert f"{FAILS}; quiet" in listed
    assert "waits for a slot: 1 of 1 claude-code run" in listed
    assert f"Last seen: {FAILS}." in site.sow("job", "explain", "1").out

    left = site.sow("agent", "wait", "010", "020", "--wait", "1s", expect=75)
    assert f"): {FAILS}; quiet" in left.out
    assert "): waits for a slot: 1 of 1 claude-code run" in left.out

    site.sow("queue", "pause")
    words = "Note: the queue is paused: 020 will not start before `sow queue resume`"
    wait_until(lambda: screen.shows(words), "the pause on the terminal")
    told = site.sow("agent", "wait", "010", "020", "--wait", "1s", expect=75)
    assert told.err.count(words) == 1
    site.sow("queue", "resume")
    await_waiters(site, "010")
    open_gate(site, "go")
    out, _ = call.communicate(timeout=240)
    assert (call.returncode, "010 needs_review" in out, "020 needs_review" in out) == (
        0,
        True,
        True,
    )
