"""`sow log`: the logs of the project and of all its tasks, as one story."""

import os
import signal
import subprocess
import sys

import pytest

from sow.state.log_writing import LogEntry
from sow.state.task_log import append_entry

TASK = ".sow/project/phases/implementation/tasks/{}"


@pytest.fixture
def logged(begun, tmp_path):
    """Return the commands, in a project with four entries in three logs."""
    project = tmp_path / ".sow/project"
    rows = [
        (project, 1, "orchestrator", "planned"),
        (tmp_path / TASK.format("020"), 2, "reviewer", "looked"),
        (tmp_path / TASK.format("010"), 3, "implementer", "built"),
        (project, 4, "orchestrator", "merged"),
    ]
    for folder, second, agent, action in reversed(rows):
        append_entry(folder, LogEntry(f"2026-01-31T12:00:0{second}Z", agent, action))
    return begun


def actions(done) -> list[str]:
    return [line["action"] for line in done.lines]


def test_all_logs_are_read_in_the_order_of_time(logged):
    done = logged("log", "--json")
    assert actions(done) == ["planned", "looked", "built", "merged"]
    assert [line["task"] for line in done.lines] == [None, "020", "010", None]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_log_that_cannot_be_read_is_named_and_hides_no_other(logged, tmp_path, make):
    """Any agent may leave such a thing where its log was."""
    path = tmp_path / TASK.format("010") / "log.md"
    path.unlink()
    make(path)
    done = logged("log")
    assert (done.code, [line.split()[-1] for line in done.out.splitlines()]) == (
        4,
        ["planned", "looked", "merged"],
    )
    assert done.err.startswith(f"Error: {path} cannot be used: ")
    done = logged("log", "--json")
    assert (done.code, [line.get("action") for line in done.lines]) == (
        4,
        ["planned", "looked", "merged", None],
    )


def test_people_read_the_task_before_each_entry(logged, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    assert logged("log", "-n", "2").out == (
        "010   2026-01-31 12:00:03  implementer  built\n"
        "-     2026-01-31 12:00:04  orchestrator  merged\n"
    )


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--task", "010"), ["built"]),
        (("--agent", "orchestrator"), ["planned", "merged"]),
        (("--since", "2026-01-31T12:00:03Z"), ["built", "merged"]),
        (("--since", "2026-01-31T13:00:03+01:00"), ["built", "merged"]),
        (("--since", "5m"), []),
        (("--since", "99999d"), ["planned", "looked", "built", "merged"]),
        (("-n", "1"), ["merged"]),
    ],
)
def test_only_what_is_asked_for_is_shown(logged, options, left):
    assert actions(logged("log", "--json", *options)) == left


def test_what_sow_tells_of_a_roles_jobs_is_the_roles_too(logged, tmp_path):
    entry = LogEntry("2026-01-31T12:00:09Z", "sow", "Job 1 done", role="implementer", job=1)
    append_entry(tmp_path / TASK.format("010"), entry)
    assert actions(logged("log", "--json", "--agent", "implementer")) == ["built", "Job 1 done"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--since", "yesterday"), 2, "--since: not a length of time, and not a time: 'yesterday'"),
        (("--task", "070"), 4, "there is no task 070"),
        (("--task", "x"), 4, "not a task id: 'x'"),
    ],
)
def test_log_refuses(logged, options, code, message):
    done = logged("log", *options)
    assert (done.code, done.out, done.err.splitlines()[0]) == (code, "", f"Error: {message}")


def test_an_empty_story_says_so(begun):
    assert begun("log") == (0, "", "No log entry matches.\n")


@pytest.mark.slow
def test_who_follows_is_told_each_entry_once(logged, tmp_path):
    argv = [sys.executable, "-P", "-m", "sow", "log", "--follow", "--json", "-n", "1"]
    follower = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert '"action": "merged"' in follower.stdout.readline()
        logged("agent", "log", "more", "--task", "010")
        assert '"action": "more"' in follower.stdout.readline()
        logged("agent", "log", "even more")
        assert '"action": "even more"' in follower.stdout.readline()
    finally:
        follower.send_signal(signal.SIGINT)
        assert follower.wait(60) == 130
        follower.stdout.close()
