"""The real Claude Code with sow's commands as tools, and no shell: it leads, and it reports."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from journey import Journey, tool_results
from repository.markdown import REPOSITORY
from sandbox import PROGRAMS, Json, Sandbox, end_of, wait_until

pytestmark = pytest.mark.real

LEADER = "You lead by tools alone"
WORK = """
if [ -z "$SOW_REVIEW" ]; then
  until [ -e "$HOME/go" ]; do sleep 0.1; done
  echo line >> work.txt
  sow agent log Done && sow task set status needs_review
elif [ $(wc -l < work.txt) = 1 ]; then
  echo 'Say it twice.' > findings.md
  sow review correct "$1" --file findings.md
else
  sow review accept "$1" --summary 'It does what was asked.'
fi
"""
"""What the author and the reviewer run, from a file: the first work goes back.

The author waits for a file, so that the leader's first wait ends before it.
"""


def tool(name: str, **arguments: Any) -> str:
    """Return the use of a tool of sow, as the scripted model writes it."""
    return f"!mcp__sow__{name} {json.dumps(arguments)}"


WAITING = {"MCP_CONNECTION_NONBLOCKING": "false"}
"""Has Claude Code wait for its servers: else its first request may offer none of their tools on a
busy machine (measured with 2.1.330)."""
TASK = "{task_id}"
ORDERS = (
    tool("status"),
    tool("agent_spawn", agent="implementer", tasks=[TASK], detach=True),
    tool("agent_wait", tasks=[TASK], wait="0.1s"),
    tool("agent_wait", tasks=[TASK]),
    tool("agent_review", tasks=[TASK]),
    tool("review_show", task=TASK),
    tool("agent_resume", task=TASK, feedback=True),
    tool("agent_review", tasks=[TASK]),
    tool("task_set", tasks=[TASK], field="status", value="completed"),
    tool("next"),
)


def write_config(sandbox: Sandbox, *before: str) -> Path:
    """Write the file that names `sow mcp` as a server; its calls may take as long as a journey.

    `before` are words of a program that starts it.
    """
    file = sandbox.home / "mcp.json"
    command, *words = (*before, str(PROGRAMS / "sow"), "mcp", "--wait", "100s")
    server = {"command": command, "args": words}
    file.write_text(json.dumps({"mcpServers": {"sow": server}}))
    return file


def answers_so_far(sandbox: Sandbox) -> list[Json]:
    """Return what the tools of sow have answered the leader, oldest first."""
    asked = [request for request in sandbox.requests() if LEADER in json.dumps(request)]
    found = []
    for result in tool_results(asked[-1]) if asked else []:
        content = result["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        assert text.startswith("{"), f"no answer of sow: {text}"
        found.append(json.loads(text))
    return found


def test_it_spawns_waits_and_reviews_by_tools_alone(journey: Journey) -> None:
    sandbox, task_id = journey.sandbox, journey.task_id
    journey.configure(settings={"allowed_tools": ["Bash"]})
    (sandbox.home / "work.sh").write_text(WORK)
    sandbox.behave(commands=('sh "$HOME/work.sh" {task_id}',), leader=LEADER, orders=ORDERS)
    config = ("--mcp-config", str(write_config(sandbox)), "--strict-mcp-config")
    words = ("claude", "-p", *config, "--allowedTools", "mcp__sow")
    leader = sandbox.start(*words, stdin=f"{LEADER}. Do task {task_id}.", environ=WAITING)
    try:
        wait_until(lambda: len(answers_so_far(sandbox)) >= 3, "the wait whose time is up")
    finally:
        (sandbox.home / "go").touch()  # whatever has failed, nobody waits for it any longer
    done = end_of(leader)
    assert done.returncode == 0, done.stdout + done.stderr
    status, queued, early, spawned, sent_back, verdict, resumed, accepted, completed, after = (
        answers_so_far(sandbox)
    )
    assert status["results"][0]["name"] == "trial"
    assert queued["results"][0]["state"] in ("queued", "running")
    assert early["exit_code"] == 75
    assert early["continue_with"] == {"tool": "agent_wait", "arguments": {"tasks": [task_id]}}
    assert spawned["results"][0]["status"] == "needs_review"
    assert sent_back["results"][0]["verdict"] == "corrections"
    assert verdict["results"][0]["feedback"][0]["status"] == "open"
    assert resumed["results"][0]["status"] == "needs_review"
    assert accepted["results"][0]["verdict"] == "accepted"
    assert completed["results"][0]["status"] == "completed"
    assert after["exit_code"] == 0
    assert journey.task()["status"] == "completed"
    leaders = [call for call in sandbox.witnessed() if not call["role"]]
    assert leaders == [], "it had no shell"
    assert sandbox.failures() == []


def test_the_line_of_the_page_has_it_started(sandbox: Sandbox) -> None:
    page = (REPOSITORY / "docs/mcp.md").read_text("utf-8")
    (line,) = re.findall("^claude mcp add .*$", page, re.MULTILINE)
    added = sandbox.run(*shlex.split(line))
    assert added.returncode == 0, added.stdout + added.stderr
    listed = sandbox.run("claude", "mcp", "list")
    assert re.search("^sow: sow mcp - .*Connected$", listed.stdout, re.MULTILINE), listed.stdout


WITHOUT_OURS = ("env", "--unset=SOW_JOB_ID", "--unset=SOW_ROOT", "--unset=SOW_TASK_ID")


@pytest.mark.one_of
@pytest.mark.parametrize("before", [(), WITHOUT_OURS], ids=["handed on", "left out"])
def test_an_agent_reports_by_tools_of_its_own(journey: Journey, before: tuple[str, ...]) -> None:
    """Its server knows the job by the variables that Claude Code hands on, or has itself."""
    sandbox, task_id = journey.sandbox, journey.task_id
    words = ["--mcp-config", str(write_config(sandbox, *before)), "--strict-mcp-config"]
    journey.configure(settings={"allowed_tools": ["mcp__sow"]}, custom_args=words)
    sandbox.behave(
        commands=(
            tool("task_show"),
            tool("agent_log", text="Did it by a tool"),
            tool("agent_spawn", agent="tester", tasks=[task_id]),
            tool("task_set", field="name", value="Another"),
            tool("task_set", field="status", value="needs_review"),
        )
    )
    done = journey.spawn()
    assert (done.returncode, "needs_review" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "Did it by a tool" in journey.log()
    results = tool_results(sandbox.requests()[-1])
    assert [bool(result.get("is_error")) for result in results] == [False, False, True, True, False]
    assert "No such tool" in json.dumps(results[2])
    assert "is one of status, feedback, files_modified" in json.dumps(results[3])
    assert journey.task()["name"] == "Try it"
    assert sandbox.witnessed() == [], "it had no shell"
