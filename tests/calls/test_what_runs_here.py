"""Processes around a call: agents that no queue knows, workers that start or are elsewhere."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
import pytest
from calls.desk import WORKER, Desk, a_dead_process

from sow.calls.autostart import START_SECONDS, start_in_background
from sow.calls.caller import Caller
from sow.calls.declare_gone import declare_gone
from sow.calls.kinds import place_in_order
from sow.calls.request import Placed
from sow.calls.state_witness import among_processes, live_job_label, restore_lost_state
from sow.errors import QueueError
from sow.files.flock import lock_file_held
from sow.ids import TaskId
from sow.jobs import jobs, unrecorded_agents, workers
from sow.jobs.unrecorded_agents import (
    MOMENT_SECONDS,
    TaskIsCarried,
    find_strays,
    refuse_strays,
)
from sow.paths import Workspace
from sow.schema.job import JobState, WorkerRecord
from sow.state.kept import keeper_hooks

TASK = TaskId("010")
Carry = Callable[..., int]


@pytest.fixture
def carry(desk: Desk) -> Iterator[Carry]:
    """Return a function that starts a process which carries an attempt of task 010."""
    started = []

    def start(attempt: str, root: str = "") -> int:
        names = {"SOW_ATTEMPT_ID": attempt, "SOW_TASK_ID": TASK}
        process = subprocess.Popen(
            ["/bin/sh", "-c", "echo; read _"],
            env={"PATH": os.environ["PATH"], "SOW_ROOT": root or str(desk.workspace.root), **names},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield start
    for process in started:
        process.communicate()


def test_an_agent_that_is_on_record_is_no_stray(desk: Desk, carry: Carry) -> None:
    desk.task()
    attempt = desk.attempt(desk.run())
    carry(attempt.id)
    assert find_strays(desk.workspace, desk.database, TASK) == {}
    refuse_strays(desk.workspace, desk.database, TASK)


@pytest.mark.parametrize("with_queue", [True, False])
def test_one_that_no_queue_knows_is_named_with_the_way_to_end_it(
    desk: Desk, carry: Carry, with_queue: bool
) -> None:
    desk.task()
    pid = carry("9.1.abc")
    with pytest.raises(TaskIsCarried) as refusal:
        refuse_strays(desk.workspace, desk.database if with_queue else None, TASK)
    assert f"process {pid} (attempt 9.1.abc)" in refusal.value.message
    assert refusal.value.ends_it == f"kill {pid}"


def test_of_several_tasks_placed_together_the_one_with_a_stray_is_refused_alone(
    desk: Desk, carry: Carry
) -> None:
    """Groups are of 1, 2 and 4 requests; task 010 is in the second one."""
    for task_id in ("020", TASK, "030"):
        desk.task(task_id)
    carry("9.1.abc")
    placing = place_in_order(
        *(desk.caller, desk.database, desk.config),
        *([desk.spawn(task_id) for task_id in ("020", TASK, "030")], None),
        time_left=lambda: None,
        on_tick=lambda _: None,
    )
    assert [type(found) for _, found in placing] == [Placed, TaskIsCarried, Placed]
    assert jobs.newest_id(desk.database) == 2


def test_a_look_serves_the_groups_of_a_moment(
    desk: Desk, carry: Carry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are of 1, 2 and 4 requests; task 010 is in the third one."""
    clock = [100.0]
    monkeypatch.setattr(unrecorded_agents.time, "monotonic", lambda: clock[0])
    looks = []
    look = unrecorded_agents.find_strays

    def count(*arguments: Any) -> Any:
        looks.append(arguments)
        return look(*arguments)

    monkeypatch.setattr(unrecorded_agents, "find_strays", count)
    task_ids = ["020", "030", "040", TASK, "050"]
    for task_id in task_ids:
        desk.task(task_id)
    placing = place_in_order(
        *(desk.caller, desk.database, desk.config, [desk.spawn(each) for each in task_ids], None),
        time_left=lambda: None,
        on_tick=lambda _: None,
    )
    assert [type(found) for _, found in islice(placing, 3)] == [Placed] * 3
    assert len(looks) == 1
    carry("9.1.abc")
    clock[0] += MOMENT_SECONDS
    assert [type(found) for _, found in placing] == [TaskIsCarried, Placed]


