"""`sow job list`: how far it goes, and that it says so."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reports.job_cases import NOW, ended_job, make_job

from sow.cli.job_record import duration_text
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Cause, JobState
from sow.schema.task import TaskStatus
from sow.state.projects import read_project

Sow = Callable[..., Any]

CUT = "Note: there are more than these 2 jobs; --limit shows more.\n"


@pytest.fixture
def three(begun: Sow, tmp_path: Path) -> Sow:
    """Return a function that runs `sow` where three jobs are on record, two of them of task 010."""
    workspace = Workspace(tmp_path)
    with closing(open_queue(workspace)) as database:
        project = ProjectId(read_project(workspace).id)
        for task_id in ("010", "020", "010"):
            job = ended_job(JobState.DONE, TaskStatus.NEEDS_REVIEW, Cause.REPORTED)
            fields = {name: getattr(job, name) for name in job.__struct_fields__}
            fields |= {"project_id": project, "task_id": task_id}
            jobs.insert_job(database, type(job)(**fields))
    return begun


def test_where_it_stops_it_says_so(three: Sow) -> None:
    listed = three("job", "list", "-n", "2")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["JOB", "3", "2"]
    assert listed.err == CUT


def test_programs_are_told_too_beside_their_lines(three: Sow) -> None:
    listed = three("job", "list", "-n", "2", "--json")
    assert [line["job"] for line in listed.lines] == [3, 2]
    assert listed.err == CUT


@pytest.mark.parametrize("words", [("-n", "3"), ("-n", "2", "--task", "010"), ()])
def test_where_all_are_shown_nothing_more_is_said(three: Sow, words: tuple[str, ...]) -> None:
    listed = three("job", "list", *words)
    assert listed.err == ""
    assert len(listed.out.splitlines()) == 1 + (2 if "--task" in words else 3)


def test_what_a_job_took_begins_with_its_start() -> None:
    """One that was held for a person, or waited for a slot, took no time meanwhile."""
    asked = {"created_at": NOW - 60}
    assert duration_text(make_job(state=JobState.HELD, **asked), NOW) == "-"
    running = make_job(state=JobState.RUNNING, started_at=NOW - 5, **asked)
    assert duration_text(running, NOW) == "5.0s"
    done = make_job(state=JobState.DONE, started_at=NOW - 5, ended_at=NOW - 2, **asked)
    assert duration_text(done, NOW) == "3.0s"
