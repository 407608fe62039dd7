"""Cancelling a batch: whoever dies in the middle of it is followed by the same command."""

from typing import Any

import pytest
from calls.batch_desk import batch, begin, items, turn
from calls.desk import Desk

from sow.calls.batch_cancel import cancel_batch
from sow.calls.cancel import NotGivenBack
from sow.jobs import jobs
from sow.schema.batch import AT_WORK, BatchState
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.state.tasks import find_task

TASKS = ("010", "020", "030")
STEPS = {
    "after the batch's end": "sow.calls.batch_cancel.batches.jobs_of",
    "before its first job's end": "sow.calls.batch_cancel.cancel_job",
    "between a job's end and its task": "sow.calls.cancel.job_end.conclude",
    "before the ends are waited for": "sow.calls.batch_cancel._await_end",
    "before the items are told of": "sow.calls.batch_cancel.settle",
}


class Killed(BaseException):
    """Nothing of the command comes after this."""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_the_same_command_ends_what_a_killed_one_has_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for task in TASKS:
        desk.task(task)
    work = begin(desk)
    turn(work)

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(STEPS[step], killed)
        with pytest.raises(Killed):
            cancel_batch(desk.caller, desk.database, batch(work))
    assert batch(work).state is BatchState.CANCELLED, "nothing more begins"
    assert cancel_batch(desk.caller, desk.database, batch(work)) == []
    found = [desk.job(number) for number in (1, 2, 3)]
    assert {(job.state, job.owes_task) for job in found} == {(JobState.CANCELLED, False)}
    assert {desk.read(task).status for task in TASKS} == {TaskStatus.PENDING}
    assert not AT_WORK & set(items(work).values())
    assert jobs.has_active_jobs(desk.database) is False


def test_a_task_that_cannot_be_written_keeps_no_other_from_its_end(desk: Desk) -> None:
    for task in TASKS:
        desk.task(task)
    work = begin(desk)
    turn(work)
    state = find_task(desk.workspace, "010").state
    good = state.read_text()
    state.write_text("task: [\n")
    for _ in range(2):
        with pytest.raises(NotGivenBack, match="job 1 of task 010 is cancelled"):
            cancel_batch(desk.caller, desk.database, batch(work))
    assert {desk.read(task).status for task in TASKS[1:]} == {TaskStatus.PENDING}
    assert jobs.has_active_jobs(desk.database) is False
    state.write_text(good)
    cancel_batch(desk.caller, desk.database, batch(work))
    assert desk.read("010").status is TaskStatus.PENDING
