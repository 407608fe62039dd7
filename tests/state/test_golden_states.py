"""State files of every schema version are read for ever. Add files here; never change one."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from sow.executors.session import type_of_maker
from sow.schema.project import ProjectState
from sow.schema.task import TaskState, TaskStatus
from sow.state.task_log import read_entries
from sow.yamlfile import read_yaml

GOLDEN = Path(__file__).parent / "golden"
TASKS = sorted(GOLDEN.glob("task-*.yaml"))


def read(name: str, type):
    path = GOLDEN / name
    return read_yaml(path.read_bytes(), type, path=path)


def test_there_are_golden_files():
    assert len(TASKS) >= 4


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_every_task_is_read(path):
    assert read(path.name, TaskState).task.id


def test_the_full_task_of_version_1():
    task = read("task-v1-full.yaml", TaskState).task
    assert task.status is TaskStatus.NEEDS_REVIEW
    assert (task.iteration, task.depends_on) == (3, ["010", "020"])
    assert task.session_id == "3f6c2a90-1d5e-4b7a-8c1e-2a9d40b7e613"
    assert (task.session.executor, task.session.cwd) == ("cursor", "services/api")
    assert (task.session.started, task.session.dialect) == (True, "chat-id")
    assert task.session_started
    assert task.started_at == datetime(2026, 1, 31, 12, 5, tzinfo=UTC)
    assert task.metadata == {"estimate": 3, "labels": ["auth", "api"]}


def test_the_full_task_of_version_2():
    task = read("task-v2-full.yaml", TaskState).task
    assert task.clone.path == "/home/ada/.local/state/sow/clones/shop-3f6c2a90/0b5f4b7e/030"
    assert task.clone.branch == "sow/shop-0b5f4b7e/030"
    assert task.clone.base == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_a_task_of_version_2_with_a_key():
    task = read("task-v2-key.yaml", TaskState).task
    assert (task.key, task.priority, task.depends_on) == ("api/login", -3, ["010"])


def test_a_task_of_version_2_with_the_type_of_its_executor():
    session = read("task-v2-session-type.yaml", TaskState).task.session
    assert (session.executor, session.type, session.started) == ("fast", "codex", True)


def test_a_name_that_was_free_in_version_1_tells_no_type():
    session = read("task-v1-own-codex.yaml", TaskState).task.session
    assert (session.executor, session.type) == ("codex", msgspec.UNSET)
    assert type_of_maker(session) is None
    assert type_of_maker(read("task-v1-full.yaml", TaskState).task.session) == "cursor"


def test_the_smallest_task_of_version_1():
    task = read("task-v1-smallest.yaml", TaskState).task
    assert (task.status, task.iteration) == (TaskStatus.PENDING, 1)
    assert not task.session_started


def test_a_session_of_another_tool_counts_as_started():
    task = read("task-v1-foreign-session.yaml", TaskState).task
    assert task.session is msgspec.UNSET
    assert task.session_started


def test_a_finished_task():
    task = read("task-v1-completed.yaml", TaskState).task
    assert task.status is TaskStatus.COMPLETED
    assert task.completed_at == datetime(2026, 2, 1, 9, 30, tzinfo=UTC)


def test_the_project_of_version_1():
    project = read("project-v1.yaml", ProjectState).project
    assert project.phases == ["design", "implementation"]


def test_the_records_of_a_project_of_version_2():
    project = read("project-v2-records.yaml", ProjectState).project
    (goal,), (design,) = project.inputs, project.outputs
    assert (goal.path, goal.type, goal.approved) == ("docs/goal.md", "goal", msgspec.UNSET)
    assert (design.by, design.approved.by) == ("orchestrator", "person")
    settled, open_one = project.feedback
    assert (settled.file, settled.status, settled.settled_by) == (
        "001.md",
        "settled",
        "orchestrator",
    )
    assert (open_one.id, open_one.status, open_one.settled_at) == ("002", "open", msgspec.UNSET)


def test_the_lifecycle_of_a_project_of_version_2():
    project = read("project-v2-lifecycle.yaml", ProjectState).project
    assert (project.kind, project.standing, project.round) == ("standard", "finalizing", 2)
    assert (project.review.verdict, project.check.names) == ("accepted", ["unit"])
    assert (project.plan.by, project.ending.how) == ("person", "finished")
    breakdown = read("project-v2-breakdown.yaml", ProjectState).project
    assert (breakdown.kind, breakdown.standing) == ("breakdown", "publishing")
    assert [unit.id for unit in breakdown.units] == ["010"]


def test_a_project_of_version_1_is_a_standard_one_in_execution():
    project = read("project-v1.yaml", ProjectState).project
    assert (project.kind, project.standing, project.round) == ("standard", "executing", 1)


def test_the_log_with_ids():
    first, person, end = read_entries(GOLDEN / "log-v2.md")
    assert (first.id, first.job, first.attempt) == ("3f6c2a901d5e", 12, 2)
    assert (first.files, first.text) == (
        ("src/auth.py",),
        "Free text.\n ---\nAfter a line of dashes.",
    )
    assert (person.agent, person.id) == ("ada", "")
    assert (end.role, end.event, end.job) == ("implementer", "job", 12)


def test_the_log_of_version_1():
    first, second = read_entries(GOLDEN / "log-v1.md")
    assert (first.agent, first.result, first.files) == ("implementer", "success", ("src/auth.py",))
    assert first.text == "Free text.\n ---\nAfter a line of dashes."
    assert (second.action, second.text) == ("yes: it's done", "")
