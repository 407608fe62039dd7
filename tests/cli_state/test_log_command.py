"""`sow agent log` and `sow agent task state set-status`, as agents call them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sow.state.task_log import read_entries

TASKS = Path(".sow/project/phases/implementation/tasks")


def log_of(tmp_path, task_id="010"):
    return read_entries(tmp_path / TASKS / task_id / "log.md")


def test_an_agent_logs_to_its_task(begun, tmp_path, monkeypatch):
    monkeypatch.setenv("SOW_TASK_ID", "010")
    monkeypatch.setenv("SOW_AGENT", "implementer")
    done = begun(
        "agent", "log", "Added the route: /login", "--result", "success", "--file", "src/a.py",
        "--file", "src/b c.py", "--body", "More.\n---\nStill.",
    )  # fmt: skip
    assert done == (0, "", "")
    (entry,) = log_of(tmp_path)
    assert entry[1:6] == (
        "implementer",
        "Added the route: /login",
        "success",
        ("src/a.py", "src/b c.py"),
        "More.\n ---\nStill.",
    )
    assert entry.timestamp.endswith("Z")
    assert (entry.job, entry.attempt, entry.event) == (None, None, "")


def test_an_entry_names_the_job_and_the_attempt_that_it_is_logged_in(begun, tmp_path, monkeypatch):
    for name, value in {
        "SOW_ROOT": str(tmp_path), "SOW_TASK_ID": "010", "SOW_AGENT": "implementer",
        "SOW_JOB_ID": "12", "SOW_ATTEMPT_ID": "12.3.abcdef",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert begun("agent", "log", "Looked").code == 0
    assert begun("task", "set", "status", "in_progress").code == 0
    entry, status = log_of(tmp_path)
    assert (entry.agent, entry.job, entry.attempt) == ("implementer", 12, 3)
    assert status.action == "Status: pending to in_progress"
    assert status[6:10] == ("", 12, 3, "status")


def test_a_log_does_not_grow_until_nobody_can_read_it(begun, tmp_path, monkeypatch):
    monkeypatch.setenv("SOW_TASK_ID", "010")
    assert begun("agent", "log", "Looked").code == 0
    log = tmp_path / TASKS / "010/log.md"
    os.truncate(log, 32 << 20)
    refused = begun("agent", "log", "Again")
    assert refused.code == 4
    assert "has more than 32 MiB: nothing more is logged there" in refused.err
    assert begun("task", "set", "status", "in_progress").code == 0
    assert log_of(tmp_path)[-1].event == "status"


def test_a_change_of_status_is_logged_with_who_made_it(begun, tmp_path):
    begun("task", "set", "010", "status", "in_progress")
    begun("task", "set", "010", "status", "in_progress")
    begun("task", "set", "010", "name", "Another")
    begun("task", "set", "010", "status", "completed")
    begun("task", "reopen", "010")
    assert [(entry.agent, entry.action, entry.event) for entry in log_of(tmp_path)] == [
        ("orchestrator", "Status: pending to in_progress", "status"),
        ("orchestrator", "Status: in_progress to completed", "status"),
        ("orchestrator", "Status: completed to pending", "status"),
    ]


def test_a_status_stands_also_where_its_log_takes_no_entry(begun, tmp_path):
    log = next(tmp_path.glob(".sow/project/phases/*/tasks/010")) / "log.md"
    log.unlink()
    log.symlink_to(tmp_path / "nowhere")
    assert begun("task", "set", "010", "status", "in_progress").code == 0
    assert begun("task", "show", "010", "--json").json["status"] == "in_progress"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("option", ["--task", "--id"])
def test_a_named_task_wins_over_the_variable(begun, tmp_path, monkeypatch, option):
    monkeypatch.setenv("SOW_TASK_ID", "010")
    done = begun("agent", "log", "Looked", option, "020", "--agent", "me", "--json")
    assert done.json == {"path": f"{TASKS}/020/log.md", "task": "020"}
    assert log_of(tmp_path) == []
    assert log_of(tmp_path, "020")[0].agent == "me"


def test_with_no_task_it_writes_to_the_project_and_says_so(begun, tmp_path):
    done = begun("agent", "log", "Planned it")
    assert done.out == "No task is named: written to the project's log, .sow/project/log.md\n"
    (entry,) = read_entries(tmp_path / ".sow/project/log.md")
    assert (entry.agent, entry.action) == ("orchestrator", "Planned it")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("x", "--task", "070"), 4, "there is no task 070"),
        (("x", "--task", "../010"), 4, "not a task id"),
        ((" ",), 2, "there is nothing to log"),
        ((), 2, "missing argument 'TEXT'"),
    ],
)
def test_log_refuses(begun, words, code, message):
    done = begun("agent", "log", *words)
    assert done.code == code
    assert done.err.startswith(f"Error: {message}")


@pytest.mark.parametrize("target", ["theirs", "nowhere"])
def test_nothing_is_logged_through_a_link(begun, tmp_path, target):
    """A repository may bring one along that leads to a file which a shell runs."""
    (tmp_path / "theirs").write_text("alias ll='ls -l'\n")
    log = next(tmp_path.glob(".sow/project/phases/*/tasks/010")) / "log.md"
    log.unlink(missing_ok=True)
    log.symlink_to(tmp_path / target)
    refused = begun("agent", "log", "--task", "010", "$(touch here)")
    assert refused.code == 4
    assert f"{log} cannot be used: it is a symbolic link, and sow does not write" in refused.err
    assert (tmp_path / "theirs").read_text() == "alias ll='ls -l'\n"
    assert not (tmp_path / "nowhere").exists()


def test_log_without_a_project(sow):
    sow("init")
    assert sow("agent", "log", "x").err.startswith("Error: there is no project in")


def test_set_status_uses_the_agents_own_task(begun, monkeypatch):
    begun("task", "set", "010", "status", "in_progress")
    monkeypatch.setenv("SOW_TASK_ID", "010")
    done = begun("agent", "task", "state", "set-status", "needs_review")
    assert done == (0, "Task 010: status is needs_review\n", "")
    assert begun("agent", "task", "state", "set-status", "pending").code == 4


def test_log_imports_next_to_nothing(begun, tmp_path):
    """An agent logs all the time: neither YAML nor msgspec nor the queue is imported for it."""
    code = (
        "import sys; from sow.cli.root import run\n"
        "assert run(['agent', 'log', 'hello', '--task', '010']) == 0\n"
        "heavy = {'yaml', 'ruamel', 'msgspec', 'rich', 'huey', 'sqlite3', 'json', 'psutil',\n"
        "         'subprocess', 'asyncio', 'difflib', 'shutil', 'sow.config', 'sow.jobs'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout == "[]\n"
    assert log_of(tmp_path)[0].action == "hello"


@pytest.mark.slow
def test_reading_a_task_imports_no_more_than_it_needs(begun):
    code = (
        "import sys; from sow.cli.root import run\n"
        "assert run(['task', 'show', '010']) == 0\n"
        "heavy = {'ruamel', 'rich', 'huey', 'sqlite3', 'psutil', 'subprocess', 'asyncio', 'json',\n"
        "         'difflib', 'shutil', 'sow.config', 'sow.jobs', 'sow.agents'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
