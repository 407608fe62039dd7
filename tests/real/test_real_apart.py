"""A task apart with the real Claude Code as its author and as its reviewer."""

import json
import shlex

import pytest
from journey import Journey, tool_results
from sandbox import PROGRAMS
from scripted_model import REPORT

pytestmark = pytest.mark.real

WORK = (
    "cat README.md",
    "echo 'a line of task {task_id}' > work.txt",
    *REPORT,
)
ACCEPT = ("git log --oneline -1", "sow review accept {task_id} --summary 'It does what was asked.'")


@pytest.fixture
def apart(journey: Journey) -> Journey:
    """A journey in a repository with a commit, whose agents find no server of the clone's."""
    sandbox = journey.sandbox
    (sandbox.repository / "README.md").write_text("Read me.\n")
    for words in (
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.org"),
        ("add", "-A"),
        ("commit", "-q", "-m", "First"),
    ):
        assert sandbox.run("git", *words).returncode == 0
    return journey


def assert_no_tool_was_refused(journey: Journey) -> None:
    assert journey.sandbox.failures() == []
    results = tool_results(journey.sandbox.requests()[-1])
    assert [result["content"] for result in results if result.get("is_error")] == []


SHELL = {"CLAUDECODE": "1", "BASH_DEFAULT_TIMEOUT_MS": "12000"}
"""A shell that allows a call twelve seconds: sow comes back after two of them."""


def in_a_short_shell(apart: Journey, *words: str) -> tuple[int, str]:
    """Make a call as an agent's shell does, and whatever that names as long as it exits with 75.

    Return how often it did so, and what was printed at last.
    """
    command = [str(PROGRAMS / "sow"), *words]
    for again in range(1000):
        done = apart.sandbox.run(*command, environ=SHELL)
        if done.returncode != 75:
            assert done.returncode == 0, done.stdout + done.stderr
            return again, done.stdout
        program, *following = shlex.split(done.stdout.splitlines()[-1])
        assert program == "sow"
        command = [str(PROGRAMS / "sow"), *following]
    raise AssertionError("it never ends")


@pytest.mark.one_of("real authors in clones")
def test_no_call_of_the_loop_blocks_longer_than_its_shell_allows(apart: Journey) -> None:
    sandbox = apart.sandbox
    long = "touch begun; sleep 6; echo done > work.txt"
    sandbox.behave(commands=(long, *REPORT))
    waits, _ = in_a_short_shell(apart, "agent", "spawn", apart.task_id, "--clone")
    assert waits, "the author took longer than one call may"
    sandbox.behave(commands=("sleep 6; cat work.txt", *ACCEPT))
    waits, shown = in_a_short_shell(apart, "agent", "review", apart.task_id)
    assert (waits > 0, "accepted" in shown) == (True, True)
    in_a_short_shell(apart, "merge", apart.task_id)
    assert sandbox.run("git", "show", "HEAD:work.txt").stdout == "done\n"
    assert [attempt["cause"] for attempt in apart.attempts(1)] == ["reported"], "it ran once"


