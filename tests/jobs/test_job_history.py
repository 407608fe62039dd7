"""What is kept of a job when its records are pruned, and the figures that come of it."""

import sqlite3
import time
from contextlib import closing

import pytest
from queue_cases import MANY, NOW, WORKER, insert, make_job

from sow.ids import AttemptId
from sow.jobs import jobs, leases, pruning, spending, stats
from sow.jobs.database import Database
from sow.jobs.stats import StatsBy
from sow.paths import Workspace
from sow.schema.amounts import Amounts
from sow.schema.causes import Cause
from sow.schema.job import Attempt, JobState, Verb
from sow.schema.task import TaskStatus
from sow.schema.usage import RunUsage


def ended(database: Database, task: str, state: JobState, *causes: Cause, **more: object) -> int:
    """Put a job on record that has ended after attempts with these causes."""
    job = insert(database, task, **more)
    leases.enqueue(database, job.id, now=NOW)
    assert leases.claim(database, WORKER, total=MANY, own=MANY, now=NOW) is not None
    for number, cause in enumerate(causes, 1):
        attempt = Attempt(
            job_id=job.id,
            number=number,
            id=AttemptId(f"{job.id}.{number}"),
            verb=Verb.SPAWN,
            worker_id=WORKER,
            created_at=NOW,
        )
        jobs.insert_attempt(database, attempt)
        spending.begin(database, job, attempt, Amounts())
        jobs.change_attempt(database, job.id, number, cause=cause, ended_at=NOW + 10)
        spending.note(database, job, attempt, RunUsage(), None, ended_at=NOW + 10)
    status = TaskStatus.FAILED if state is JobState.FAILED else TaskStatus.NEEDS_REVIEW
    jobs.change_job(database, job.id, state=state, outcome_status=status, ended_at=NOW + 10)
    database.run("delete from lease where job_id = ?", (job.id,))
    return int(job.id)


def test_figures_outlive_the_records(database: Database) -> None:
    first = ended(database, "010", JobState.DONE, Cause.CRASHED, Cause.CRASHED, Cause.REPORTED)
    second = ended(database, "020", JobState.FAILED, Cause.AUTH, agent="tester")
    third = ended(database, "030", JobState.CANCELLED)
    before = {
        by: stats.success_rates(database, by, now=NOW + 20, since=0.0) for by in (*StatsBy, None)
    }
    pruning.forget(database, [first, second, third])  # type: ignore[list-item]
    assert database.rows("select * from job") == []
    for by, found in before.items():
        assert stats.success_rates(database, by, now=NOW + 20, since=0.0) == found
    (all_of_them,) = before[None]
    counts = all_of_them.counts
    assert (counts["job_count"], counts["well"], counts["failed"], counts["cancelled"]) == (
        3,
        1,
        1,
        1,
    )
    assert all_of_them.retries == {"crashed": 2}
    by_role = {each.key: each for each in before[StatsBy.ROLE]}
    assert by_role["tester"].counts["failed"] == 1
    assert by_role["implementer"].counts["well"] == 1
    assert [each.key for each in before[StatsBy.EXECUTOR]] == ["claude-code"]
    assert before[StatsBy.MONTH][0].key == time.strftime("%Y-%m", time.localtime(NOW + 10))


def test_since_leaves_out_what_ended_before(database: Database) -> None:
    ended(database, "010", JobState.DONE, Cause.REPORTED)
    assert stats.success_rates(database, None, now=NOW + 20, since=NOW + 11) == []
    assert len(stats.success_rates(database, None, now=NOW + 20, since=NOW + 9)) == 1


def test_a_live_job_counts_the_time_of_its_state(database: Database) -> None:
    job = insert(database)
    leases.enqueue(database, job.id, now=NOW)
    (row,) = database.rows("select * from job_history")
    assert (row["state"], row["agent"]) == ("queued", "implementer")
    (found,) = stats.success_rates(database, None, now=row["since"] + 100, since=0.0)
    assert found.counts["live"] == 1
    assert found.counts["job_count"] == 0
    assert found.seconds_in["queued"] == pytest.approx(100, abs=1)