def test_the_workspace_is_known_by_another_path_and_another_one_is_not_it(
    desk: Desk, carry: Carry
) -> None:
    link = desk.base / "link"
    link.symlink_to(desk.workspace.root)
    carry("9.1.abc", str(link))
    carry("8.1.abc", str(desk.base))
    found = find_strays(desk.workspace, None, TASK)
    assert [stray.attempt_id for stray in found[TASK]] == ["9.1.abc"]


def test_whose_agent_runs_is_told_by_its_processes_where_the_queue_is_gone(
    desk: Desk, carry: Carry
) -> None:
    root = desk.workspace.root
    assert among_processes(root) == ""
    carry("9.1.abc")
    assert live_job_label(root, "any project") == "", "its job is on no record"
    desk.workspace.queue_db.unlink()
    assert live_job_label(root, "any project") == "job 9"


def test_a_call_alone_that_carries_an_attempt_is_no_agent_at_work(desk: Desk) -> None:
    """Its variables may be anybody's; an agent's own processes carry them as well."""
    root = str(desk.workspace.root)
    program = (
        "import sys; from pathlib import Path; from sow.calls.state_witness import live_job_label; "
        "print(live_job_label(Path(sys.argv[1]), ''))"
    )
    env = {**os.environ, "SOW_ATTEMPT_ID": "9.1.abc", "SOW_ROOT": root}
    desk.workspace.queue_db.unlink()
    done = subprocess.run(
        [sys.executable, "-c", program, root], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


@pytest.mark.parametrize("state", [JobState.DONE, JobState.RUNNING])
def test_a_process_of_a_job_that_has_ended_is_no_reason_to_put_anything_back(
    desk: Desk, carry: Carry, state: JobState
) -> None:
    desk.task()
    job = desk.run()
    if state is JobState.DONE:
        jobs.change_job(desk.database, job.id, state=state)
    carry("1.1.abc")
    lives = live_job_label(desk.workspace.root, job.project_id)
    assert lives == ("" if state is JobState.DONE else "job 1")


def test_what_went_with_the_queue_is_put_back_for_the_job_that_lived(desk: Desk) -> None:
    desk.task()
    desk.run()
    state = desk.workspace.project_state
    before = state.read_bytes()
    state.unlink()
    asked = keeper_hooks.OURS
    with keeper_hooks.answering(asked.witness, asked.tell):
        restore_lost_state(desk.workspace, desk.database)
        assert asked.witness(desk.workspace.root, desk.job(1).project_id) == "job 1"
    assert state.read_bytes() == before


def test_a_worker_elsewhere_is_struck_off_on_a_persons_word(desk: Desk) -> None:
    """Nothing of the job was begun: nothing more has to be given up."""
    desk.task()
    job = desk.run()
    elsewhere = msgspec.structs.replace(a_dead_process(), pid_namespace="1")
    record = WorkerRecord(
        id=WORKER,
        process=elsewhere,
        concurrency=1,
        version="0",
        background=True,
        started_at=0.0,
        format=99,
    )
    workers.register(desk.database, record)
    assert declare_gone(desk.caller, desk.database, job).state is JobState.RUNNING
    assert workers.find(desk.database, WORKER) is None


def test_a_worker_that_cannot_begin_is_not_waited_for(desk: Desk) -> None:
    """Its configuration is refused: the lock that it was given is free, and the wait is over."""
    (desk.base / "config.yaml").write_text("not: [valid")
    with lock_file_held(desk.workspace.start_lock) as lock:
        command = start_in_background(desk.caller, lock)
    command.wait(START_SECONDS / 2)
    with lock_file_held(desk.workspace.start_lock):
        assert list(workers.staff(desk.database, desk.workspace)) == []


def test_where_the_system_starts_nothing_the_job_stays_queued(desk: Desk) -> None:
    gone = Caller(Workspace(desk.base / "gone"), desk.caller.environ, desk.base)
    with lock_file_held(desk.workspace.start_lock) as lock, pytest.raises(QueueError) as refusal:
        start_in_background(gone, lock)
    assert "the job is queued, but no worker can be started now" in refusal.value.message
