"""How a call names its task: an argument, `--id`, or SOW_TASK_ID (DESIGN, "Files and state")."""

import pytest
from journeys.calls import all_jobs, good
from journeys.site import Site
from standins import read_runs

SPAWN = ("agent", "spawn", "implementer")


@pytest.fixture
def two(site: Site) -> Site:
    site.project("010", "020")
    site.script([good()])
    return site


def called(site: Site) -> list[tuple[str, str]]:
    """Return verb and task of every job, oldest first."""
    return [(job.verb.value, job.task_id) for job in all_jobs(site)]


def test_by_option(two: Site) -> None:
    two.sow(*SPAWN, "--id", "010", "--id", "020", "020")
    two.sow("agent", "resume", "--id", "020", "Use RS256.")
    assert called(two) == [("spawn", "020"), ("spawn", "010"), ("resume", "020")]
    assert "Use RS256." in read_runs(two.root)[-1].prompt
    assert two.sow("agent", "wait", "--id", "010", "--json").json["job"] == 2
    assert two.sow("agent", "wait", "010", "--id", "020").out.count("needs_review") == 2
    assert "it has no job that runs" in two.sow("agent", "cancel", "--id", "010", expect=4).err


def test_by_the_environment(two: Site) -> None:
    mine = {"SOW_TASK_ID": "020"}
    two.sow(*SPAWN, env=mine)
    two.sow("agent", "resume", "Use RS256.", env=mine)
    (two.root / "more.md").write_text("Rotate the keys.")
    two.sow("agent", "resume", "--file", "more.md", env=mine)
    assert called(two) == [("spawn", "020"), ("resume", "020"), ("resume", "020")]
    prompts = [run.prompt for run in read_runs(two.root)]
    assert "Use RS256." in prompts[1]
    assert "Rotate the keys." in prompts[2]
    assert two.sow("agent", "wait", "--json", env=mine).json["job"] == 3
    assert "it has no job that runs" in two.sow("agent", "cancel", env=mine, expect=4).err


def test_a_number_alone_is_a_task_and_one_with_the_task_told_is_a_prompt(two: Site) -> None:
    two.sow(*SPAWN, "010")
    assert "a resume needs one prompt" in two.sow("agent", "resume", "010", expect=2).err
    two.sow("agent", "resume", "--id", "010", "42")
    assert "42" in read_runs(two.root)[-1].prompt


@pytest.mark.parametrize(
    "words",
    [SPAWN, ("agent", "resume", "Go on."), ("agent", "wait"), ("agent", "cancel")],
    ids=lambda words: words[1],
)
def test_no_task_at_all(two: Site, words: tuple[str, ...]) -> None:
    error = two.sow(*words, expect=2).err
    assert "no task is named" in error
    assert "SOW_TASK_ID" in error


def test_two_tasks_for_one(two: Site) -> None:
    error = two.sow("agent", "resume", "010", "Go on.", "--id", "020", expect=2).err
    assert "two tasks are named: 010 and 020" in error
    error = two.sow("agent", "cancel", "010", "--id", "020", expect=2).err
    assert "two tasks are named: 010 and 020" in error


def test_too_many_words(two: Site) -> None:
    error = two.sow("agent", "resume", "010", "Use", "RS256.", expect=2).err
    assert "takes [TASK] PROMPT, not 3 words" in error
