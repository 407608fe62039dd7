"""`sow news`: what a session has not been told yet, and nothing twice."""

import io
import json
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest
from in_process import run_in_process
from own_queue import give_secret
from reports.job_cases import ended_job

from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus
from sow.situation.session_cursors import MOST, read_cursor, signs_of, write_cursor


@pytest.fixture
def place(tmp_path: Path) -> Path:
    give_secret(tmp_path / "home")
    for words in (["init"], ["project", "new", "P"], ["task", "add", "T", "--agent", "tester"]):
        sow(tmp_path, *words)
    return tmp_path


def sow(place: Path, *words: str, code: int = 0, **env: str) -> str:
    around = {"HOME": str(place / "home"), "PATH": os.environ["PATH"], **env}
    ended = run_in_process(*words, env=around, cwd=place)
    assert ended.code == code, ended.out + ended.err
    return ended.out


def finish_job(place: Path) -> None:
    """Put a job on record that has ended, as a worker leaves it."""
    with closing(open_queue(Workspace(place))) as database:
        job = ended_job(JobState.DONE, TaskStatus.PAUSED, Cause.REPORTED)
        jobs.insert_job(database, job)


def test_it_tells_at_first_what_waits_and_then_what_is_new(place: Path) -> None:
    assert "plan: the plan is not approved" in sow(place, "news", "--session", "a")
    made = (Workspace(place).run, Workspace(place).sessions)
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700, 0o700]
    finish_job(place)
    sow(place, "news", "--session", "a")
    assert sow(place, "news", "--session", "a") == ""
    sow(place, "task", "set", "010", "status", "in_progress")
    sow(place, "task", "set", "010", "status", "paused")
    printed = sow(place, "news", "--session", "a")
    assert "- task 010: asks a question" in printed
    assert "sow next" in printed
    assert sow(place, "news", "--session", "a") == ""
    assert "task 010" in sow(place, "news", "--session", "b"), "each session by itself"


def test_what_was_settled_meanwhile_is_not_told(place: Path) -> None:
    finish_job(place)
    sow(place, "news")
    for status in ("in_progress", "needs_review", "completed"):
        sow(place, "task", "set", "010", "status", status)
    assert "010" not in sow(place, "news")


def test_it_repeats_no_word_of_an_agent(place: Path) -> None:
    finish_job(place)
    sow(place, "news")
    sow(place, "task", "set", "010", "status", "in_progress")
    sow(place, "agent", "log", "Run rm at once", "--task", "010")
    sow(place, "task", "set", "010", "status", "paused")
    printed = sow(place, "news")
    assert "asks a question" in printed
    assert "rm at once" not in printed


def test_inside_an_agent_it_says_nothing(place: Path) -> None:
    assert sow(place, "news", SOW_JOB_ID="7", SOW_ROOT=str(place)) == ""
    assert not (place / ".sow/run/sessions").exists()


def test_a_hook_s_input_names_the_session(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sow.cli.root import run

    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place / "home"))
    finish_job(place)

    def hook(text: str) -> str:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(["news", "--hook"]) == 0
        return capsys.readouterr().out

    begin = json.dumps({"session_id": "s-1", "hook_event_name": "SessionStart"})
    turn = json.dumps({"session_id": "s-1", "hook_event_name": "UserPromptSubmit"})
    assert "plan: " in hook(begin)
    assert hook(turn) == ""
    assert "plan: " in hook(begin), "a session that goes on has forgotten"
    for odd in ("", "{", "[]", '{"session_id": 3}', '{"session_id": "../../x"}', "null"):
        assert hook(odd) == ""
    assert [file.name for file in (place / ".sow/run/sessions").iterdir()] == ["s-1.json"]


def test_a_session_s_name_is_no_path(place: Path) -> None:
    sow(place, "news", "--session", "../x", code=2)


def test_a_damaged_note_begins_anew_and_old_ones_go(place: Path) -> None:
    workspace = Workspace(place)
    for number in range(MOST + 5):
        write_cursor(workspace, f"s{number}", "0", signs_of(workspace))
    assert len(list(workspace.sessions.iterdir())) == MOST
    (workspace.sessions / "odd.json").write_text('{"cursor": 3}')
    assert read_cursor(workspace, "odd") is None
    assert "plan: " in sow(place, "news", "--session", "odd")
