"""`sow stats`, in a process: months by the clock on the wall, and the same money as `sow cost`."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from in_process import Ended, run_in_process
from reports.job_cases import make_attempt, make_job

from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, spending
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.amounts import Amounts
from sow.schema.job import Cause, Job, JobState, Verb
from sow.schema.usage import RunUsage, Tokens
from sow.state.projects import new_project
from sow.state.workspace_init import init_workspace
from sow.timeline.figures import all_figures
from sow.timeline.plots import plots_of

PROJECT = ProjectId("11111111-1111-4111-8111-111111111111")
KNOWN = RunUsage(tokens=Tokens(input=1000, output=100), usd=1.25)
UNPRICED = RunUsage(tokens=Tokens(input=1000, output=100), is_unpriced=True)
SILENT = RunUsage(is_unpriced=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="counted", project_id=PROJECT, now=time.time())
    return workspace


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    with closing(open_queue(workspace)) as opened:
        yield opened


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def ended(database: Database, task: str, *runs: tuple[str, RunUsage], **fields: Any) -> Job:
    """Put a job on record with attempts of an hour that ended then; it ended with the last."""
    made = make_job(task_id=TaskId(task), project_id=PROJECT, **fields)
    job = jobs.insert_job(database, made)
    for number, (text, used) in enumerate(runs, 1):
        end = moment(text)
        id = f"{job.id}.{number}.x"
        attempt = make_attempt(number, job_id=job.id, id=id, created_at=end - 3600)
        jobs.insert_attempt(database, attempt)
        spending.begin(database, job, attempt, Amounts())
        cause = Cause.REPORTED if number == len(runs) else Cause.CRASHED
        jobs.change_attempt(database, job.id, number, cause=cause, ended_at=end)
        spending.note(database, job, attempt, used, None, ended_at=end)
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=moment(runs[-1][0]))
    return job


def run(workspace: Workspace, *words: str) -> Ended:
    env = {name: text for name, text in os.environ.items() if not name.startswith("SOW_")}
    ended = run_in_process(*words, env=env, cwd=workspace.root)
    assert ended.code == 0, ended
    return ended


def figures(workspace: Workspace, *words: str) -> Any:
    return json.loads(run(workspace, *words, "--json").out)


def money(found: Any) -> dict[str, Any]:
    return {group["key"]: group["used"]["cost_usd"] for group in found["groups"]}


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "at", "month"),
    [
        ("UTC0", "2026-03-31T22:30Z", "2026-03"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59Z", "2026-03"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-31T22:30Z", "2026-04"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-31T22:30Z", "2026-10"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-31T23:30Z", "2026-11"),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T03:30Z", "2026-10"),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-12-01T04:30Z", "2026-11"),
        ("LINT-14", "2025-12-31T10:30Z", "2026-01"),
    ],
)
def test_a_month_is_that_of_the_clock_on_the_wall(
    workspace: Workspace,
    database: Database,
    zone: pytest.MonkeyPatch,
    name: str,
    at: str,
    month: str,
) -> None:
    zone.setenv("TZ", name)
    time.tzset()
    ended(database, "010", (at, KNOWN))
    assert money(figures(workspace, "stats", "--by", "month")) == {month: 1.25}


def test_what_an_attempt_cost_counts_in_its_own_month_and_nothing_is_lost(
    workspace: Workspace, database: Database
) -> None:
    """In April no job has ended."""
    ended(database, "010", ("2026-03-15T12:00Z", KNOWN))
    ended(database, "020", ("2026-04-15T12:00Z", KNOWN), ("2026-05-15T12:00Z", KNOWN))
    found = figures(workspace, "stats", "--by", "month")
    assert money(found) == {"2026-03": 1.25, "2026-04": 1.25, "2026-05": 1.25}
    assert [group["job_count"] for group in found["groups"]] == [1, 0, 1]
    assert [group["retries_by_cause"] for group in found["groups"]] == [{}, {"crashed": 1}, {}]
    assert found["total"]["used"]["cost_usd"] == 3.75
    assert run(workspace, "stats", "--by", "month").out.splitlines()[2].startswith("2026-04")


def test_what_was_kept_before_jobs_were_is_told_all_the_same(
    workspace: Workspace, database: Database
) -> None:
    ended(database, "010", ("2026-03-15T12:00Z", KNOWN))
    database.run("delete from job_history")
    found = figures(workspace, "stats")
    assert (found["total"]["job_count"], found["total"]["success_rate"]) == (0, None)
    assert money(found) == {"implementer": 1.25}


@pytest.mark.parametrize("since", [(), ("--since", "2026-04-01"), ("--since", "2026-05-01")])
def test_it_tells_the_money_that_cost_tells(
    workspace: Workspace, database: Database, since: tuple[str, ...]
) -> None:
    ended(database, "010", ("2026-03-15T12:00Z", KNOWN))
    ended(database, "020", ("2026-04-15T12:00Z", KNOWN), ("2026-05-15T12:00Z", UNPRICED))
    ended(database, "030", ("2026-05-20T12:00Z", SILENT), agent="tester")
    stats, cost = figures(workspace, "stats", *since), figures(workspace, "cost", *since)
    assert stats["total"]["used"] == cost["total"]
    agents = {
        group.pop("key"): group for group in figures(workspace, "cost", "--by", "agent")["groups"]
    }
    roles = {group["key"]: group["used"] for group in figures(workspace, "stats")["groups"]}
    assert roles == agents


def test_who_tells_no_price_is_not_taken_for_free(workspace: Workspace, database: Database) -> None:
    ended(database, "010", ("2026-03-15T12:00Z", KNOWN), ("2026-03-16T12:00Z", UNPRICED))
    ended(database, "020", ("2026-03-17T12:00Z", SILENT), agent="tester")
    header, *rows = run(workspace, "stats").out.splitlines()[:4]
    assert header.split()[-2:] == ["TOKENS", "COST"]
    shown = {row.split()[0]: row.split()[-2:] for row in rows}
    assert shown == {
        "implementer": ["2.2k", "≥$1.25"],
        "tester": ["–", "unknown"],
        "all": ["2.2k", "≥$1.25"],
    }
    (by_role, *_) = all_figures(database, now=time.time())
    page = "".join(plot.text for plot in plots_of(by_role))
    assert "tester: unknown" in page
    assert "implementer: ≥$1.25" in page


def test_without_a_job_it_says_so(workspace: Workspace) -> None:
    for words in (("stats",), ("stats", "--since", "1h")):
        assert run(workspace, *words).out == ""
        assert run(workspace, *words).code == 0
    assert "No agent has had a job yet." in run(workspace, "stats").err
    with closing(open_queue(workspace)) as database:
        assert all_figures(database, now=time.time()) == ()
    found = figures(workspace, "stats")
    assert (found["groups"], found["total"]["job_count"], found["total"]["success_rate"]) == (
        [],
        0,
        None,
    )


def test_a_review_that_leaves_its_task_as_it_was_went_well(
    workspace: Workspace, database: Database
) -> None:
    ended(database, "010", ("2026-03-15T12:00Z", KNOWN), agent="reviewer", verb=Verb.REVIEW)
    (group,) = figures(workspace, "stats")["groups"]
    assert (group["key"], group["well"], group["failed"]) == ("reviewer", 1, 0)
