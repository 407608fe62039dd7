"""Time-outs and stalls (§8): the tree is ended; a stall is resumed once."""

from journeys.site import Site
from standins import read_runs

REPORT = {"sow": ["task", "set", "status", "needs_review"]}


def limit(site: Site, **limits: str) -> None:
    site.configure({"agents": {"executors": {"claude-code": limits}}})


def test_an_agent_that_runs_too_long_is_ended_and_the_job_fails(site: Site) -> None:
    """ "timed out: tree ended; failed"."""
    site.project("010")
    limit(site, timeout="1s")
    site.script([[{"background": "exec sleep 600"}, {"hang": True}]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    assert (result["cause"], result["attempt_count"]) == ("timed_out", 1)
    assert site.task("010")["status"] == "failed"
    assert "timed out after 1.0s" in (site.task_folder("010") / "log.md").read_text()


def test_a_report_before_the_time_out_stands(site: Site) -> None:
    site.project("010")
    limit(site, timeout="2s")
    site.script([[REPORT, {"hang": True}]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (result["cause"], result["status"]) == ("reported", "needs_review")


def test_a_silent_agent_is_resumed_once(site: Site) -> None:
    """ "stalled: tree ended; resume once; then failed"."""
    site.project("010")
    limit(site, stall_timeout="1500ms")
    site.script([[{"say": "thinking"}, {"hang": True}], [REPORT]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    first, second = read_runs(site.root)
    assert (result["cause"], result["attempt_count"]) == ("reported", 2)
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert "you showed no activity" in second.prompt


def test_a_second_stall_fails(site: Site) -> None:
    site.project("010")
    limit(site, stall_timeout="1500ms")
    site.script([[{"say": "thinking"}, {"hang": True}]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json", expect=1).json
    assert (result["cause"], result["attempt_count"]) == ("stalled", 2)


def test_cpu_time_alone_is_a_sign_of_life(site: Site) -> None:
    """ "several signals (output, CPU of the tree, transcript growth)"."""
    site.project("010")
    busy = (
        "python3 -c 'import time; end = time.monotonic() + 10\nwhile time.monotonic() < end: pass'"
    )
    site.configure(
        {
            "agents": {
                "executors": {
                    "claude-code": {"stall_timeout": "5s", "settings": {"yolo_mode": True}}
                }
            }
        }
    )
    site.script([[{"shell": busy}, REPORT]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (result["cause"], result["attempt_count"]) == ("reported", 1)


def test_a_hang_after_the_result_is_an_ending_and_no_stall(site: Site) -> None:
    """Issue 3: "a result event followed by a hang counts as an ending"."""
    site.project("010")
    limit(site, stall_timeout="1500ms")
    site.script([[{"say": "thinking"}, {"result": "All done."}, {"hang": True}], [REPORT]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (result["cause"], result["attempt_count"]) == ("reported", 2)
    first, _ = site.job(1)["attempts"]
    assert first["cause"] == "no_status"
    assert "did not end after its result" in first["reason"]
    assert "you ended without setting a status" in read_runs(site.root)[1].prompt


def test_a_hang_after_a_report_and_the_result_is_a_report(site: Site) -> None:
    site.project("010")
    limit(site, stall_timeout="1500ms")
    site.script([[REPORT, {"result": "All done."}, {"hang": True}]])
    result = site.sow("agent", "spawn", "implementer", "010", "--json").json
    assert (result["cause"], result["attempt_count"]) == ("reported", 1)
    assert site.task("010")["status"] == "needs_review"