def review(apart: Journey, *commands: str) -> str:
    """Have the reviewer run these commands; return what the call prints."""
    apart.sandbox.behave(commands=commands)
    done = apart.sandbox.sow("agent", "review", apart.task_id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_no_tool_was_refused(apart)
    return done.stdout


def resume_with_feedback(apart: Journey, *commands: str) -> str:
    """Have the author run these commands with the open feedback; return what it was told."""
    apart.sandbox.behave(commands=(*commands, *REPORT))
    done = apart.sandbox.sow("agent", "resume", apart.task_id, "--feedback")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_no_tool_was_refused(apart)
    return json.dumps(apart.sandbox.requests()[-1]["messages"])


@pytest.mark.one_of("real authors in clones")
def test_an_author_is_corrected_twice_by_a_reviewer_and_then_accepted(apart: Journey) -> None:
    sandbox = apart.sandbox
    sandbox.behave(commands=WORK)
    done = apart.spawn("--clone")
    assert done.returncode == 0, done.stdout + done.stderr
    session = apart.task()["session_id"]
    folder = apart.folder / "feedback"

    for number, (asked, answer) in enumerate(
        (("Say it twice.", "and another"), ("Say it thrice.", "and a third")), 1
    ):
        review_command = review(
            apart,
            f"echo '{asked}' > findings.md",
            "sow review correct {task_id} --file findings.md",
        )
        assert "corrections" in review_command or "correct" in review_command, review_command
        assert [asked in path.read_text() for path in sorted(folder.iterdir())][-1]
        assert len(list(folder.iterdir())) == number
        statuses = [each["status"] for each in apart.task()["feedback"]]
        assert statuses == ["settled"] * (number - 1) + ["open"]
        messages = resume_with_feedback(apart, f"echo '{answer}' >> work.txt")
        assert asked in messages
        assert WORK[1].replace("{task_id}", apart.task_id) in messages, "its own session goes on"
        assert apart.task()["session_id"] == session
        statuses = [each["status"] for each in apart.task()["feedback"]]
        assert statuses == ["settled"] * (number - 1) + ["addressed"]

    assert "accepted" in review(apart, "cat work.txt", *ACCEPT)
    task = apart.task()
    assert [each["status"] for each in task["feedback"]] == ["settled", "settled"]
    assert (task["review"]["verdict"], task["session_id"]) == ("accepted", session)
    done = sandbox.sow("merge", apart.task_id)
    assert done.returncode == 0, done.stdout + done.stderr
    merged = sandbox.run("git", "show", "HEAD:work.txt").stdout
    assert merged == f"a line of task {apart.task_id}\nand another\nand a third\n"
    assert not sandbox.run("git", "ls-tree", "HEAD", "findings.md").stdout
    assert sandbox.run("git", "fsck", "--strict").returncode == 0


@pytest.mark.one_of("real authors in clones")
def test_work_that_is_accepted_at_once_after_its_check_was_red_and_green(apart: Journey) -> None:
    sandbox = apart.sandbox
    settings = {"checks": {"unit": "grep -q more work.txt"}}
    (sandbox.repository / ".sow/config.yaml").write_text(json.dumps(settings))
    assert sandbox.sow("trust", "--yes").returncode == 0
    sandbox.behave(commands=WORK)
    assert apart.spawn("--clone").returncode == 0
    check = ("task", "check", apart.task_id, "unit")
    assert sandbox.sow(*check).returncode == 1

    sandbox.behave(commands=("echo more >> work.txt", *REPORT))
    assert apart.resume("The check is red: work.txt lacks a line `more`.").returncode == 0
    assert sandbox.sow(*check).returncode == 0
    assert "accepted" in review(apart, *ACCEPT)
    assert "The last check of it: passed." in json.dumps(sandbox.requests()[-1]["messages"])
    assert "feedback" not in apart.task() or not apart.task()["feedback"]
    assert sandbox.sow("merge", apart.task_id).returncode == 0
    assert apart.task()["status"] == "completed"


@pytest.mark.one_of("real authors in clones")
def test_an_author_works_in_its_clone_is_corrected_and_accepted_by_a_reviewer(
    apart: Journey,
) -> None:
    sandbox = apart.sandbox
    sandbox.behave(commands=WORK)
    done = apart.spawn("--clone")
    assert (done.returncode, "needs_review" in done.stdout) == (0, True), done.stderr
    assert_no_tool_was_refused(apart)
    task = apart.task()
    assert task["files_modified"] == ["work.txt"]
    assert not (sandbox.repository / "work.txt").exists()

    findings = sandbox.repository / "findings.md"
    findings.write_text("Say it twice.\n")
    words = ("review", "correct", apart.task_id, "--file", str(findings))
    assert sandbox.sow(*words).returncode == 0
    sandbox.behave(commands=("echo 'and another' >> work.txt", *REPORT))
    done = sandbox.sow("agent", "resume", apart.task_id, "--feedback")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Say it twice." in json.dumps(sandbox.requests()[-1]["messages"])
    assert_no_tool_was_refused(apart)
    session = apart.task()["session_id"]

    sandbox.behave(commands=ACCEPT)
    done = sandbox.sow("agent", "review", apart.task_id)
    assert (done.returncode, "accepted" in done.stdout) == (0, True), done.stdout + done.stderr
    assert_no_tool_was_refused(apart)
    task = apart.task()
    assert (task["status"], task["session_id"]) == ("needs_review", session)
    assert task["review"]["verdict"] == "accepted"

    done = sandbox.sow("merge", apart.task_id)
    assert done.returncode == 0, done.stdout + done.stderr
    merged = sandbox.run("git", "show", "HEAD:work.txt").stdout
    assert merged == f"a line of task {apart.task_id}\nand another\n"
    assert apart.task()["status"] == "completed"


@pytest.mark.one_of("real authors in clones")
def test_a_conflict_between_two_tasks_is_solved_by_the_agent_of_the_second(apart: Journey) -> None:
    sandbox = apart.sandbox
    settings = {"checks": {"unit": "grep -q solved work.txt"}}
    (sandbox.repository / ".sow/config.yaml").write_text(json.dumps(settings))
    second = str(int(apart.task_id) + 10)
    words = ("task", "add", "Another", "--agent", "implementer", "--id", second)
    assert sandbox.sow(*words).returncode == 0
    assert sandbox.sow("trust", "--yes").returncode == 0
    for task_id in (apart.task_id, second):
        sandbox.behave(commands=(f"echo 'a line of task {task_id}' > work.txt", *REPORT))
        done = sandbox.sow("agent", "spawn", task_id, "--clone")
        assert done.returncode == 0, done.stdout + done.stderr
        assert sandbox.sow("review", "accept", task_id, "--summary", "Good.").returncode == 0
    assert sandbox.sow("merge", apart.task_id).returncode == 0
    done = sandbox.sow("merge", second)
    assert (done.returncode, "work.txt" in done.stdout + done.stderr) == (4, True)
    assert sandbox.sow("clone", "update", second).returncode == 4
    assert sandbox.sow("task", "check", second, "unit").returncode == 1

    sandbox.behave(commands=("cat work.txt", "echo solved > work.txt", *REPORT))
    done = sandbox.sow("agent", "resume", second, "--conflict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "work.txt" in json.dumps(sandbox.requests()[-1]["messages"])
    assert_no_tool_was_refused(apart)
    assert sandbox.sow("task", "check", second, "unit").returncode == 0
    assert sandbox.sow("merge", second).returncode == 4, "it was solved, so it is judged again"
    words = ("review", "accept", second, "--summary", "Good.", "--complete")
    assert sandbox.sow(*words).returncode == 0
    assert sandbox.sow("merge", second).returncode == 0
    assert sandbox.run("git", "show", "HEAD:work.txt").stdout == "solved\n"
    assert sandbox.run("git", "fsck", "--strict").returncode == 0
