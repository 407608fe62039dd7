"""Whose server it is where a client has left out the variables that say so."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_server.place import SOW, Place

from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root

pytestmark = pytest.mark.slow
AGENT = {
    "SOW_JOB_ID": "7",
    "SOW_TASK_ID": "010",
    "SOW_ATTEMPT_ID": "7.1.ab",
    "SOW_AGENT": "implementer",
}
REPORTS = {"task_show", "agent_log", "review_show", "task_set"}
EVERYTHING = {tool.name for tool in tools_for(root, None, 50.0)}


def tools_below(place: Place, cwd: Path, given: dict[str, str], *kept: str) -> set[str]:
    """Return the tools of a server that a client of an agent has started with few variables.

    The shell stands for the client; it stays, for there is a command behind the server's.
    """
    few = [f"{name}={os.environ[name]}" for name in ("PATH", "HOME")] + list(kept)
    server = ["env", "-i", *few, *SOW, "mcp", "--tools", "all", "--list", "--json"]
    done = subprocess.run(
        ["/bin/sh", "-c", f"{shlex.join(server)}; exit $?"],
        cwd=cwd,
        env={**place.environ, **given},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["tool"] for line in done.stdout.splitlines()}


@pytest.fixture
def agent(place: Place) -> dict[str, str]:
    return {**AGENT, "SOW_ROOT": str(place.root)}


@pytest.mark.parametrize("kept", [(), ("SOW_TASK_ID=020",), ("SOW_PROCESSES=portable",)])
def test_the_processes_above_say_that_it_is_an_agents(
    place: Place, agent: dict[str, str], kept: tuple[str, ...]
) -> None:
    assert tools_below(place, place.root, agent, *kept) == REPORTS


def test_also_where_its_client_starts_it_outside_of_any_repository(
    place: Place, agent: dict[str, str]
) -> None:
    assert tools_below(place, place.root.parent, agent) == REPORTS


def test_a_reviewers_and_an_orchestrators_are_known_as_well(
    place: Place, agent: dict[str, str]
) -> None:
    reviewer = {**agent, "SOW_REVIEW": "1", "SOW_AGENT": "reviewer"}
    judging = tools_below(place, place.root, reviewer)
    assert {"review_accept", "review_correct"} <= judging
    assert "task_set" not in judging
    leading = tools_below(place, place.root, {**agent, "SOW_AGENT": "orchestrator"})
    assert {"agent_spawn", "batch_run"} <= leading


ASKING = """
import json, os
from pathlib import Path
from sow.cli.mcp import environment_of_caller
print(json.dumps(dict(environment_of_caller(os.environ, Path.cwd()))))
"""


def environment_below(
    place: Place, above: dict[str, str], *kept: str, without: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return what a server takes for its environment below a client with such variables."""
    few = [f"{name}={os.environ[name]}" for name in ("PATH", "HOME")] + list(kept)
    server = shlex.join(["env", "-i", *few, sys.executable, "-P", "-c", ASKING])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{server}; exit $?"],
        cwd=place.root,
        env={name: value for name, value in above.items() if name not in without},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_what_a_server_has_of_its_own_goes_before_what_is_above_it(
    place: Place, agent: dict[str, str]
) -> None:
    """A job within a job: the server is the inner one's, whoever has started that."""
    inner = ("SOW_JOB_ID=9", "SOW_TASK_ID=020", f"SOW_ROOT={place.root}")
    found = environment_below(place, agent, *inner)
    assert (found["SOW_JOB_ID"], found["SOW_TASK_ID"]) == ("9", "020")
    assert "SOW_ATTEMPT_ID" not in found


def test_a_part_of_the_variables_does_not_stand_against_those_above(
    place: Place, agent: dict[str, str]
) -> None:
    found = environment_below(place, agent, "SOW_TASK_ID=020", "SOW_AGENT=orchestrator")
    assert {name: found[name] for name in agent} == agent


def test_who_has_a_jobs_variables_and_no_attempts_is_no_agents_cli(
    place: Place, agent: dict[str, str]
) -> None:
    """A person may set them, to look at something as that job's agent would."""
    found = environment_below(place, agent, without=("SOW_ATTEMPT_ID",))
    assert "SOW_JOB_ID" not in found


def test_a_person_has_a_persons_server(place: Place) -> None:
    assert tools_below(place, place.root, {}) == EVERYTHING


def test_in_another_repository_an_agent_may_try_what_it_has_built(
    place: Place, agent: dict[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run([*SOW, "init"], cwd=other, check=True, capture_output=True, env=place.environ)
    assert tools_below(place, other, agent) == EVERYTHING


def test_the_calls_of_such_a_server_are_the_agents(place: Place, agent: dict[str, str]) -> None:
    """Its right is asked for each of them, and its task is the agent's."""
    messages = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "agent_log", "arguments": {"text": "Did it without variables"}},
        },
    ]
    few = [f"{name}={os.environ[name]}" for name in ("PATH", "HOME")]
    server = shlex.join(["env", "-i", *few, *SOW, "mcp"])
    with subprocess.Popen(
        ["/bin/sh", "-c", f"{server}; exit $?"],
        cwd=place.root,
        env={**place.environ, **agent},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.wait(timeout=240) == 0
    assert answers[1]["result"]["structuredContent"]["exit_code"] == 0
    (entry,) = place.json("task", "log", "010")
    assert (entry["action"], entry["agent"]) == ("Did it without variables", "implementer")
