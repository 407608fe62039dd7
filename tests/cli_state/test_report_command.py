"""`sow report` of a project that has ended says what it said before its end."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_state.conftest import Done
from timeline.made_record import PROJECT, make_record

from sow.jobs.database import open_queue
from sow.jobs.end_entries import log_ends

Sow = Callable[..., Done]
OF_THE_MOMENT = ("made_at",)


@pytest.fixture
def recorded(tmp_path: Path, sow: Sow) -> Path:
    """A project of seven tasks with its whole record, which is completed."""
    workspace = make_record(tmp_path, 7)
    text = workspace.project_state.read_text()
    workspace.project_state.write_text(f"{text.rstrip()}\n  state: completed\n")
    with closing(open_queue(workspace)) as database:
        log_ends(workspace, database)
        database.run(  # a job about the project as a whole
            "insert into job (project_id, task_id, phase, verb, agent, executor_name, executor,"
            " prompt, cwd, path_variable, config_file, fresh, priority, state, reason, retry_at,"
            " retries, worker_deaths, settled, corrections, warnings, denied_tools, created_at,"
            " queued_at, ended_at) select project_id, '', '', 'check', '', '', executor, '', cwd,"
            " '', '', 0, 0, 'done', '', 0, 0, 0, 1, '[]', '[]', '[]', created_at, created_at + 1,"
            " created_at + 2 from job where id = 1"
        )
    return tmp_path


def report_of(sow: Sow, *words: str) -> dict[str, Any]:
    done = sow("report", *words, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return {key: value for key, value in found.items() if key not in OF_THE_MOMENT}


@pytest.mark.parametrize("words", [(), ("--batch", "nightly")], ids=["project", "batch"])
def test_a_finished_project_is_told_of_as_before(
    recorded: Path, sow: Sow, words: tuple[str, ...]
) -> None:
    before = report_of(sow, *words)
    assert before["totals"]["by_status"] == {"completed": 7}
    finished = sow("project", "finish")
    assert finished.code == 0, finished.err
    assert not (recorded / ".sow/project").exists()
    after = report_of(sow, *words)
    for each, other in zip(before.pop("tasks"), after.pop("tasks"), strict=True):
        assert other == each
    assert after == before
    assert "Tasks     7: 7 completed" in sow("report", *words).out


@pytest.mark.slow
def test_the_project_as_a_whole_is_no_task(recorded: Path, sow: Sow) -> None:
    found = report_of(sow)
    assert "" in {task["task"] for task in found["tasks"]}
    assert (found["totals"]["task_count"], found["totals"]["by_status"]) == (7, {"completed": 7})
    assert "unknown" not in sow("report").out
    sow("report", "--html", "page.html")
    page = (recorded / "page.html").read_text()
    assert "7 of 7" in page
    assert ">unknown<" not in page


def test_a_project_that_ended_without_jobs_is_told_of(tmp_path: Path, sow: Sow) -> None:
    sow("init")
    sow("project", "new", "Small")
    sow("task", "add", "Nothing ran", "--agent", "implementer")
    sow("project", "abandon")
    found = report_of(sow)
    assert (found["name"], found["totals"]["task_count"]) == ("Small", 1)
    assert found["project"] != PROJECT
