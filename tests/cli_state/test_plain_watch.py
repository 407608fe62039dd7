"""`sow watch` in lines, in a process: from where it tells, how long, and how it goes on."""

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from in_process import Ended, run_in_process
from reports.job_cases import NOW, make_job

from sow.calls.caller import Caller
from sow.cli import watch
from sow.ids import JobId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.job import JobState
from sow.state.workspace_init import init_workspace

QUIET = {
    name: text
    for name, text in os.environ.items()
    if not name.startswith(("SOW_", "CLAUDE", "HOME", "XDG"))
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    return Workspace(tmp_path)


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    with closing(open_queue(workspace)) as opened:
        yield opened


def run(workspace: Workspace, *words: str, **env: str) -> Ended:
    return run_in_process("watch", *words, env={**QUIET, **env}, cwd=workspace.root)


def test_all_of_a_queue_that_is_made_later_is_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        if waited:
            raise KeyboardInterrupt
        waited.append(seconds)
        with closing(open_queue(workspace)) as database:
            jobs.insert_job(database, make_job())

    monkeypatch.setattr(watch, "wait_for_more", wait)
    with pytest.raises(KeyboardInterrupt):
        watch.watch_in_lines(Caller(workspace, {}, workspace.root), None, None)
    out, err = capsys.readouterr()
    assert out.endswith("  010   implementer is queued for claude-code (job 1)\n")
    assert err.startswith("Nothing was queued here yet")


def test_when_its_time_is_up_it_names_the_command_that_goes_on_and_misses_nothing(
    workspace: Workspace, database: Database
) -> None:
    jobs.insert_job(database, make_job(state=JobState.QUEUED))
    first = run(workspace, "--wait", "0s")
    stands, goes_on = first.out.splitlines()
    assert first.code == 75
    assert "010   implementer queued: no worker runs" in stands
    sow, watch, *words = shlex.split(goes_on)
    assert (sow, watch, words[0], words[1], words[3:]) == (
        *("sow", "watch", "--plain", "--since"),
        ["--wait", "0s"],
    )

    jobs.insert_job(database, make_job(task_id=TaskId("020")))
    second = run(workspace, *words)
    placed, again = second.out.splitlines()
    assert second.code == 75
    assert placed.endswith("  020   implementer is queued for claude-code (job 2)")

    jobs.change_job(database, JobId(1), state=JobState.FAILED, reason="no")
    jobs.change_job(database, JobId(2), state=JobState.CANCELLED, ended_at=NOW)
    third = run(workspace, *shlex.split(again)[2:])
    failed, cancelled, _ = third.out.splitlines()
    assert third.code == 0
    assert failed.endswith("implementer (job 1): job failed: no")
    assert cancelled.endswith("implementer (job 2): job cancelled")


def test_from_the_beginning_all_is_told_also_where_there_was_no_queue(
    workspace: Workspace,
) -> None:
    none = run(workspace, SOW_WAIT="0s")
    assert (none.code, none.out) == (0, "sow watch --plain --since 0\n")
    with closing(open_queue(workspace)) as database:
        jobs.insert_job(database, make_job())
    watched = run(workspace, "--since", "0", SOW_WAIT="0s")
    assert "implementer is queued for claude-code (job 1)" in watched.out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--since", "x"), "not a cursor: 'x'"),
        (("--wait", "soon"), "not a length of time: 'soon'"),
        (("--since", "0", "--json"), "--since is for people"),
        (("--wait", "1s", "--json"), "--wait is for people"),
    ],
)
def test_what_it_cannot_read_is_refused(
    workspace: Workspace, words: tuple[str, ...], error: str
) -> None:
    done = run(workspace, *words)
    assert done.code == 2
    assert error in done.out + done.err


@pytest.mark.parametrize(
    ("env", "wait", "seconds"),
    [
        ({}, None, None),
        ({}, "9m", 540.0),
        ({"CLAUDECODE": "1"}, None, 110.0),
        ({"CLAUDECODE": "1"}, "9m", 540.0),
        ({"SOW_WAIT": "5s", "CLAUDECODE": "1"}, None, 5.0),
        ({"SOW_JOB_ID": "7", "SOW_ROOT": "{root}"}, None, 60.0),
        ({"SOW_JOB_ID": "7", "SOW_ROOT": "{root}", "CLAUDECODE": "1"}, None, 110.0),
        ({"SOW_JOB_ID": "7", "SOW_ROOT": "/another"}, None, None),
    ],
)
def test_how_long_it_goes_on(
    workspace: Workspace, env: dict[str, str], wait: str | None, seconds: float | None
) -> None:
    known = {name: text.replace("{root}", str(workspace.root)) for name, text in env.items()}
    assert watch._bound(Caller(workspace, known, workspace.root), wait) == seconds


def test_a_request_that_fails_already_is_told_once(
    workspace: Workspace, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FOLLOW_SECONDS", 0.01)
    job = jobs.insert_job(database, make_job(state=JobState.RUNNING, started_at=NOW))
    output = workspace.attempt(job.id, 1).output
    output.parent.mkdir(parents=True)
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 429}
    output.write_text(json.dumps({**retry, "error": "x"}) + "\n")
    stands, *more = run(workspace, "--plain", "--wait", "50ms").out.splitlines()
    assert "request failed (429)" in stands
    assert [line for line in more if "failed" in line] == []
