"""What `--all` names: the tasks of this project that an agent is at work on, or will be."""

from calls.desk import Desk
from reports.job_cases import NOW

from sow.calls.live_jobs import live_tasks
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.schema.job import JobState, Verb


def test_they_are_those_of_jobs_that_have_not_ended_the_oldest_first(desk: Desk) -> None:
    for task_id in ("010", "020", "030"):
        desk.task(task_id)
    desk.queue(task_id="020")
    desk.queue(task_id="010")
    desk.end(desk.queue(task_id="030").id)
    assert live_tasks(desk.caller) == ["020", "010"]


def test_a_job_in_a_persons_hands_and_one_of_another_project_are_left_out(desk: Desk) -> None:
    desk.insert(task_id="010", verb=Verb.OPEN, state=JobState.RUNNING)
    other = desk.insert(task_id="020", state=JobState.RUNNING)
    project = ProjectId("00000000-1111-4222-8333-444455556667")
    desk.database.run("update job set project_id = ? where id = ?", (project, other.id))
    desk.insert(task_id="030", state=JobState.RUNNING)
    assert live_tasks(desk.caller) == ["030"]


def test_an_agent_names_neither_its_own_task_nor_that_of_whom_it_works_for(desk: Desk) -> None:
    above = desk.insert(task_id="010", state=JobState.RUNNING, created_at=NOW)
    own = desk.insert(task_id="020", state=JobState.RUNNING, parent=above.id)
    child = desk.insert(task_id="030", state=JobState.RUNNING, parent=own.id)
    assert live_tasks(desk.as_agent_of(own)) == ["030"]
    assert jobs.get_job(desk.database, child.id).parent == own.id


def test_without_a_queue_there_are_none(desk: Desk) -> None:
    for file in desk.workspace.run.glob("queue.db*"):
        file.unlink()
    assert live_tasks(desk.caller) == []
