"""A batch with the real Claude Code in both roles, and a night in which something goes wrong."""

import json
from typing import Any

import pytest
from journey import Journey
from scripted_model import REPORT

pytestmark = pytest.mark.real

WORK = "work-{task_id}.txt"
LOOP = (
    f'if [ -n "$SOW_REVIEW" ]; then cat {WORK}; else echo line >> {WORK}; fi',
    'sh "$HOME/report.sh" {task_id}',
)
"""What either role runs."""
REPORT_SCRIPT = """
if [ -z "$SOW_REVIEW" ]; then
  sow agent log Done && sow task set status needs_review
elif [ $(wc -l < "work-$1.txt") = 1 ]; then
  echo 'Say it twice.' > findings.md
  sow review correct "$1" --file findings.md
else
  sow review accept "$1" --summary 'It does what was asked.'
fi
"""
"""The reviewer sends the first work of each task back. In a file, for a line that names what a role
may not run is refused to it as a whole."""
ASK_ONCE = (
    'asked="$HOME/asked-{task_id}"; if [ -e "$asked" ]; then sow task set status needs_review; '
    'else touch "$asked"; sow agent log "Which colour is it to be?"; '
    "sow task set status paused; fi",
)


@pytest.fixture
def night(journey: Journey) -> Journey:
    """A journey in a repository with a commit, of four tasks, whose agents have a shell."""
    sandbox = journey.sandbox
    journey.configure(settings={"allowed_tools": ["Bash"]})
    (sandbox.home / "report.sh").write_text(REPORT_SCRIPT)
    tasks = [{"key": key, "name": key, "agent": "implementer"} for key in ("two", "three", "four")]
    (sandbox.home / "tasks.yaml").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    done = sandbox.sow("task", "import", str(sandbox.home / "tasks.yaml"))
    assert done.returncode == 0, done.stderr
    (sandbox.repository / "README.md").write_text("Read me.\n")
    for words in (
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.org"),
        ("add", "-A"),
        ("commit", "-q", "-m", "First"),
    ):
        assert sandbox.run("git", *words).returncode == 0
    return journey


def call(night: Journey, *words: str, code: int = 0) -> Any:
    """Run a command of batches, wait while it goes on, and return the batch as JSON.

    No call takes longer than a shell of two minutes allows.
    """
    done = night.sandbox.sow("batch", *words, "--json")
    assert done.returncode in (0, 75), done.stdout + done.stderr
    done = night.sandbox.sow("batch", "wait", "1", "--wait", "100s", "--json")
    while done.returncode == 75:
        done = night.sandbox.sow("batch", "wait", "1", "--wait", "100s", "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def states(batch: Any) -> list[str]:
    return [item["state"] for item in batch["items"]]


@pytest.mark.one_of("real projects and nights")
def test_every_task_is_corrected_accepted_and_merged(night: Journey) -> None:
    sandbox = night.sandbox
    sandbox.behave(commands=LOOP)
    batch = call(night, "run", "--detach", "--clone", "--review", "--merge")
    assert states(batch) == ["done"] * 4
    assert all(item["cost_usd"] > 0 for item in batch["items"])
    for item in batch["items"]:
        work = sandbox.run("git", "show", f"HEAD:work-{item['task']}.txt").stdout
        assert work == "line\nline\n", item
        task = json.loads(sandbox.sow("task", "show", item["task"], "--json").stdout)
        assert (task["status"], task["iteration"]) == ("completed", 2)
    assert sandbox.run("git", "fsck", "--strict").returncode == 0
    assert sandbox.failures() == []


@pytest.mark.one_of("real projects and nights")
def test_a_wrong_key_in_the_night_is_a_brake_and_a_right_one_goes_on(night: Journey) -> None:
    night.sandbox.behave(status=401)
    batch = call(night, "run", "--detach", code=1)
    assert batch["state"] == "paused"
    assert "its key was refused" in batch["reason"], batch["reason"]
    night.sandbox.behave(commands=REPORT)
    batch = call(night, "resume", "1", code=1)
    assert states(batch) == ["needs_person"] * 4, "a person's verdict is awaited"


@pytest.mark.one_of("real projects and nights")
def test_a_question_is_answered_in_the_morning(night: Journey) -> None:
    night.sandbox.behave(commands=ASK_ONCE)
    batch = call(night, "run", "--detach", code=1)
    assert states(batch) == ["needs_person"] * 4
    assert {item["question"] for item in batch["items"]} == {"Which colour is it to be?"}
    first = batch["items"][0]["task"]
    done = night.sandbox.sow("agent", "resume", first, "Blue.", "--wait", "100s")
    assert done.returncode == 0, done.stderr
    assert "Blue." in json.dumps(night.sandbox.requests()[-1]["messages"])


@pytest.mark.one_of("real projects and nights")
def test_a_reached_budget_stops_it_and_a_raised_one_goes_on(night: Journey) -> None:
    night.sandbox.behave(commands=REPORT)
    batch = call(night, "run", "--detach", "--budget", "usd=0.0002", code=1)
    assert states(batch) == ["needs_person"] * 4
    for item in batch["items"]:
        assert item["reason"].startswith("the budget of batch 1 is reached"), item
    batch = call(night, "resume", "1", "--budget", "usd=5", code=1)
    assert [item["reason"] for item in batch["items"]] == ["its work waits for your review"] * 4
