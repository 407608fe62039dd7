"""What a waiting call says of its own accord: once, and again only where it is another thing."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from reports.job_cases import NOW, make_job

from sow.calls.wait import Progress
from sow.cli.progress import WaitingView
from sow.ids import JobId, TaskId
from sow.jobs import control, jobs, leases
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.amounts import Amounts
from sow.schema.job import Budgets, HeldFor, JobState

NUMBERS = [JobId(1), JobId(2)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    workspace = Workspace(tmp_path)
    workspace.run.mkdir(parents=True)
    with closing(open_queue(workspace)) as opened:
        for task in ("010", "020"):
            jobs.insert_job(opened, make_job(task_id=TaskId(task), state=JobState.QUEUED))
        yield opened


@pytest.fixture
def view(tmp_path: Path, database: Database) -> WaitingView:
    return WaitingView(Workspace(tmp_path), database, as_json=True)


@pytest.fixture
def printed(view: WaitingView, capsys: pytest.CaptureFixture[str]) -> "Printed":
    return Printed(view, capsys)


class Printed:
    """What the view says at a look."""

    def __init__(self, view: WaitingView, capture: pytest.CaptureFixture[str]) -> None:
        self.view, self.capture = view, capture

    def now(self) -> list[str]:
        self.view.show(Progress(NUMBERS))
        return self.capture.readouterr().err.splitlines()


def test_what_holds_a_job_is_said_whenever_it_is_another_thing(
    printed: Printed, database: Database
) -> None:
    assert printed.now() == []
    held = {"state": JobState.HELD, "held_for": HeldFor.DEPENDENCIES}
    jobs.change_job(database, JobId(1), reason="waits for 030, 040", **held)
    assert printed.now() == ["Note: job 1 is held: waits for 030, 040"]
    assert printed.now() == []
    leases.keep_reason(database, JobId(1), "waits for 040")
    assert printed.now() == ["Note: job 1 is held: waits for 040"]
    leases.release(database, JobId(1), now=NOW)
    assert printed.now() == []


def test_a_pause_is_said_of_the_jobs_that_wait_and_once_each_time(
    printed: Printed, database: Database
) -> None:
    jobs.change_job(database, JobId(1), state=JobState.RUNNING)
    for minute in (0, 60):
        control.pause(database, now=NOW + minute)
        words = "Note: the queue is paused: 020 will not start before `sow queue resume`"
        assert printed.now() == [words]
        assert printed.now() == []
        control.unpause(database)
        assert printed.now() == []
    jobs.change_job(database, JobId(2), state=JobState.RUNNING)
    control.pause(database, now=NOW + 120)
    assert printed.now() == []


def test_that_a_budget_is_nearly_spent_is_said_once(printed: Printed, database: Database) -> None:
    jobs.change_job(database, JobId(2), budgets=Budgets(project=Amounts(usd=1.0)))
    assert printed.now() == []
    for number in (1, 2):
        database.run(
            "insert into change (project, task, job, kind, data) values ('p', '020', 2, 'budget',"
            """ '{"reason": "80 % of the budget is spent"}')"""
        )
        assert printed.now() == (["Note: 80 % of the budget is spent"] if number == 1 else [])
