"""A project's end: recorded or carried out, and nothing is placed for a project that is gone."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls.desk import PROJECT, Desk
from msgspec import UNSET
from msgspec.structs import replace
from reports.job_cases import NOW

from sow.attempts.homes import homes_of
from sow.calls.admission import ProjectIsEnding, is_end_recorded
from sow.calls.batch_making import Wanted, make_or_attach
from sow.calls.caller import Caller
from sow.calls.ending import (
    REMOVED,
    JobsLive,
    NotCompleted,
    carry_out_recorded,
    end_project,
    sweep_ended,
)
from sow.calls.kinds import place
from sow.calls.request import Request
from sow.errors import SowError
from sow.ids import BatchId, JobId, TaskId
from sow.jobs import batches, jobs, waiters
from sow.paths import Workspace
from sow.schema.batch import Batch, BatchState, Selection
from sow.schema.batch_policy import BatchPolicy
from sow.schema.job import JobState, Verb
from sow.schema.job_terms import CheckTerms
from sow.schema.project import EndingWord, Project
from sow.schema.task import TaskStatus
from sow.state.authors import Author
from sow.state.kept import keeper_hooks
from sow.state.kept.guard import look_for_project
from sow.state.kept.store import kept_at
from sow.state.projects import change_project, new_project, read_project
from sow.state.statefiles import STATE_LIMIT
from sow.state.task_log import read_entries

ABANDONED = EndingWord.ABANDONED
AN_ID = "3f0c0b5e-9999-4222-8333-444455556667"


def end(desk: Desk, caller: Caller | None = None, **more: Any) -> tuple[Project, str | None, bool]:
    options: dict[str, Any] = {"remove": False, "by": Author("orchestrator"), **more}
    return end_project(caller or desk.caller, options.pop("how", ABANDONED), **options)


def carry_out(desk: Desk) -> str | None:
    return carry_out_recorded(desk.workspace, desk.database, now=NOW)


def actions(desk: Desk, folder: str) -> list[str]:
    return [entry.action for entry in read_entries(desk.workspace.root / folder / "log.md")]


def test_an_end_lies_in_the_archive_with_all_that_the_project_had(desk: Desk) -> None:
    desk.task()
    project, archive, is_recorded_only = end(desk)
    assert archive is not None
    assert (is_recorded_only, desk.workspace.project.exists()) == (False, False)
    folder = desk.workspace.root / archive
    assert (folder / "phases/implementation/tasks/010/state.yaml").is_file()
    assert project.ending is not UNSET
    assert actions(desk, archive).count("Project abandoned") == 1


@pytest.mark.parametrize("remove", [False, True])
def test_whoever_says_that_a_job_lives_brings_no_ended_project_back(
    desk: Desk, remove: bool
) -> None:
    """Nothing of it is kept any more; without its end it would be put back here."""
    desk.task()
    root, project = desk.workspace.root, desk.workspace.project
    state = project / "state.yaml"
    with keeper_hooks.answering(lambda _root, _project: "job 7", lambda _words: None):
        state.unlink()
        look_for_project(root)
        assert state.exists(), "its copies are used until then"
        end(desk, remove=remove)
        look_for_project(root)
    assert not project.exists()
    assert kept_at(root) is None


def test_a_project_that_is_not_completed_is_not_finished(desk: Desk) -> None:
    with pytest.raises(NotCompleted):
        end(desk, how=EndingWord.FINISHED)
    assert read_project(desk.workspace).ending is UNSET


def test_a_person_waits_for_the_jobs(desk: Desk) -> None:
    desk.task()
    job = desk.run(task_id="010")
    with pytest.raises(JobsLive) as refused:
        end(desk)
    assert f"job {job.id}" in refused.value.message
    assert read_project(desk.workspace).ending is UNSET


def test_a_job_that_comes_in_after_the_end_is_recorded_keeps_the_project(desk: Desk) -> None:
    desk.task()

    def clock() -> float:
        if is_end_recorded(desk.workspace) and jobs.newest_id(desk.database) == JobId(0):
            desk.insert(state=JobState.QUEUED)
        return NOW

    with pytest.raises(JobsLive):
        end(desk, replace(desk.caller, clock=clock))
    assert read_project(desk.workspace).ending is UNSET


def test_its_own_agents_end_is_recorded_and_carried_out_after_its_job(desk: Desk) -> None:
    desk.task()
    job = desk.run(task_id="010", agent="orchestrator")
    _, archive, is_recorded_only = end(desk, desk.as_agent_of(job))
    assert (archive, is_recorded_only) == (None, True)
    assert carry_out(desk) is None
    desk.end(job.id, TaskStatus.COMPLETED)
    where = carry_out(desk)
    assert where is not None
    assert actions(desk, where).count("Project abandoned") == 1
    assert "The project is to be abandoned once this job has ended" in actions(desk, where)
    assert carry_out(desk) is None


def test_an_agent_waits_for_what_it_has_queued(desk: Desk) -> None:
    desk.task()
    desk.task("020")
    job = desk.run(task_id="010", agent="orchestrator")
    below = desk.queue(task_id="020", parent=job.id)
    with pytest.raises(JobsLive) as refused:
        end(desk, desk.as_agent_of(job))
    assert f"job {below.id}" in refused.value.message


def test_an_agent_that_was_called_by_the_orchestrator_may_ask_too(desk: Desk) -> None:
    """Those above it are waited for, as its own job is."""
    desk.task()
    desk.task("020")
    above = desk.run(task_id="010", agent="orchestrator")
    below = desk.run(task_id="020", parent=above.id, agent="orchestrator")
    assert end(desk, desk.as_agent_of(below))[2]
    desk.end(below.id)
    assert carry_out(desk) is None
    desk.end(above.id)
    assert carry_out(desk) is not None


def test_what_ended_jobs_still_owe_is_written_before_it_goes(desk: Desk) -> None:
    desk.task()
    job = desk.run(task_id="010")
    desk.database.run("delete from lease where job_id = ?", (job.id,))
    owes = {"state": JobState.FAILED, "outcome_status": TaskStatus.FAILED, "owes_task": True}
    jobs.change_job(desk.database, job.id, ended_at=NOW, reason="It broke.", **owes)
    _, archive, _ = end(desk)
    folder = desk.workspace.root / str(archive) / "phases/implementation/tasks/010"
    assert "status: failed" in (folder / "state.yaml").read_text()
    assert f"Job {job.id} failed: It broke." in (folder / "log.md").read_text()


def test_what_a_detached_call_has_not_seen_goes_with_it_and_what_another_is_owed_stays(
    desk: Desk,
) -> None:
    desk.task()
    job = desk.queue()
    desk.end(job.id)
    desk.owe(job)
    waiters.begin(desk.database, "d1", job.id, on_behalf_of=None, now=NOW)
    end(desk)
    assert waiters.of_job(desk.database, job.id) == [f"gone-{job.id}"]


def test_batches_of_the_project_end_with_it(desk: Desk) -> None:
    desk.task()
    wanted = Wanted(name="night", selection=Selection(tasks=("010",)), policy=BatchPolicy())
    made = make_or_attach(desk.caller, desk.database, wanted)
    assert made is not None
    end(desk)
    batch: Batch = batches.get_batch(desk.database, BatchId(made.batch.id))
    assert (batch.state, batch.ended_at) == (BatchState.CANCELLED, NOW)


def test_a_removal_leaves_nothing_and_one_cut_short_is_swept(desk: Desk) -> None:
    _, archive, _ = end(desk, remove=True)
    assert archive is None
    assert not desk.workspace.project.exists()
    left = desk.workspace.sow / REMOVED.format("some-project")
    left.mkdir()
    sweep_ended(desk.workspace, desk.database, now=NOW)
    assert not left.exists()
    assert not desk.workspace.archive.exists()


def test_the_configuration_folders_of_its_sessions_go_with_it(desk: Desk, tmp_path: Path) -> None:
    other = Workspace(tmp_path / "other")
    homes = [homes_of(desk.workspace, PROJECT), homes_of(desk.workspace, AN_ID.replace("3f", "4f"))]
    homes.append(homes_of(other, PROJECT))
    for each in homes:
        (each / "task-010/codex/codex_home").mkdir(parents=True)
    end(desk)
    assert [each.exists() for each in homes] == [False, True, True]
    (homes[0] / "task-010").mkdir(parents=True)  # whoever ended it was killed before
    sweep_ended(desk.workspace, desk.database, now=NOW)
    assert [each.exists() for each in homes] == [False, True, True]


def test_the_same_project_ended_on_another_branch_takes_another_folder(desk: Desk) -> None:
    """As where `.sow` is not tracked: the archive is the same on both."""
    _, first, _ = end(desk)
    again = replace_project(desk)
    _, second, _ = end(desk)
    assert first is not None
    assert (again.id, second) == (PROJECT, f"{first}.2")


def replace_project(desk: Desk) -> Project:
    return new_project(desk.workspace, name="desk", project_id=PROJECT, now=NOW)


def test_a_queue_that_never_was_is_made_so_that_nobody_slips_in(desk: Desk) -> None:
    desk.database.close()
    for file in desk.workspace.run.glob("queue.db*"):
        file.unlink()
    end(desk)
    assert desk.workspace.queue_db.is_file()


class Meanwhile(dict[str, str]):
    """An environment in which somebody ends the project when a variable is first asked for."""

    def __init__(self, desk: Desk, variable: str) -> None:
        super().__init__(desk.caller.environ)
        self.desk = desk
        self.variable = variable

    def get(self, name: str, default: Any = None) -> Any:
        if name == self.variable:
            self.variable = ""
            end(self.desk)
        return super().get(name, default)


UNIT = CheckTerms(names=("unit",))
CALLS: dict[str, Callable[[Desk], Request]] = {
    "spawn": lambda desk: desk.spawn(),
    "check": lambda _: Request(
        verb=Verb.CHECK, task_id=TaskId(""), terms=CheckTerms(names=("unit",))
    ),
    "task check": lambda _: Request(
        verb=Verb.CHECK, task_id=TaskId("010"), terms=CheckTerms(names=("unit",))
    ),
    "review": lambda _: Request(verb=Verb.REVIEW, task_id=TaskId("010")),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_placed_for_a_project_that_ends_in_between(desk: Desk, name: str) -> None:
    desk.workspace.repository_config.write_text("checks: {unit: echo hello}\n")
    desk.task(status=TaskStatus.NEEDS_REVIEW if name == "review" else TaskStatus.PENDING)
    request = CALLS[name](desk)
    caller = replace(desk.caller, environ=Meanwhile(desk, "PATH"))
    with pytest.raises(SowError) as refused:
        place(caller, desk.database, desk.config, request)
    assert isinstance(refused.value, ProjectIsEnding), refused.value
    assert jobs.newest_id(desk.database) == JobId(0)


LOOKS_BEFORE_THE_RECORD = 3


def test_no_batch_is_made_for_a_project_that_ends_in_between(desk: Desk) -> None:
    desk.task()

    class Wanting:
        """What a call asks for; the project ends between the last look at it and the record."""

        name, selection, asked = "night", Selection(tasks=("010",)), {}
        looks = 0

        @property
        def policy(self) -> BatchPolicy:
            self.looks += 1
            if self.looks == LOOKS_BEFORE_THE_RECORD:
                end(desk)
            return BatchPolicy()

    with pytest.raises(ProjectIsEnding):
        make_or_attach(desk.caller, desk.database, Wanting())  # type: ignore[arg-type]
    assert batches.all_batches(desk.database, PROJECT, limit=9) == []


def test_a_project_that_was_begun_in_between_is_left_alone(desk: Desk) -> None:
    """A worker has read of an end; by the time it acts, the branch has its next project."""
    fields = {"how": "abandoned", "by": "orchestrator", "at": "2026-01-31T12:00:00Z"}
    change_project(desk.workspace, lambda _: {"ending": fields}, now=NOW)
    assert carry_out(desk) is not None
    new_project(desk.workspace, name="next", project_id=AN_ID, now=NOW)  # type: ignore[arg-type]
    assert carry_out(desk) is None
    assert read_project(desk.workspace).name == "next"


def test_what_an_agent_puts_in_the_place_of_the_state_holds_no_worker_up(desk: Desk) -> None:
    """A worker looks every few seconds, on the thread that starts jobs."""
    state = desk.workspace.project_state
    state.unlink()
    os.mkfifo(state)
    assert not is_end_recorded(desk.workspace)
    state.unlink()
    with state.open("wb") as file:
        file.write(b"ending:")
        file.truncate(STATE_LIMIT + 1)
    assert not is_end_recorded(desk.workspace), "it is larger than any state"
