"""What each frequent command may import: a start is most of what a short command costs."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import ended_job, make_job

from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus

HEAVY = frozenset(
    {
        "asyncio",
        "dataclasses",
        "huey",
        "logging",
        "msgspec",
        "multiprocessing",
        "platformdirs",
        "psutil",
        "socket",
        "sow.cli.colour",
        "sow.executors.base",
        "sow.state.tasks",
        "sqlite3",
        "subprocess",
        "tempfile",
        "worker",
        "yaml",
    }
)
"""Modules that take long to import, or draw in such as do."""

STATE = {"msgspec", "yaml", "sow.state.tasks"}
"""What reading a state file takes."""
QUEUE = {"msgspec", "sqlite3", "dataclasses"}
"""What reading the queue's records takes."""

MAY_IMPORT: dict[tuple[str, ...], set[str]] = {
    ("--version",): set(),
    ("agent", "--help"): set(),
    ("agent", "list"): {"msgspec"},
    ("agent", "log", "Did it", "--task", "010"): set(),
    ("job", "list"): QUEUE,
    ("prompt", "guidance/implementer/base"): set(),
    ("task", "list"): STATE,
    ("task", "set", "010", "name", "Another"): STATE,
    ("task", "show", "010"): STATE,
}

PROGRAM = """
import json, sys
from sow.cli.root import run
code = run(json.loads(sys.argv[1]))
parts = {name.partition(".")[0] for name in sys.modules}
ours = {name for name in sys.modules if name.startswith("sow.")}
print(json.dumps([code, sorted(parts | ours)]))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for words in (["init"], ["project", "new", "P"], ["task", "add", "T", "--agent", "tester"]):
        argv = [sys.executable, "-P", "-m", "sow", *words]
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    with closing(open_queue(Workspace(folder))) as database:
        jobs.insert_job(database, ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED))
        jobs.insert_job(database, make_job(state=JobState.QUEUED, task_id="020"))
    return folder


AGENT = {"SOW_JOB_ID": "7", "SOW_TASK_ID": "010", "SOW_AGENT": "tester"}
"""Besides SOW_ROOT: what makes a call an agent's, which is asked for its right."""


@pytest.mark.parametrize("by_agent", [False, True], ids=["by a person", "by an agent"])
@pytest.mark.parametrize("words", MAY_IMPORT, ids=" ".join)
def test_a_command_imports_no_more_than_it_needs(
    project: Path, words: tuple[str, ...], by_agent: bool
) -> None:
    mine = {**AGENT, "SOW_ROOT": str(project)} if by_agent else {}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, json.dumps(words)],
        cwd=project,
        env={**os.environ, **mine},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    assert HEAVY & set(modules) <= MAY_IMPORT[words]
