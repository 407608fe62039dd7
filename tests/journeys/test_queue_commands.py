"""`sow queue` and `sow job logs` for programs and for people."""

from journeys.site import Site


def test_a_paused_queue_starts_nothing_and_goes_on_when_told(site: Site) -> None:
    site.project("010")
    assert site.sow("queue", "pause", "--json").json["paused_since"] is not None
    waiting = site.sow("agent", "spawn", "implementer", "010", "--wait", "1s", "--json", expect=75)
    status = site.sow("queue", "status", "--json").json
    assert waiting.json["state"] == "queued"
    assert (status["jobs_by_state"], status["running_by_executor"]) == ({"queued": 1}, {})
    assert site.sow("queue", "resume", "--json").json["was_paused"] is True
    assert site.sow("agent", "wait", "010", "--json").json["status"] == "needs_review"


def test_the_logs_of_a_job_are_events_for_programs(site: Site) -> None:
    site.project("010")
    site.sow("agent", "spawn", "implementer", "010")
    events = site.sow("job", "logs", "1", "--json").json_lines
    (session,) = [event["session_id"] for event in events if event["kind"] == "session"]
    assert session == site.task("010")["session_id"]
    tools = [event["text"] for event in events if event["kind"] == "tool_use"]
    assert any("sow task set status needs_review" in text for text in tools)
    site.sow("job", "logs", "1", "--json", "--raw", expect=2)
