"""`sow watch` in lines: what is at work, then what happens, until a signal ends it."""

import signal

from journeys.callers import await_runs, gate, good, open_gate
from journeys.site import Site, wait_until


def test_what_happens_is_told_in_lines(site: Site) -> None:
    site.project("010", "020")
    failing = [{"api_retry": 429}] * 4
    script = [{"say": "Reading"}, gate("go"), *failing, *good(gate("on"))]
    site.script([script], task="010")
    site.script([good({"say": "Looking"})], task="020")
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    log = site.base / "watched"
    with log.open("w") as out:
        watcher = site.start("watch", stdout=out)
    wait_until(lambda: "implementer running: " in log.read_text(), "what is at work")
    site.sow("agent", "spawn", "implementer", "020")
    open_gate(site, "go")
    fails = "010   implementer (job 1): request failed (429), tried again"
    wait_until(lambda: fails in log.read_text(), "that its request fails")
    open_gate(site, "on")
    site.sow("agent", "wait", "010")
    ends = "010   status in_progress → needs_review"
    wait_until(lambda: ends in log.read_text(), "how it ended")
    watcher.send_signal(signal.SIGINT)
    _, err = watcher.communicate(timeout=240)
    assert (watcher.returncode, err.strip()) == (130, "")
    lines = [line.split(maxsplit=2) for line in log.read_text().splitlines()]
    assert all(clock.count(":") == 2 for clock, _, _ in lines)
    words = [rest for _, task, rest in lines if task == "020"]
    assert words == [
        "implementer is queued for claude-code (job 2)",
        "implementer starts (job 2)",
        "status in_progress → needs_review",
    ]
    (first, *_) = lines
    assert first[1] == "010"
    assert first[2].endswith("(job 1)")


def test_where_nothing_was_ever_queued_it_waits_for_what_comes(site: Site) -> None:
    site.project("010")
    log = site.base / "watched"
    with log.open("w") as out:
        watcher = site.start("watch", "--plain", stdout=out, stderr=out)
    wait_until(lambda: "Nothing was queued here yet" in log.read_text(), "it waits")
    site.script([good()])
    site.sow("agent", "spawn", "implementer", "010")
    wait_until(lambda: "implementer starts (job 1)" in log.read_text(), "what came")
    watcher.send_signal(signal.SIGTERM)
    watcher.communicate(timeout=240)
    assert watcher.returncode in (-signal.SIGTERM, 143, 130)
