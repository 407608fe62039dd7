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
    waits = "020  queued  implementer  waits for a slot: 1 of 1 claude-code run"
    wait_until(lambda: screen.shows(waits), "why")
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
    ended = site.sow("agent", "wait", "010", "020", "--wait", "1s", expect=75)
    assert ended.err.count(words) == 1
    site.sow("queue", "resume")
    await_waiters(site, "010")
    open_gate(site, "go")
    out, _ = call.communicate(timeout=240)
    assert (call.returncode, "010 needs_review" in out, "020 needs_review" in out) == (
        0,
        True,
        True,
    )


def test_without_a_terminal_each_change_that_matters_is_a_line(site: Site) -> None:
    site.project("010", "020")
    site.script([[{"say": "Reading the task"}, {"crash": 3}], good(gate("go"))], task="010")
    site.script([[{"api_retry": 429}] * 4 + good(gate("go"))], task="020")
    errors = site.base / "errors"
    with errors.open("w") as err:
        call = site.start(*SPAWN, stderr=err)
    wait_until(lambda: "starts again, attempt 2" in errors.read_text(), "the second attempt")
    wait_until(lambda: "request failed (429)" in errors.read_text(), "the failing request")
    open_gate(site, "go")
    call.communicate(timeout=240)
    assert call.returncode == 0
    lines = [line.split(maxsplit=2) for line in errors.read_text().splitlines()]
    assert all(clock.count(":") == 2 for clock, _, _ in lines)
    shown = [words for _, task, words in lines if task == "010"]
    assert [words.partition(":")[0] for words in shown] == [
        "implementer starts (job 1)",
        "implementer (job 1)",
        "implementer (job 1)",
        "implementer starts again, attempt 2 (job 1)",
    ]
    assert "attempt 1 ended: crashed" in shown[1]
    assert "backoff until" in shown[2]
    starts, *fails = [words for _, task, words in lines if task == "020"]
    assert starts == "implementer starts (job 2)"
    assert fails[0].startswith("implementer (job 2): request failed (429), tried again")
    assert len(fails) <= 4  # at most the first, two doublings, and that it is over


def test_a_worker_shows_its_jobs_below_its_log(site: Site, screen: Screen) -> None:
    site.project("010")
    site.script([[{"api_retry": 429}] * 4 + good(gate("go"))], task="010")
    site.sow("queue", "pause")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    site.sow("worker", "stop")
    worker = site.start("worker", "--drain", stderr=screen.theirs, env={"COLUMNS": "120"})
    wait_until(lambda: screen.shows("started; runs up to"), "its log")
    site.sow("queue", "resume")
    wait_until(lambda: screen.shows("1 at work"), "its rows")
    wait_until(lambda: screen.shows(f"implementer  {FAILS}"), "what its agent does")
    open_gate(site, "go")
    wait_until(lambda: worker.poll() is not None, "it has left")
    assert screen.shows("done: needs_review")
    after = screen.seen.rpartition("done: needs_review")[2]
    assert "at work" not in after


def test_a_batch_shows_its_agents_and_takes_them_away(site: Site, screen: Screen) -> None:
    site.project("010", "020")
    site.script([good(gate("go"))])
    call = site.start("batch", "run", stderr=screen.theirs, env={"COLUMNS": "120"})
    wait_until(lambda: screen.shows("Batch 1 is running: 2 running"), "how it stands")
    wait_until(lambda: screen.shows("020  "), "its agents")
    open_gate(site, "go")
    call.communicate(timeout=240)
    wait_until(lambda: screen.shows("") and screen.seen.endswith("\x1b[J"), "the cleared rows")
