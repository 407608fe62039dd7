"""`sow report` of true workers' work: what was waited for, by whom it was held up, and the page."""

import os
from pathlib import Path

import pytest
from journeys.batch_site import add
from journeys.callers import await_end, good, report
from journeys.json_contract import hold
from journeys.site import Site

from sow.timeline.page import MARK

ASKS = [{"sow": ["agent", "log", "Which <b>one</b>?"]}, report("paused")]


@pytest.fixture
def worked(site: Site) -> Site:
    """A project in which 010 crashed once, 020 waited for a person, and 030 was never begun."""
    site.project("010")
    add(site, {"020": ["010"], "030": ["020"]})
    site.script([[{"sow": ["agent", "log", "Begun"]}, {"crash": 3}], good()], "010")
    site.script([ASKS, good()], "020")
    site.sow("agent", "spawn", "implementer", "010")
    site.sow("task", "set", "010", "status", "completed")
    site.sow("agent", "spawn", "implementer", "020")
    site.sow("agent", "answer", "020", "That one.")
    await_end(site, "020")
    return site


def test_it_tells_what_was_waited_for(worked: Site) -> None:
    result = worked.sow("report", "--json")
    hold("report", result.json_lines)
    record = result.json
    assert [task["task"] for task in record["tasks"]] == ["010", "020", "030"]
    first, second, third = record["tasks"]
    assert first["retries_by_cause"] == record["totals"]["retries_by_cause"]
    assert first["retries_by_cause"]["crashed"] == 1
    assert first["seconds_in"]["retry"] > 0
    assert "crashed" in first["faults"][0]
    waits = [span["why"] for span in second["spans"] if span["kind"] == "person"]
    assert "an answer to its question" in waits
    assert second["waiting_for"] == "a verdict on its work"
    assert (third["spans"], third["status"]) == ([], "pending")
    outcomes = [run["outcome"] for run in record["runs"]]
    assert (outcomes[0], outcomes[-3:]) == ("failed", ["well"] * 3)
    path = record["critical_path"]
    assert {step["task"] for step in path} == {"010", "020"}
    assert path[-1]["end"] == max(task["end"] for task in record["tasks"])
    assert record["ended_at"] is not None
    for task in (first, second):
        lengths = sum(span["end"] - span["begin"] for span in task["spans"])
        assert lengths == pytest.approx(task["end"] - task["begin"], abs=0.05)


def test_text_and_page_say_the_same(worked: Site) -> None:
    text = worked.sow("report").out
    assert "waiting for a person" in text
    assert "waits for a verdict on its work" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    printed = worked.sow("report", "--html", "page.html").out
    page = (worked.root / "page.html").read_text()
    assert printed.startswith(str(worked.root / "page.html"))
    assert page.startswith(MARK)
    assert "waiting for a person" in page
    assert "Which &lt;b&gt;one&lt;/b&gt;?" in page
    assert "How jobs ended, by role" in page
    worked.sow("report", "--html", "page.html")  # a report may be made anew


def test_a_file_that_is_no_report_is_left_alone(site: Site) -> None:
    site.project("010")
    (site.root / "notes.html").write_text("<p>My own</p>")
    refused = site.sow("report", "--html", "notes.html", expect=2)
    assert "it is not a report" in refused.err
    assert (site.root / "notes.html").read_text() == "<p>My own</p>"
    os.mkfifo(site.root / "pipe.html")
    assert "it is not a report" in site.sow("report", "--html", "pipe.html", expect=2).err
    missing = site.sow("report", "--html", "no/such/page.html", expect=2)
    assert "there is no folder" in missing.err
    assert "needs a person at a terminal" in site.sow("report", "--open", expect=2).err
    assert "no batch nightly" in site.sow("report", "--batch", "nightly", expect=4).err


def test_a_project_that_has_ended_is_told_of_still(worked: Site) -> None:
    folder = worked.root / ".sow/project"
    folder.rename(worked.root / ".sow/elsewhere")
    worked.change_branch("other")
    record = worked.sow("report", "--json").json
    assert [task["task"] for task in record["tasks"]] == ["010", "020"]
    assert record["totals"]["job_count"] == 3
    assert record["totals"]["attempt_count"] == len(record["runs"]) >= 4


def test_no_other_command_imports_it() -> None:
    own = Path(__file__).parents[2] / "sow"
    users = [
        path.relative_to(own).as_posix()
        for path in own.rglob("*.py")
        if "sow.timeline" in path.read_text() and path.parent.name != "timeline"
    ]
    assert sorted(users) == ["cli/executor_compare.py", "cli/report.py", "cli/stats.py"]


def test_the_figures_stay_when_records_are_pruned(worked: Site) -> None:
    before = worked.sow("stats", "--json").json
    assert before["total"]["retries_by_cause"]["crashed"] == 1
    assert before["total"]["seconds_in"]["backoff"] > 0
    assert [group["key"] for group in before["groups"]] == ["implementer"]
    worked.sow("task", "set", "020", "status", "completed")
    worked.sow("job", "prune", "--keep-for", "0s")
    assert worked.sow("job", "list", "--json").json_lines == []
    after = worked.sow("stats", "--json").json
    assert after == before
    assert worked.sow("stats", "--by", "month").out.startswith("MONTH")
    assert "ended since" not in worked.sow("stats", "--since", "1h").out
