"""Where a resume goes whose session has not begun: to the clone that it was to begin in."""

import pytest
from calls.desk import SESSION, Desk
from clones.clone_site import name_author, plain

from sow.calls.kinds import place
from sow.errors import StateError
from sow.schema.job import Job, JobState
from sow.schema.job_terms import AuthorTerms
from sow.schema.task import TaskStatus


def resumed(desk: Desk, *, clone: bool, started: bool = False) -> Job:
    """Have the clone of a task's first job not be made, and its session be resumed."""
    desk.task("010", depends_on=())
    desk.with_session("010", started=started)
    job = desk.run(task_id="010", terms=AuthorTerms(clone=clone))
    desk.attempt(job, session_id=SESSION)
    desk.end(job.id, TaskStatus.FAILED, JobState.FAILED)
    return place(desk.caller, desk.database, desk.config, desk.resume("010")).job


def is_in_clone(job: Job) -> bool:
    return isinstance(job.terms, AuthorTerms) and job.terms.clone


def repository(desk: Desk) -> None:
    plain(desk.workspace.root, "init", "-q", "-b", "main")
    name_author(desk.workspace.root)
    plain(desk.workspace.root, "commit", "-q", "--allow-empty", "-m", "First")


def test_a_clone_that_could_not_be_made_is_made_by_the_resume(desk: Desk) -> None:
    repository(desk)
    assert is_in_clone(resumed(desk, clone=True))


@pytest.mark.parametrize(("clone", "started"), [(False, False), (True, True)])
def test_a_session_of_the_root_stays_there(desk: Desk, clone: bool, started: bool) -> None:
    repository(desk)
    desk.workspace.repository_config.write_text("clones: {use: always}\n")
    assert not is_in_clone(resumed(desk, clone=clone, started=started))


def test_what_keeps_the_clone_from_being_made_is_told_by_the_resume(desk: Desk) -> None:
    with pytest.raises(StateError, match="lies in no git repository"):
        resumed(desk, clone=True)
    assert desk.read("010").status is TaskStatus.FAILED


@pytest.mark.parametrize(
    ("settings", "clone", "is_noted"),
    [
        ("batch: {merge: true}", None, True),
        ("batch: {clone: true}", None, True),
        ("batch: {clone: true}", False, False),
        ("batch: {merge: true, clone: false}", None, False),
        ("{}", None, False),
    ],
)
def test_who_begins_in_the_tree_where_batches_use_clones_is_told_how_to_have_one(
    desk: Desk, settings: str, clone: bool | None, is_noted: bool
) -> None:
    repository(desk)
    desk.workspace.repository_config.write_text(f"{settings}\n")
    desk.task("010")
    placed = place(desk.caller, desk.database, desk.config, desk.spawn("010", clone=clone))
    assert not is_in_clone(placed.job)
    words = [note for note in placed.notes if "batches use clones" in note]
    assert bool(words) is is_noted
    if is_noted:
        again = desk.spawn("010", fresh=True, clone=True)
        desk.end(placed.job.id, TaskStatus.PENDING, JobState.CANCELLED)
        assert is_in_clone(place(desk.caller, desk.database, desk.config, again).job)
