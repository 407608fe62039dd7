"""A review of the whole whose reviewer says nothing is run twice, then a person is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import Desk, make_desk
from clones.clone_site import name_author, plain

from sow.calls.project_review import review_task
from sow.clones.project_work import work_of
from sow.jobs.database import open_queue
from sow.lifecycle.stages import ProjectType
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.situation.looking import look
from sow.situation.next_steps import next_steps
from sow.situation.step import By, Step
from sow.state.projects import change_project


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = make_desk(tmp_path, open_queue)
    plain(made.workspace.root, "init", "-q", "-b", "main")
    name_author(made.workspace.root)
    plain(made.workspace.root, "commit", "-q", "--allow-empty", "-m", "First")
    made.task("010", TaskStatus.COMPLETED)
    reviewed = {"type": ProjectType.STANDARD.value, "state": "reviewing"}
    change_project(made.workspace, lambda _: reviewed, now=made.caller.now())
    yield made
    made.close()


def steps_of(desk: Desk, *, is_at_terminal: bool = True) -> list[Step]:
    return next_steps(look(desk.caller, is_at_terminal=is_at_terminal))


def review(desk: Desk, state: JobState = JobState.DONE) -> str:
    """Have the whole reviewed once more, in vain; return the task of the review."""
    now = desk.caller.now()
    task = review_task(desk.workspace, work_of(desk.workspace.root), "reviewer", now=now)
    job = desk.queue(task_id=task.id, agent="reviewer", phase="project")
    if state is JobState.CANCELLED:
        desk.end(job.id, TaskStatus.PAUSED, state)
    else:
        desk.end(job.id, TaskStatus.FAILED, state)
    return task.id


def test_it_is_the_runs_that_count_and_not_the_tasks(desk: Desk) -> None:
    again = 'sow review accept --project --summary "<what you think of it>"'
    assert [step.command for step in steps_of(desk)] == ["sow agent review --project"]
    first = review(desk)
    assert steps_of(desk)[0].command == "sow agent review --project"
    assert review(desk, JobState.FAILED) == first, "the task is used again"
    commands = [step.command for step in steps_of(desk)]
    assert commands[0] == again
    assert not any(command.startswith("sow agent review") for command in commands)


def test_who_may_not_judge_is_told_that_a_person_has_to(desk: Desk) -> None:
    for _ in range(2):
        review(desk)
    found = steps_of(desk, is_at_terminal=False)
    assert {step.by for step in found} == {By.PERSON}
