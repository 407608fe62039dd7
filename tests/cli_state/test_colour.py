"""Colour: what a state means is seen on a terminal, and nowhere else."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import NOW, ended_job, make_job
from terminal_output import all_of

from sow.cli.changes import words_of
from sow.cli.output import COLOURS, coloured
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.reports.outcome import line_of
from sow.reports.views import outcome_of
from sow.schema.change import Change, ChangeData, ChangeKind
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus
from sow.state.projects import read_project

Sow = Callable[..., Any]

ESCAPE = "\x1b["
RED, GREEN, YELLOW, CYAN = (f"{ESCAPE}{number}m" for number in (31, 32, 33, 36))
END = f"{ESCAPE}0m"
SHOWING = [
    ("task", "list"),
    ("task", "show", "010"),
    ("job", "list"),
    ("job", "show", "1"),
    ("changes",),
    ("queue", "status"),
    ("doctor",),
]


@pytest.fixture
def shown(begun: Sow, tmp_path: Path) -> Sow:
    """Return a function that runs `sow` where a job has failed and the queue is paused."""
    for status in ("in_progress", "failed"):
        assert begun("task", "set", "010", "status", status).code == 0
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        values = make_job(project_id=ProjectId(read_project(workspace).id), created_at=NOW)
        job = jobs.insert_job(database, values)
        ended = {"cause": Cause.CRASHED, "outcome_status": TaskStatus.FAILED, "ended_at": NOW}
        jobs.change_job(database, job.id, state=JobState.FAILED, **ended)
    begun("queue", "pause")
    return begun


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, shown: Sow) -> Sow:
    """Return the same, where standard output says that it is a terminal."""
    monkeypatch.setenv("TERM", "xterm")

    def call(*words: str) -> Any:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)  # it is another one in set-up
        return shown(*words)

    return call


@pytest.mark.parametrize(
    ("words", "painted"),
    [
        (("task", "list"), f"{RED}failed{END}"),
        (("task", "show", "010"), f"{RED}failed{END}"),
        (("job", "list"), f"{RED}failed{END}"),
        (("job", "show", "1"), f"{RED}failed{END}"),
        (("changes",), f"job {RED}failed{END}"),
        (("queue", "status"), f"{YELLOW}paused{END} since"),
        (("doctor",), f"{YELLOW}⚠ Warning: {END}The queue has been paused"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_state_has_its_colour_on_a_terminal(
    terminal: Sow, words: tuple[str, ...], painted: str
) -> None:
    assert painted in terminal(*words).out


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_a_pipe_gets_none(shown: Sow, words: tuple[str, ...]) -> None:
    assert ESCAPE not in shown(*words).out


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
def test_json_gets_none_on_a_terminal_either(terminal: Sow, words: tuple[str, ...]) -> None:
    assert ESCAPE not in terminal(*words, "--json").out


@pytest.mark.parametrize(
    ("name", "value"), [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb"), ("TERM", "")]
)
def test_it_can_be_switched_off(
    terminal: Sow, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    for words in SHOWING:
        assert ESCAPE not in terminal(*words).out


def test_an_empty_no_color_switches_nothing_off(
    terminal: Sow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert ESCAPE in terminal("task", "list").out


def test_columns_stand_where_they_stand_without(
    terminal: Sow, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("task", "list"), ("job", "list")):
        monkeypatch.delenv("NO_COLOR", raising=False)
        painted = re.sub(r"\x1b\[\d+m", "", terminal(*words).out)
        monkeypatch.setenv("NO_COLOR", "1")
        plain = terminal(*words).out
        name = "NAME" if words[0] == "task" else "TOOK"
        for before, after in zip(plain.splitlines(), painted.splitlines(), strict=True):
            column = plain.splitlines()[0].index(name)
            assert before[column:] == after[column:]


def test_words_of_every_table_are_words_that_sow_prints() -> None:
    known = {*TaskStatus, *JobState, "error", "warning"}
    assert set(COLOURS) <= {str(word) for word in known}
    assert coloured("needs_review") == f"{YELLOW}needs_review{END}"
    assert coloured("completed") == f"{GREEN}completed{END}"
    assert coloured("running") == f"{CYAN}running{END}"
    assert coloured("pending") == "pending"


def test_an_outcomes_word_alone_is_painted() -> None:
    done = ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED)
    line = line_of(outcome_of(done, ()), now=NOW, paint=coloured)
    assert line.startswith(f"010 {YELLOW}paused{END} (spawn implementer")
    assert line.count(ESCAPE) == 2


def test_a_status_in_the_record_of_changes_is_painted() -> None:
    change = Change(
        seq=1,
        at=NOW,
        project="p",
        task="010",
        kind=ChangeKind.STATUS,
        data=ChangeData(status="completed", before="paused"),
    )
    assert words_of(change, coloured) == f"status paused → {GREEN}completed{END}"


@pytest.mark.slow
def test_a_true_terminal_shows_it(shown: Sow, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-P", "-m", "sow", "task", "list"]
    environ = {**os.environ, "TERM": "xterm"}
    subprocess.run(argv, cwd=tmp_path, env=environ, stdout=theirs, check=True)
    os.close(theirs)
    assert f"{RED}failed{END}".encode() in all_of(ours)
