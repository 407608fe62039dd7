"""Whoever follows jobs sees what their agents do when they do it, until the last has ended."""

from journeys.callers import await_runs, gate, good, open_gate
from journeys.site import Site, wait_until


def test_several_jobs_are_followed_until_all_have_ended(site: Site) -> None:
    site.project("010", "020")
    site.script([good({"say": "First"}, gate("one"), {"say": "Second"})], task="010")
    site.script([good({"say": "Third"}, gate("two"), {"say": "Fourth"})], task="020")
    site.sow("agent", "spawn", "implementer", "010", "020", "--detach")
    await_runs(site, 2)
    log = site.base / "followed"
    with log.open("w") as out:
        follower = site.start("job", "logs", "1", "2", "--follow", stdout=out)
    wait_until(lambda: "First" in log.read_text() and "Third" in log.read_text(), "the beginning")
    assert "Second" not in log.read_text()
    open_gate(site, "one")
    wait_until(lambda: "Second" in log.read_text(), "what came while it followed")
    assert follower.poll() is None
    open_gate(site, "two")
    _, err = follower.communicate(timeout=240)
    assert follower.returncode == 0
    assert sorted(line.split()[:2] for line in err.splitlines()) == [
        ["010", "needs_review"],
        ["020", "needs_review"],
    ]
    (second,) = [line for line in log.read_text().splitlines() if line.endswith("Second")]
    job, task, clock, _ = second.split()
    assert (job, task, clock.count(":")) == ("1", "010", 2)
    assert any(line.endswith("Fourth") for line in log.read_text().splitlines())


def test_who_follows_leaves_when_nobody_reads_any_more(site: Site) -> None:
    site.project("010")
    site.script([good({"say": "First"}, gate("one"))])
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    await_runs(site)
    follower = site.start("job", "logs", "1", "--follow")
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.stdout.close()
    wait_until(lambda: follower.poll() is not None, "it has left")
    open_gate(site, "one")
    site.sow("agent", "wait", "010")
