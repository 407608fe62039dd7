"""A task apart with the real Claude Code as its author and as its reviewer."""

import json

import pytest
from journey import Journey, tool_results
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
