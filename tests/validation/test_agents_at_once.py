"""Twenty agents that write at once, each a process, lose nothing, and all is clean meanwhile."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from validation.agents_at_work import STEPS
from validation.looking import defects_of

from sow.paths import Workspace
from sow.state.all_logs import Wanted, read_logs
from sow.state.project_feedback import feedback_of, words_of
from sow.state.projects import read_project
from sow.state.tasks import add_task, list_tasks, read_task

AGENTS = 20
DEADLINE_SECONDS = 240.0
MOMENT_SECONDS = 0.1
NOON = 1_769_860_800.0


@pytest.mark.slow
def test_twenty_agents_lose_nothing(workspace: Workspace, environment: dict[str, str]) -> None:
    for number in range(AGENTS):
        add_task(workspace, name=f"T{number}", agent="tester", now=NOON, task_id=f"{number:02d}0")
        (workspace.root / f"given-{number}.md").write_text(f"Words of {number}\n")
    add_task(workspace, name="Shared", agent="tester", now=NOON, task_id="990")
    agents = [start(workspace, number, environment) for number in range(AGENTS)]
    looks = 0
    deadline = time.monotonic() + DEADLINE_SECONDS
    for agent in agents:
        while is_at_work(agent) and time.monotonic() < deadline:
            assert defects_of(workspace) == []
            looks += 1
    for agent in agents:
        _, complaint = agent.communicate()
        assert agent.returncode == 0, complaint
    assert looks > 1
    assert defects_of(workspace) == []
    assert_nothing_is_lost(workspace)


def start(workspace: Workspace, number: int, environment: dict[str, str]) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("agents_at_work.py")
    return subprocess.Popen(
        [sys.executable, "-P", str(program), str(number)],
        cwd=workspace.root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_at_work(agent: subprocess.Popen[str]) -> bool:
    """Whether an agent has not ended, nor does so within a moment."""
    try:
        agent.wait(MOMENT_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def assert_nothing_is_lost(workspace: Workspace) -> None:
    steps = [
        (None if task is None else str(task), entry.agent, entry.action)
        for task, entry in read_logs(workspace, Wanted(), pytest.fail)
        if entry.action.startswith("step ")
    ]
    assert Counter(steps) == Counter(
        (task, f"agent-{number}", f"step {step}")
        for number in range(AGENTS)
        for step in range(STEPS)
        for task in (None, f"{number:02d}0")
    )
    project = read_project(workspace)
    words = [words_of(workspace, note) for note in feedback_of(project)]
    assert sorted(words) == sorted(
        f"Feedback {number} {step}" for number in range(AGENTS) for step in range(STEPS)
    )
    assert sorted(found.path for found in project.inputs) == sorted(
        f"given-{number}.md" for number in range(AGENTS)
    )
    shared = read_task(workspace, "990").metadata
    assert shared.pop("count") == AGENTS
    assert len(shared) == AGENTS * STEPS
    tasks = list_tasks(workspace)
    assert len(tasks) == 2 * AGENTS + 1
    for number in range(AGENTS):
        task = read_task(workspace, f"{number:02d}0")
        assert task.status.value == "needs_review"
        (feedback,) = task.feedback
        folder = workspace.root / ".sow/project/phases/implementation/tasks" / task.id
        assert (folder / "feedback" / feedback["file"]).read_text() == f"Words of {number}\n"
