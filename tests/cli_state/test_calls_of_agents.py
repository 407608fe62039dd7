"""What an agent changes and what it only reads, through the true commands."""

import os

import pytest

from sow.agents.rights import calling_agent

OWN = [
    ("task", "set", "status", "needs_review"),
    ("task", "set", "010", "name", "Mine"),
    ("task", "set", "--id", "010", "name", "Mine"),
    ("task", "abandon"),
    ("agent", "log", "Did it"),
    ("agent", "log", "Did it", "--task", "010"),
    ("agent", "task", "state", "set-status", "paused"),
    ("task", "show", "020"),
    ("task", "list"),
    ("project", "status"),
    ("prompt", "guidance/implementer/base"),
]
OTHERS = [
    ("task", "set", "020", "status", "completed"),
    ("task", "set", "--id", "020", "status", "completed"),
    ("task", "abandon", "020"),
    ("task", "abandon", "--id", "020"),
    ("task", "reopen", "020"),
    ("agent", "log", "Did it", "--task", "020"),
    ("agent", "log", "Did it", "--id", "020"),
    ("agent", "task", "state", "set-status", "paused", "--id", "020"),
]
NOBODYS = [
    ("task", "add", "More", "--agent", "tester"),
    ("project", "new", "Another"),
    ("agent", "spawn", "020"),
    ("agent", "resume", "020", "Go on."),
    ("agent", "cancel", "020"),
    ("job", "cancel", "1"),
    ("queue", "pause"),
    ("worker", "stop"),
    ("worker",),
    ("config", "reset", "--yes"),
]


def files(folder):
    """Return what stands in every file of the project."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in found}


@pytest.mark.parametrize("words", OWN, ids=" ".join)
def test_an_agent_changes_its_own_task_and_reads_the_others(begun, as_agent, words):
    begun("task", "set", "010", "status", "in_progress")
    as_agent("010")
    done = begun(*words)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_an_agent_changes_no_other_task(begun, as_agent, tmp_path, words):
    before = files(tmp_path)
    as_agent("010")
    done = begun(*words)
    assert done.code == 4
    assert "is for your own task, 010, and names task 020" in done.err
    assert files(tmp_path) == before
    as_agent("010", role="orchestrator")
    assert "is for your own task" not in begun(*words).err


@pytest.mark.parametrize("words", NOBODYS, ids=" ".join)
def test_what_is_not_an_agents_at_all(begun, as_agent, tmp_path, words):
    before = files(tmp_path)
    as_agent("010")
    done = begun(*words)
    assert done.code == 4
    assert "is not for the agent of task 010 (implementer)" in done.err
    assert 'sow agent log "…"' in done.err
    assert files(tmp_path) == before


def test_a_planner_adds_tasks_and_changes_none(begun, as_agent):
    as_agent("010", role="planner")
    assert begun("task", "add", "More", "--agent", "tester").code == 0
    assert begun("task", "set", "030", "name", "Less").code == 4
    assert begun("agent", "spawn", "030").code == 4


def test_help_is_for_everybody(begun, as_agent):
    as_agent("010")
    assert "--end-agents" in begun("worker", "stop", "--help").out


def test_a_person_may_do_everything(begun, monkeypatch):
    monkeypatch.setenv("SOW_TASK_ID", "010")
    assert begun("task", "set", "020", "name", "Mine").code == 0
    assert begun("task", "add", "More", "--agent", "tester").code == 0


@pytest.mark.parametrize(
    ("environ", "is_agent"),
    [
        ({"SOW_JOB_ID": "7", "SOW_ROOT": "/r", "SOW_TASK_ID": "010", "SOW_AGENT": "tester"}, True),
        ({"SOW_JOB_ID": "7", "SOW_ROOT": "/r"}, True),
        ({"SOW_JOB_ID": "7"}, False),
        ({"SOW_JOB_ID": "", "SOW_ROOT": "/r"}, False),
        ({"SOW_ROOT": "/r", "SOW_TASK_ID": "010", "SOW_AGENT": "tester"}, False),
    ],
)
def test_who_is_an_agent(environ, is_agent):
    """SOW_JOB_ID without SOW_ROOT is an agent that has left its checkout: nobody's here."""
    agent = calling_agent(environ)
    assert (agent is not None) is is_agent
    assert calling_agent(dict(os.environ)) is None
