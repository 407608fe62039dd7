"""The same promises with several processes at the queue, and with processes killed at it."""

import json
import random
import subprocess
from pathlib import Path

import pytest
from queue_cases import insert, make_job, start_python

from sow.jobs import jobs, leases
from sow.jobs.database import Database, QueueFile
from sow.jobs.jobs import TaskIsTaken
from sow.paths import Workspace
from sow.schema.job import JobState

HERE = Path(__file__).parent
SECONDS = 240


def go(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Let processes that are ready go on together; return what each prints."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=SECONDS) for process in processes]
    assert [error for _, error in answers] == [""] * len(processes)
    return [out for out, _ in answers]


@pytest.mark.slow
def test_four_processes_never_exceed_a_limit_and_take_each_job_once(
    database: Database, workspace: Workspace
) -> None:
    """§8: limits "are checked inside the claim's transaction … across all workers"."""
    for number in range(120):
        name, most = (("one", 1), ("two", 2), ("free", None))[number % 3]
        job = insert(database, f"{number:03}", executor=name, max_parallel=most)
        leases.enqueue(database, job.id, now=0.0)
    script = HERE / "claiming_process.py"
    answers = go([start_python(script, workspace.root, f"w{n}", 3, 2) for n in range(4)])
    taken = [json.loads(answer) for answer in answers]
    assert [line for each in taken for line in each["violations"]] == []
    assert sorted(job for each in taken for job in each["claimed"]) == list(range(1, 121))


@pytest.mark.slow
def test_one_of_several_processes_gets_the_task(database: Database, workspace: Workspace) -> None:
    """§5: "One live job per task"."""
    script = HERE / "inserting_process.py"
    answers = go([start_python(script, workspace.root, "race") for _ in range(4)])
    assert sorted(answers) == ["inserted\n", "taken\n", "taken\n", "taken\n"]
    assert len(jobs.active_jobs(database)) == 1


@pytest.mark.parametrize("state", [state for state in JobState if not state.is_final])
def test_a_task_is_taken_in_every_state_that_is_not_final(
    database: Database, state: JobState
) -> None:
    jobs.insert_job(database, make_job("010", state=state))
    with pytest.raises(TaskIsTaken):
        jobs.insert_job(database, make_job("010"))
    jobs.insert_job(database, make_job("020"))


@pytest.mark.parametrize("state", [state for state in JobState if state.is_final])
def test_an_ended_job_leaves_its_task_free(database: Database, state: JobState) -> None:
    jobs.insert_job(database, make_job("010", state=state))
    jobs.insert_job(database, make_job("010"))


@pytest.mark.queue_file
@pytest.mark.slow
def test_a_process_killed_inside_a_transaction_leaves_nothing_and_no_lock(
    database: Database, workspace: Workspace
) -> None:
    process = start_python(HERE / "inserting_process.py", workspace.root, "inside")
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    database.connection.execute("pragma busy_timeout = 0")
    with pytest.raises(Exception, match="locked"):
        insert(database, "020")
    process.kill()
    process.communicate()
    assert insert(database, "010").id == 1
    assert database.rows("select * from task") == []


def check_whole(database: Database) -> None:
    """Fail unless queue rows, states and leases of every job belong together."""
    rows = database.rows(
        "select job.id, job.state, job.queue_row, task.id as row_id, lease.token"
        " from job left join task on task.id = job.queue_row"
        " left join lease on lease.job_id = job.id"
    )
    for row in rows:
        waits = row["state"] in ("queued", "backoff", "parked")
        assert (row["queue_row"] is not None) == waits, dict(row)
        assert (row["row_id"] is not None) == waits, dict(row)
        assert (row["token"] is not None) == (row["state"] == "running"), dict(row)
    orphans = database.rows(
        "select id from task where id not in"
        " (select queue_row from job where queue_row is not null)"
    )
    assert orphans == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_process_killed_at_any_moment_leaves_all_of_a_step_or_nothing(
    database: Database, workspace: Workspace, seed: int
) -> None:
    """§8: a job's queue row, its record and its lease change in one transaction."""
    chance = random.Random(seed)
    number = 0
    for _ in range(2):
        process = start_python(HERE / "busy_process.py", workspace.root, number)
        assert process.stdout is not None
        ended = [int(process.stdout.readline()) for _ in range(chance.randrange(1, 60))]
        process.kill()
        rest, _ = process.communicate()
        ended += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        check_whole(database)
        for job_id in ended:
            row = database.row("select state from job where id = ?", (job_id,))
            assert row is not None
            assert row["state"] == "done"
        number += 1000
    assert database.damage() == ""
    if isinstance(database, QueueFile):
        assert database.value("pragma integrity_check") == "ok"
