"""The plugin in the real Claude Code: commands, news, rules, and that agents have none of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

import pytest
from journey import Journey, tool_results
from sandbox import Sandbox, end_of, wait_until

from sow.cli.news import HEADING
from sow.install.places import MARKETPLACE

pytestmark = pytest.mark.real

LEADS = "You lead this project from now on"
SKILL = "Leads coding agents with the `sow` command"
WORK = """
if [ -z "$SOW_REVIEW" ]; then
  sow agent log Done && sow task set status needs_review
else
  sow review accept "$1" --summary 'It does what was asked.'
fi
"""
"""What the author and the reviewer run, from a file: a line that names what an agent may not run is
refused to it as a whole."""
ORDERS = (
    "sow prompt guidance/orchestrator/base",
    "sow agent spawn {task_id} --detach",
    "sow agent wait {task_id} --wait 100s",
    "sow task show {task_id}",
    "sow agent review {task_id} --wait 100s",
    "sow review show {task_id}",
    "sow review accept {task_id} --summary 'Good as it is.' --complete",
)
"""What the text of /sow:start says, word for word, with the task's id."""


def install(sandbox: Sandbox, *options: str) -> None:
    done = sandbox.sow("install", "claude", *options)
    assert done.returncode == 0, done.stderr


def texts(sandbox: Sandbox, after: int = 0) -> str:
    """Return all that the model was sent, from a request on."""
    return "\n".join(map(json.dumps, sandbox.requests()[after:]))


