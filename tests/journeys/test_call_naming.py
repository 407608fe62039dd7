"""How a call names its task: an argument, `--id`, or SOW_TASK_ID (DESIGN, "Files and state")."""

import pytest
from journeys.callers import HANG, all_jobs, good
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
    assert (
        "it has no running or waiting job"
        in two.sow("agent", "cancel", "--id", "010", expect=4).err
    )


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
    assert "it has no running or waiting job" in two.sow("agent", "cancel", env=mine, expect=4).err


def test_a_number_alone_is_a_task_and_one_with_the_task_told_is_a_prompt(two: Site) -> None:
    two.sow(*SPAWN, "010")
    assert "needs one prompt" in two.sow("agent", "resume", "010", expect=2).err
    two.sow("agent", "resume", "--id", "010", "42")
    assert "42" in read_runs(two.root)[-1].prompt


@pytest.mark.parametrize(
    "words",
    [
        SPAWN,
        ("agent", "spawn"),
        ("agent", "resume", "Go on."),
        ("agent", "wait"),
        ("agent", "cancel"),
    ],
    ids=lambda words: words[1],
)
def test_no_task_at_all(two: Site, words: tuple[str, ...]) -> None:
    error = two.sow(*words, expect=2).err
    assert "no task is named" in error
    assert "SOW_TASK_ID" in error


def test_two_tasks_for_one(two: Site) -> None:
    error = two.sow("agent", "resume", "010", "Go on.", "--id", "020", expect=2).err
    assert "two tasks are named: 010 and 020" in error


def test_too_many_words(two: Site) -> None:
    error = two.sow("agent", "resume", "010", "Use", "RS256.", expect=2).err
    assert "takes [TASK] PROMPT, not 3 words" in error


def test_a_zero_padded_number_is_never_a_jobs(site: Site) -> None:
    """`sow job cancel 010` once ended job 10, which was another task's."""
    tasks = [f"{number}0" for number in range(10, 20)]
    site.project(*tasks)
    site.script([HANG])
    site.sow(*SPAWN, *tasks, "--detach")
    running = {str(job.id): job for job in all_jobs(site)}
    commands = {
        ("job", "cancel"): "sow agent cancel 010",
        ("job", "show"): "sow task show 010",
        ("job", "explain"): "sow task explain 010",
        ("job", "logs"): "sow task output 010",
        ("job", "resolve", "--gone"): "sow job list --task 010",
    }
    for words, instead in commands.items():
        refused = site.sow(*words, "010", expect=4)
        assert "010 looks like a task's id: a job's number has no leading zero" in refused.err
        assert refused.err.count(f"`{instead}`") == 1
    assert "10" in running
    assert not any(job.cancel_requested_at for job in all_jobs(site))
    for task in tasks:
        site.sow("agent", "cancel", task)


@pytest.mark.parametrize("word", ["01", "0", "-1", "1.0", "٣", "9" * 30, "9" * 5000, "x", ""])
def test_what_is_no_jobs_number(site: Site, word: str) -> None:
    site.project("010")
    refused = site.sow("job", "show", "--", word, expect=4)
    assert "not a job id" in refused.err


def test_a_tasks_last_job_by_the_tasks_id(two: Site) -> None:
    two.script([good({"say": "First words"}), good({"say": "Second words"})])
    two.sow(*SPAWN, "020")
    two.sow(*SPAWN, "010")
    two.sow("agent", "resume", "010", "Go on.")
    ended = two.sow("task", "output", "010")
    assert ended.out == two.sow("job", "logs", "3").out
    assert "Second words" in ended.out
    assert "First words" not in ended.out
    assert ended.err.startswith("010 needs_review (resume implementer by claude-code, job 3")
    raw = two.sow("task", "output", "010", "--raw", "--attempt", "1").out
    assert raw == two.sow("job", "logs", "3", "--raw", "--attempt", "1").out
    events = two.sow("task", "output", "--id", "010", "--json").json_lines
    assert events == two.sow("job", "logs", "3", "--json").json_lines
    story = two.sow("task", "explain", env={"SOW_TASK_ID": "010"})
    assert story.out.startswith("Job 3: resume")
    assert 'sow agent resume 010 "…"' in story.out
    assert two.sow("task", "explain", "010", "--json").json["job"] == 3


@pytest.mark.parametrize("command", ["output", "explain"])
def test_a_task_without_a_job(two: Site, command: str) -> None:
    refused = two.sow("task", command, "010", expect=4)
    assert "task 010 has no job yet" in refused.err
    assert "sow agent spawn 010" in refused.err
    two.sow(*SPAWN, "020")
    assert two.sow("task", command, "010", expect=4).err == refused.err
    assert "there is no task 999" in two.sow("task", command, "999", expect=4).err