def test_each_state_s_time_is_added_up(database: Database) -> None:
    job = insert(database)
    for state in ("queued", "running", "backoff", "queued", "running"):
        database.run("update job_history set since = since - 10")
        jobs.change_job(database, job.id, state=JobState(state))
    database.run("update job_history set since = since - 10")
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    jobs.change_job(database, job.id, cause=Cause.REPORTED)  # no other state: no time passes
    (row,) = database.rows("select * from job_history")
    times = {state: row[state] for state in ("preparing", "queued", "running", "backoff", "parked")}
    expected = {"preparing": 10, "queued": 20, "running": 20, "backoff": 10, "parked": 0}
    assert times == pytest.approx(expected, abs=5)
    assert (row["state"], row["cause"]) == ("done", "reported")


def test_a_clock_that_was_set_back_takes_no_time_away(database: Database) -> None:
    job = insert(database)
    database.run("update job_history set since = since + 1000")
    jobs.change_job(database, job.id, state=JobState.QUEUED)
    (row,) = database.rows("select * from job_history")
    assert row["preparing"] == 0


def test_a_job_s_iteration_is_that_of_its_task(database: Database) -> None:
    job = insert(database)
    database.run(
        "insert into last_status values (?, '010', 'needs_review', 3, 'f')", (job.project_id,)
    )
    jobs.change_job(database, job.id, state=JobState.DONE, ended_at=NOW)
    (found,) = stats.success_rates(database, None, now=NOW, since=0.0)
    assert (found.counts["iterations"], found.counts["most_iterations"]) == (3, 3)


def test_what_an_older_file_tells_is_taken_over(workspace: Workspace) -> None:
    """The step is taken over records and changes as the second form has them."""
    from sow.jobs.database import open_queue
    from sow.jobs.migrations import statements

    with closing(open_queue(workspace)) as database:
        number = ended(database, "010", JobState.DONE, Cause.CRASHED, Cause.REPORTED)
        database.run("update change set at = ? + seq * 10", (NOW,))
    with closing(sqlite3.connect(workspace.queue_db, isolation_level=None)) as file:
        for name in ("history_of_new_job", "history_of_job", "cause_of_spending"):
            file.execute(f"drop trigger {name}")
        file.execute("drop table job_history")
        file.execute("alter table spending drop column cause")
        for statement in statements(3):
            file.execute(statement)
        file.row_factory = sqlite3.Row
        row = file.execute("select * from job_history").fetchone()
        causes = file.execute("select cause from spending order by number").fetchall()
    assert (row["job_id"], row["state"], row["status"]) == (number, "done", "needs_review")
    assert row["queued"] == pytest.approx(10)
    assert row["running"] > 10
    assert [each["cause"] for each in causes] == ["crashed", "reported"]


def test_a_job_without_an_agent_is_in_no_figure(database: Database) -> None:
    jobs.insert_job(database, make_job("010", executor=None, agent="", verb=Verb.CHECK))
    assert stats.success_rates(database, None, now=NOW, since=0.0) == []


def test_iterations_are_those_of_tasks_on_average_and_each_task_counts_once(
    database: Database,
) -> None:
    for task, iteration in (("010", 1), ("020", 4)):
        state = JobState.DONE if task == "010" else JobState.CANCELLED
        jobs_of_task = [ended(database, task, state, Cause.REPORTED) for _ in range(2)]
        names = ", ".join(map(str, jobs_of_task))
        database.run(
            f"update job_history set iteration = ? where job_id in ({names})", (iteration,)
        )
    (found,) = stats.success_rates(database, None, now=NOW + 20, since=0.0)
    counts = found.counts
    assert (counts["task_count"], counts["iterations"], counts["most_iterations"]) == (2, 2.5, 4)
    assert (counts["job_count"], counts["well"], counts["failed"], counts["cancelled"]) == (
        4,
        2,
        0,
        2,
    )
