"""`sow agent answer`: a question, its answer, and an answer where nothing is asked."""

import pytest
from journeys.callers import await_end, gate, good, killed_caller, open_gate, report
from journeys.json_contract import hold
from journeys.site import Site
from standins import read_runs


@pytest.fixture
def asked(site: Site) -> Site:
    """A task whose agent has asked something."""
    site.project("010")
    asks = [{"sow": ["agent", "log", "RS256 or HS256?"]}, report("paused")]
    site.script([asks, good(gate("answered"))])
    asking = site.sow("agent", "spawn", "010")
    assert 'Answer: `sow agent answer 010 "…"`' in asking.err
    return site


def test_an_answer_reaches_the_agent(asked: Site) -> None:
    open_gate(asked, "answered")
    (asked.root / "answer.md").write_text("Use RS256.\n")
    done = asked.sow("agent", "answer", "010", "--file", "answer.md", "--json").json
    hold("agent answer", [done])
    assert (done["status"], asked.task("010")["iteration"]) == ("needs_review", 1)
    assert "Use RS256." in read_runs(asked.root)[-1].prompt
    assert "Use RS256." in (asked.task_folder("010") / "log.md").read_text()
    refused = asked.sow("agent", "answer", "010", "Use HS256.", expect=4)
    assert "task 010 is needs_review: there is no question to answer" in refused.err


def test_whoever_answers_may_be_killed(asked: Site) -> None:
    job = killed_caller(asked, "agent", "answer", "--id", "010", "Use RS256.")
    open_gate(asked, "answered")
    await_end(asked, "010")
    again = asked.sow("agent", "answer", "--id", "010", "Use RS256.")
    assert f"job {job.id}" in again.out
    assert len(read_runs(asked.root)) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no task is named"),
        (("010",), "needs one answer"),
        (("010", ""), "the answer is empty"),
        (("010", "Use", "RS256."), "takes [TASK] ANSWER, not 3 words"),
    ],
)
def test_an_answer_has_words(site: Site, words: tuple[str, ...], message: str) -> None:
    site.project("010")
    assert message in site.sow("agent", "answer", *words, expect=2).err