@pytest.mark.parametrize("folder", [MARKETPLACE, MARKETPLACE / "sow"], ids=["market", "plugin"])
def test_claude_code_s_own_validation_accepts_it(sandbox: Sandbox, folder: object) -> None:
    done = sandbox.run("claude", "plugin", "validate", "--strict", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.one_of("the real plugin")
def test_a_command_reaches_the_model_with_what_sow_prints(journey: Journey) -> None:
    sandbox = journey.sandbox
    install(sandbox)
    begun = sandbox.sow("task", "set", journey.task_id, "status", "in_progress")
    assert begun.returncode == 0, "a task that nobody is at is news"
    sandbox.behave(commands=())
    done = sandbox.run("claude", "-p", "/sow:status in one line")
    assert done.returncode == 0, done.stdout + done.stderr
    sent = texts(sandbox)
    for words in ("Change nothing.", "in one line", "trial", SKILL, HEADING):
        assert words in sent, words
    assert "sow status 2>&1" not in sent, "what it prints stands in its place"
    assert sandbox.failures() == []
    assert sandbox.sow("uninstall", "claude").returncode == 0
    count = len(sandbox.requests())
    sandbox.run("claude", "-p", "Hello")
    after = texts(sandbox, count)
    assert after
    assert SKILL not in after
    assert HEADING not in after


@pytest.mark.one_of("the real plugin")
def test_for_a_project_it_is_loaded_once_the_folder_is_trusted(journey: Journey) -> None:
    """What `sow install claude --project` says of a folder that nobody trusts yet."""
    sandbox = journey.sandbox
    done = sandbox.sow("install", "claude", "--project")
    assert "does not trust" in done.stderr
    sandbox.behave(commands=())
    sandbox.run("claude", "-p", "Hello")
    count = len(sandbox.requests())
    assert SKILL not in texts(sandbox)
    file = sandbox.home / ".claude.json"
    known = json.loads(file.read_text())
    trusted = known.setdefault("projects", {}).setdefault(str(sandbox.repository), {})
    trusted["hasTrustDialogAccepted"] = True
    file.write_text(json.dumps(known))
    assert "does not trust" not in sandbox.sow("install", "claude", "--project").stderr
    sandbox.run("claude", "-p", "Hello")
    assert SKILL in texts(sandbox, count)
    assert sandbox.sow("uninstall", "claude", "--project").returncode == 0
    notes = json.loads((sandbox.home / ".claude/plugins/installed_plugins.json").read_text())
    assert notes["plugins"] == {}
    known = json.loads((sandbox.home / ".claude/plugins/known_marketplaces.json").read_text())
    assert "sow" not in known


@pytest.mark.one_of("the real plugin")
def test_start_spawns_waits_and_reviews_with_the_rules_of_the_plugin_alone(
    journey: Journey,
) -> None:
    sandbox, task_id = journey.sandbox, journey.task_id
    journey.configure(settings={"allowed_tools": ["Bash"]})
    install(sandbox)
    (sandbox.repository / "work.sh").write_text(WORK)
    sandbox.behave(commands=("sh work.sh {task_id}",), leader=LEADS, orders=ORDERS)
    done = end_of(sandbox.start("claude", "-p", f"/sow:start Do task {task_id}."))
    assert done.returncode == 0, done.stdout + done.stderr
    last = [request for request in sandbox.requests() if LEADS in json.dumps(request)][-1]
    results = tool_results(last)
    assert [bool(result.get("is_error")) for result in results] == [False] * len(ORDERS), results
    assert journey.task()["status"] == "completed"
    assert sandbox.failures() == []


@pytest.mark.one_of("the real plugin")
def test_an_agent_is_refused_what_its_user_may_run_and_has_no_plugin(journey: Journey) -> None:
    """The user's own settings allow it to every session; its CLI refuses it, and sow is not run."""
    sandbox = journey.sandbox
    install(sandbox)
    sandbox.behave(
        commands=(
            "sow agent spawn tester {task_id}",
            "sow worker list",
            "sow agent log Done",
            "sow task set status needs_review",
        )
    )
    done = journey.spawn()
    assert (done.returncode, journey.task()["status"]) == (0, "needs_review"), done.stderr
    refused, *others = tool_results(sandbox.requests()[-1])
    assert refused["is_error"]
    assert "has been denied" in json.dumps(refused["content"])
    assert [bool(result.get("is_error")) for result in others] == [False, False, False]
    assert all(call["argv"][:2] != ["agent", "spawn"] for call in sandbox.witnessed())
    sent = texts(sandbox)
    assert SKILL not in sent
    assert HEADING not in sent


@pytest.mark.one_of("the real plugin")
def test_the_next_turn_is_told_what_waits(journey: Journey) -> None:
    """A session that goes on: between two of its turns an agent's task comes to want an answer."""
    sandbox, task_id = journey.sandbox, journey.task_id
    install(sandbox)
    sandbox.behave(commands=())
    assert sandbox.sow("task", "set", task_id, "status", "in_progress").returncode == 0
    with talking(sandbox) as (say, process):
        say("Hello")
        wait_until(lambda: len(sandbox.requests()) == 1, "the first turn")
        assert next_result(process)
        say("Once more")
        assert next_result(process)
        assert sandbox.sow("task", "set", task_id, "status", "paused").returncode == 0
        say("Go on")
        assert next_result(process)
    first, second, third = (json.dumps(request) for request in sandbox.requests())
    line = f"task {task_id}: asks a question"
    assert HEADING in first
    assert second.count(HEADING) == first.count(HEADING), "nothing has happened in between"
    assert line not in second
    assert line in third


@contextmanager
def talking(sandbox: Sandbox) -> Iterator[tuple[object, "Popen[str]"]]:
    """Yield a session that takes one message after another, and how one is said."""
    words = ("claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json")
    process = sandbox.namespace.start(
        (*words, "--verbose"),
        cwd=sandbox.repository,
        env=dict(sandbox.environ),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )

    def say(text: str) -> None:
        message = {"type": "user", "message": {"role": "user", "content": text}}
        assert process.stdin is not None
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    try:
        yield say, process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        end_of(process)


def next_result(process: "Popen[str]") -> bool:
    """Read on until the turn has ended, and return whether it ended well."""
    assert process.stdout is not None
    for line in process.stdout:
        if (found := json.loads(line)).get("type") == "result":
            return not found["is_error"]
    raise AssertionError("the session ended before its turn did")
