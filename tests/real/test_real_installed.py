"""What a user has: the wheel in an environment of its own, an empty HOME, and Claude Code."""

import json
import re

import pytest
from sandbox import Sandbox, end_of

pytestmark = pytest.mark.real

LEADS = "You lead this project from now on"
GOAL = "A greeting is to be written down."
WORK = """
case "$SOW_AGENT:$SOW_REVIEW" in
implementer:*)
    until grep -A1 '"agent", "spawn"' '{calls}' | grep -q '"next"'; do sleep 0.1; done
    echo Hello >greeting.txt
    sow agent log "Wrote it" && sow task set status needs_review;;
reviewer:project)
    sow review accept --project --summary "It is a greeting.";;
reviewer:*)
    sow review accept "$SOW_TASK_ID" --summary "It is a greeting.";;
esac
"""
"""What the author and the reviewers run, from a file: a line that names what an agent may not run
is refused to it as a whole. The author is at work until the session has come back from its call
and has asked what comes next: so it has to wait."""
CONFIG = {
    "approve": "agents",
    "agents": {
        "executors": {"claude-code": {"type": "claude", "settings": {"allowed_tools": ["Bash"]}}}
    },
}
DEEDS = (
    "init",
    "project new Greeting",
    "approve plan",
    "agent spawn 010",
    "agent wait 010",
    "agent review 010",
    "task set 010",
    "agent review --project",
    "project finish",
)
"""What the session has to have done, in this order; the user has told it nothing but the goal."""
TASK = {"key": "one", "name": "Greet", "agent": "implementer", "description": "Write it."}


def good(sandbox: Sandbox, *words: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    done = sandbox.run(*words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def true_sow(sandbox: Sandbox, *words: str) -> str:
    """Run the installed sow, past the witness of the agents' calls."""
    return good(sandbox, str(sandbox.programs / "sow"), *words)


def lead(sandbox: Sandbox) -> str:
    """Begin with a commit and a goal, and have the session repeat what sow tells it."""
    config = sandbox.home / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(CONFIG))
    (sandbox.home / "work.sh").write_text(WORK.format(calls=sandbox.records / "witness.jsonl"))
    good(sandbox, "git", "init", "-q", "-b", "main")
    for name, value in (("user.name", "A Person"), ("user.email", "person@example.org")):
        good(sandbox, "git", "config", name, value)
    good(sandbox, "git", "commit", "-q", "--allow-empty", "-m", "Begin")
    tasks = str(sandbox.repository / ".sow/project/context/tasks.yaml")
    sandbox.behave(
        commands=['sh "$HOME/work.sh"'],
        leader=LEADS,
        answers=[("<name>", "Greeting"), ("<file of tasks>", tasks)],
        files=[(tasks, json.dumps([TASK]))],
    )
    words = ("--permission-mode", "acceptEdits", f"/sow:start {GOAL}")
    process = sandbox.start("claude", "-p", *words, environ={"SOW_WAIT": "1s"})
    done = end_of(process, seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.one_of("real projects and nights")
def test_the_wheel_runs_the_demo_and_start_leads_a_project(installed_sandbox: Sandbox) -> None:
    sandbox = installed_sandbox
    assert list(sandbox.home.iterdir()) == []
    true_sow(sandbox, "demo")
    true_sow(sandbox, "install", "claude")
    settings = json.loads((sandbox.home / ".claude/settings.json").read_text())
    source = settings["extraKnownMarketplaces"]["sow"]["source"]["path"]
    assert source.startswith(str(sandbox.programs.parent)), "what the wheel has brought is read"
    assert "The project has ended." in lead(sandbox)
    led_well(sandbox)
    (project,) = true_sow(sandbox, "project", "list", "--json").splitlines()
    assert json.loads(project)["ended"] == "finished"
    assert (sandbox.repository / "greeting.txt").read_text() == "Hello\n"


def led_well(sandbox: Sandbox) -> None:
    """Fail where a call was refused, or where a task was not spawned, waited for and reviewed."""
    calls = sandbox.witnessed()
    assert [call for call in calls if call["exit"] not in (0, 75)] == []
    assert sandbox.failures() == []
    heard = json.dumps([request["messages"] for request in sandbox.requests()])
    assert not re.findall("haven't granted|requires approval|was blocked|has been denied", heard)
    done = [" ".join(call["argv"][:3]) for call in calls if not call["role"]]
    in_order = [words for words in done if words in DEEDS]
    assert list(dict.fromkeys(in_order)) == list(DEEDS), done
    (spawned,) = (call for call in calls if call["argv"][:2] == ["agent", "spawn"])
    assert spawned["exit"] == 75, "the call came back before its agent was done"
    judged = [call["argv"][:3] for call in calls if call["role"] == "reviewer"]
    assert judged == [["review", "accept", "010"], ["review", "accept", "--project"]]
