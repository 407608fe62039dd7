"""What a batch wanted a person for is a wait for a person, however the task's next job came."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from timeline.made_record import PROJECT

from sow.jobs.database import Database, open_queue
from sow.paths import Workspace
from sow.schema.output.report import SpanKind, TaskStory
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace
from sow.timeline.gathering import gather
from sow.timeline.shown_project import shown_project
from sow.timeline.spans import SHORTEST, PersonWait, split_wait
from sow.timeline.task_stories import stories_of

BEGAN = 1_000_000.0
DIRTY = "the working tree has uncommitted changes"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name="Sign-in", project_id=PROJECT, now=BEGAN)
    add_task(workspace, name="Work", agent="implementer", now=BEGAN, task_id="010")
    return workspace


def put_job(database: Database, job: int, begin: float, end: float, status: str) -> None:
    """Put a job of the batch on record that ran from one moment to another."""
    at = BEGAN + begin
    database.run(
        "insert into job (id, project_id, task_id, phase, verb, agent, executor_name, executor,"
        " prompt, cwd, path_variable, config_file, fresh, priority, state, reason, retry_at,"
        " retries, worker_deaths, settled, corrections, warnings, denied_tools, created_at,"
        " queued_at, started_at, ended_at, outcome_status, batch, batch_step) values (?, ?, '010',"
        " '', 'spawn', 'implementer', 'x', '{\"name\": \"x\", \"type\": \"claude\"}', '', '.', '',"
        " '', 0, 0, 'done', '', 0, 0, 0, 1, '[]', '[]', '[]', ?, ?, ?, ?, ?, 1, ?)",
        (job, PROJECT, at, at, at, BEGAN + end, status, job),
    )


def put_change(database: Database, at: float, kind: str, **data: Any) -> None:
    task = "010" if kind == "item" else ""
    database.run(
        "insert into change (at, project, task, batch, kind, data) values (?, ?, ?, 1, ?, ?)",
        (BEGAN + at, PROJECT, task, kind, msgspec.json.encode(data).decode()),
    )


def story(
    workspace: Workspace, *changes: tuple[float, str, str, str], ended: str, state: str = "done"
) -> TaskStory:
    """Return the story of a task with a job from 0 to 10 and one of its batch's from 100 to 110."""
    database = open_queue(workspace)
    try:
        put_job(database, 1, 0, 10, ended)
        database.run("update job set state = ?", (state,))
        put_job(database, 2, 100, 110, "completed")
        database.run("delete from change")
        for at, kind, status, reason in changes:
            put_change(database, at, kind, status=status, reason=reason)
        shown = shown_project(workspace, database)
        facts = gather(workspace, database, shown, None, now=BEGAN + 200)
        (found,) = stories_of(facts, BEGAN)
        return found
    finally:
        database.close()


def gap(found: TaskStory) -> list[tuple[float, float, str, str]]:
    return [
        (span.begin, span.end, span.kind, span.why)
        for span in found.spans
        if 10 <= span.begin < 100
    ]


def test_a_refused_merge_waits_for_a_person(workspace: Workspace) -> None:
    found = story(
        workspace,
        (20, "item", "needs_person", f"{DIRTY}\n\nCommit them."),
        (90, "item", "merging", ""),
        ended="needs_review",
    )
    assert gap(found) == [
        (10, 20, "worker", "a worker to take it"),
        (20, 90, "person", f"a person: {DIRTY}"),
        (90, 100, "worker", "a worker to take it"),
    ]


def test_a_paused_batch_waits_for_a_person(workspace: Workspace) -> None:
    found = story(
        workspace,
        (10, "batch", "paused", "a person has paused it"),
        (100, "batch", "running", ""),
        ended="needs_review",
    )
    assert gap(found) == [(10, 100, "person", "a person to resume the batch")]


@pytest.mark.parametrize(
    ("status", "why"),
    [("paused", "an answer to its question"), ("failed", "somebody to go on with it")],
)
def test_a_question_waits_for_a_person_where_the_record_was_pruned(
    workspace: Workspace, status: str, why: str
) -> None:
    assert gap(story(workspace, ended=status)) == [(10, 100, "person", why)]


def test_a_task_that_a_cancel_has_paused_waits_for_no_answer(workspace: Workspace) -> None:
    found = story(workspace, ended="paused", state="cancelled")
    assert gap(found) == [(10, 100, "person", "somebody to go on with it")]


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)).map(sorted), max_size=8),
    st.floats(0, 50),
    st.floats(50, 100),
)
def test_a_stretch_is_split_without_gap_or_overlap(
    waits: list[list[float]], begin: float, end: float
) -> None:
    found = list(
        split_wait(
            begin, end, (SpanKind.SLOT, "a slot"), [PersonWait(a, b, "a person") for a, b in waits]
        )
    )
    if end - begin < SHORTEST:
        assert not found
        return
    edges = [begin, *(edge for stay in found for edge in (stay.begin, stay.end)), end]
    assert all(edges[at + 1] - edges[at] <= SHORTEST for at in range(0, len(edges), 2))
    assert edges == sorted(edges)
