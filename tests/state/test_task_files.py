"""Tasks on disk: found, read, added, changed; and what bad input gets."""

import stat
from pathlib import Path

import pytest

from sow.errors import ExitCode, StateError
from sow.schema.task import TaskStatus
from sow.state import fields
from sow.state.projects import read_project
from sow.state.state_errors import (
    InvalidState,
    Misplaced,
    MissingState,
    NewerState,
    NoProject,
    RefusedChange,
    RefusedDependency,
    RefusedField,
    UnknownTask,
)
from sow.state.tasks import (
    add_task,
    change_task,
    find_task,
    list_tasks,
    read_task,
    reopen,
    scan_tasks,
    set_dependencies,
)
from sow.state.transitions import enter, moment

NOON = 1_769_860_800.0


def add(workspace, name="A task", **options):
    return add_task(workspace, name=name, agent="implementer", now=NOON, **options)


def abandon(workspace, task_id, *, now):
    return change_task(
        workspace, task_id, lambda task: enter(task, TaskStatus.ABANDONED, now=now), now=now
    )


def state_file(workspace, task_id="010") -> Path:
    return find_task(workspace, task_id).state


def test_a_new_task_is_whole(workspace):
    task = add(workspace, "Add JWT auth", description="# Add\n\nIt.\n")
    place = find_task(workspace, "010")
    assert task == read_task(workspace, "010")
    assert (task.id, task.name, task.phase) == ("010", "Add JWT auth", "implementation")
    assert (task.status, task.iteration, task.depends_on) == (TaskStatus.PENDING, 1, [])
    assert task.created_at == task.updated_at == moment(NOON)
    assert place.description.read_text() == "# Add\n\nIt.\n"
    assert place.log.read_text() == ""
    assert place.feedback.is_dir()
    assert 'id: "010"' in place.state.read_text()
    assert stat.S_IMODE(place.state.stat().st_mode) == 0o644


def test_without_a_description_the_name_stands_for_it(workspace):
    add(workspace, "Add JWT auth")
    assert find_task(workspace, "010").description.read_text() == "# Add JWT auth\n"


def test_ids_go_by_tens_across_phases(workspace):
    ids = [
        add(workspace, phase=phase, new_phase=True).id
        for phase in ("implementation", "design", "review")
    ]
    assert ids == ["010", "020", "030"]
    assert add(workspace, task_id="045").id == "045"
    assert add(workspace).id == "050"
    assert add(workspace, task_id="990").id == "990"
    assert add(workspace).id == "1000"
    assert [task.id for task in list_tasks(workspace)] == [*ids, "045", "050", "990", "1000"]


def test_a_new_phase_joins_the_project(workspace):
    add(workspace, phase="design", new_phase=True)
    assert read_project(workspace).phases == ["implementation", "design"]


def test_an_id_is_unique_across_phases(workspace):
    add(workspace, task_id="010")
    with pytest.raises(StateError, match="a task 010 exists already"):
        add(workspace, task_id="010", phase="design", new_phase=True)
    assert not (workspace.phases / "design").exists()


def test_what_cannot_be_added_leaves_nothing(workspace):
    before = sorted(workspace.sow.rglob("*"))
    for options in (
        {"name": ""},
        {"task_id": "../../x"},
        {"task_id": "10"},
        {"phase": "../x"},
        {"phase": "Upper"},
        {"depends_on": ["020"]},
        {"depends_on": ["010"], "task_id": "010"},
    ):
        with pytest.raises(Exception, match=r".") as caught:
            add(workspace, **options)
        assert caught.value.exit_code in (ExitCode.STATE, ExitCode.USAGE)
        assert sorted(workspace.sow.rglob("*")) == before


@pytest.mark.parametrize(
    "task_id", ["..", "../010", "010/..", "/etc", "", "10", "\u0661\u0660\u0660", "010\n", "-10"]
)
def test_an_id_with_path_parts_is_refused(workspace, task_id):
    add(workspace)
    with pytest.raises(StateError, match="not a task id"):
        find_task(workspace, task_id)


def test_an_unknown_task_names_what_there_is(workspace):
    with pytest.raises(UnknownTask) as caught:
        read_task(workspace, "010")
    assert "sow task add" in caught.value.hint
    for _ in range(3):
        add(workspace)
    with pytest.raises(UnknownTask) as caught:
        read_task(workspace, "011")
    assert caught.value.hint == "There are: 010, 020, 030"
    assert caught.value.exit_code == ExitCode.STATE


def test_among_many_the_nearest_are_named(workspace):
    for number in range(1, 16):
        folder = workspace.task("implementation", f"{number}00")
        folder.mkdir(parents=True)
        (folder / "state.yaml").touch()
    with pytest.raises(UnknownTask) as caught:
        find_task(workspace, "1201")
    assert "1200" in caught.value.hint
    assert "all 15" in caught.value.hint


def test_without_a_project_it_says_how_to_begin_one(workspace):
    workspace.project.rename(workspace.root / "gone")
    with pytest.raises(NoProject, match="there is no project") as caught:
        find_task(workspace, "010")
    assert caught.value.hint == "Start one: sow project new NAME"


def test_two_folders_of_one_id_are_told(workspace):
    add(workspace)
    folder = workspace.task("design", "010")
    folder.mkdir(parents=True)
    (folder / "log.md").touch()
    with pytest.raises(StateError, match="two phases have a task 010: design, implementation"):
        find_task(workspace, "010")


def test_a_change_is_written_with_its_comments(workspace):
    add(workspace)
    path = state_file(workspace)
    path.write_text(path.read_text().replace("status: pending", "status: pending  # of seven"))
    before = path.read_text().splitlines()
    task = change_task(
        workspace,
        "010",
        lambda task: enter(task, TaskStatus.IN_PROGRESS, now=NOON + 60),
        now=NOON + 60,
    )
    assert task.status is TaskStatus.IN_PROGRESS
    assert task.updated_at == task.started_at == moment(NOON + 60)
    assert task == read_task(workspace, "010")
    after = path.read_text().splitlines()
    assert [line for line in after if line not in before] == [
        "  status: in_progress  # of seven",
        "  updated_at: 2026-01-31T12:01:00Z",
        "  started_at: 2026-01-31T12:01:00Z",
    ]


@pytest.mark.parametrize(
    "changes", [{}, {"status": TaskStatus.PENDING}, {"depends_on": []}, {"metadata": {}}]
)
def test_no_change_writes_nothing(workspace, changes):
    add(workspace)
    before = state_file(workspace).stat()
    assert change_task(workspace, "010", lambda _: changes, now=NOON + 60).updated_at == moment(
        NOON
    )
    assert state_file(workspace).stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"name": ""}, "task.name"),
        ({"iteration": 0}, "task.iteration"),
        ({"depends_on": ["x"]}, "task.depends_on[0]"),
        ({"assigned_agent": "Not A Slug"}, "task.assigned_agent"),
        ({"session_id": ""}, "task.session_id"),
        ({"status": "done"}, "task.status"),
    ],
)
def test_an_invalid_change_writes_nothing(workspace, changes, key):
    add(workspace)
    before = state_file(workspace).read_bytes()
    with pytest.raises(RefusedChange) as caught:
        change_task(workspace, "010", lambda _: changes, now=NOON)
    assert caught.value.key == key
    assert caught.value.message.startswith(key)
    assert state_file(workspace).read_bytes() == before


def test_what_a_change_raises_passes_through_and_frees_the_lock(workspace):
    add(workspace)

    def refuse(task):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_task(workspace, "010", refuse, now=NOON)
    change_task(workspace, "010", lambda _: {"name": "Other"}, now=NOON)


def test_a_broken_state_is_told_with_file_line_and_reason(workspace):
    add(workspace)
    path = state_file(workspace)
    path.write_text(path.read_text().replace("status: pending", "status: pendign"))
    broken = path.read_bytes()
    for act in (
        lambda: read_task(workspace, "010"),
        lambda: change_task(workspace, "010", lambda _: {"name": "x"}, now=NOON),
        lambda: list_tasks(workspace),
    ):
        with pytest.raises(InvalidState) as caught:
            act()
        assert caught.value.path == path
        assert (caught.value.line, caught.value.key) == (6, "task.status")
        assert "'pendign' is not one of: pending," in caught.value.message
        assert "status: pendign\n          ^" in caught.value.hint
    assert path.read_bytes() == broken


@pytest.mark.parametrize("data", [b"\xff\xfe", b"task: [", b"", b"task:\n  id: 010\n"])
def test_other_broken_bytes_are_told_and_left(workspace, data):
    add(workspace)
    state_file(workspace).write_bytes(data)
    with pytest.raises(InvalidState):
        read_task(workspace, "010")
    with pytest.raises(InvalidState):
        abandon(workspace, "010", now=NOON)
    assert state_file(workspace).read_bytes() == data


def test_one_broken_state_does_not_hide_the_others(workspace):
    add(workspace)
    add(workspace)
    state_file(workspace, "010").write_text("task: [")
    tasks, errors = scan_tasks(workspace)
    assert [task.id for task in tasks] == ["020"]
    assert [error.path for error in errors] == [state_file(workspace, "010")]


def test_a_missing_state_is_told(workspace):
    add(workspace)
    state_file(workspace).unlink()
    with pytest.raises(MissingState) as caught:
        read_task(workspace, "010")
    assert caught.value.path == workspace.task("implementation", "010") / "state.yaml"


def test_a_state_that_is_a_folder_is_told(workspace):
    add(workspace)
    path = state_file(workspace)
    path.unlink()
    path.mkdir()
    with pytest.raises(StateError, match="cannot be used: it is a folder, not a file"):
        read_task(workspace, "010")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [('id: "010"', 'id: "020"', "task.id"), ("phase: impl", "phase: xmpl", "task.phase")],
)
def test_a_state_in_the_wrong_folder_is_told(workspace, old, new, key):
    add(workspace)
    path = state_file(workspace)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(Misplaced) as caught:
        read_task(workspace, "010")
    assert caught.value.key == key


@pytest.mark.parametrize("version", ["3\n", "99", "one"])
def test_a_folder_of_a_newer_sow_is_refused(workspace, version):
    add(workspace)
    before = state_file(workspace).read_bytes()
    (workspace.sow / ".version").write_text(version)
    for act in (
        lambda: read_task(workspace, "010"),
        lambda: list_tasks(workspace),
        lambda: abandon(workspace, "010", now=NOON),
        lambda: add(workspace),
    ):
        with pytest.raises(NewerState, match="this sow reads only version 2 and older"):
            act()
    assert state_file(workspace).read_bytes() == before


def test_a_folder_without_a_version_is_read(workspace):
    add(workspace)
    (workspace.sow / ".version").unlink()
    assert read_task(workspace, "010").id == "010"


def test_abandon_and_reopen(workspace):
    add(workspace)
    session = {"session_id": "s", "session": {"executor": "x", "started": True}}
    change_task(workspace, "010", lambda _: session, now=NOON)
    given_up = abandon(workspace, "010", now=NOON + 1)
    assert given_up.status is TaskStatus.ABANDONED
    assert "completed_at" not in state_file(workspace).read_text()
    assert "session" not in state_file(workspace).read_text()
    again = reopen(workspace, "010", now=NOON + 2)
    assert again.status is TaskStatus.PENDING
    assert "completed_at" not in state_file(workspace).read_text()


def test_dependencies_exist_and_close_no_circle(workspace):
    for _ in range(4):
        add(workspace)
    set_dependencies(workspace, "010", ["020", "030", "020"], now=NOON)
    set_dependencies(workspace, "020", ["030", "040"], now=NOON)
    assert read_task(workspace, "010").depends_on == ["020", "030"]
    with pytest.raises(RefusedDependency, match="040 → 010 → 020 → 040"):
        set_dependencies(workspace, "040", ["010"], now=NOON)
    with pytest.raises(RefusedDependency, match="cannot wait for itself"):
        set_dependencies(workspace, "040", ["040"], now=NOON)
    with pytest.raises(UnknownTask):
        set_dependencies(workspace, "040", ["050"], now=NOON)
    assert read_task(workspace, "040").depends_on == []
    assert set_dependencies(workspace, "010", [], now=NOON).depends_on == []


@pytest.mark.parametrize(
    ("field", "text", "changes"),
    [
        ("name", "Other", {"name": "Other"}),
        ("files_modified", "a.py, b.py", {"files_modified": ["a.py", "b.py"]}),
        ("files_modified", "[a.py, 'b c.py']", {"files_modified": ["a.py", "b c.py"]}),
        ("references", "", {"references": []}),
        ("feedback", "001.md\n002.md", {"feedback": ["001.md", "002.md"]}),
        ("depends_on", "020", {"depends_on": ["020"]}),
        ("metadata.key", "value", {"metadata.key": "value"}),
        ("metadata.a.b", "010", {"metadata.a.b": "010"}),
        ("assigned_agent", "architect", {"assigned_agent": "architect"}),
        ("status", "abandoned", {"status": TaskStatus.ABANDONED}),
    ],
)
def test_a_field_is_set_from_text(workspace, field, text, changes):
    assert fields.set_field(add(workspace), field, text, now=NOON) == changes


@pytest.mark.parametrize(
    "field",
    [
        "id",
        "phase",
        "iteration",
        "session_id",
        "session",
        "created_at",
        "updated_at",
        "metadata",
        "metadata.",
        "started_at",
        "completed_at",
        "nonsense",
        "Status",
    ],
)
def test_the_other_fields_are_refused_by_name(workspace, field):
    with pytest.raises(RefusedField) as caught:
        fields.set_field(add(workspace), field, "x", now=NOON)
    assert caught.value.message.startswith(f"{field}: ")
    assert "name, status, assigned_agent, depends_on" in caught.value.hint


def test_a_status_that_is_none_names_the_seven(workspace):
    with pytest.raises(RefusedField, match="'done' is not a status") as caught:
        fields.set_field(add(workspace), "status", "done", now=NOON)
    assert caught.value.settable == tuple(TaskStatus)


def test_a_started_session_holds_its_agent(workspace):
    add(workspace)
    task = change_task(workspace, "010", lambda _: {"session_id": "s"}, now=NOON)
    assert fields.set_field(task, "assigned_agent", "implementer", now=NOON)
    with pytest.raises(RefusedField, match="the session of implementer has started") as refused:
        fields.set_field(task, "assigned_agent", "architect", now=NOON)
    assert "`sow agent spawn architect 010 --fresh --reassign`" in refused.value.hint


def test_a_metadata_key_is_set_and_taken_away(workspace):
    add(workspace)
    for text, metadata in (("x", {"a.b": "x"}), ("y", {"a.b": "y"}), ("", {})):
        task = change_task(
            workspace,
            "010",
            lambda task, text=text: fields.set_field(task, "metadata.a.b", text, now=NOON),
            now=NOON,
        )
        assert task.metadata == metadata


def test_a_megabyte_of_description(workspace):
    text = "x" * (1 << 20)
    add(workspace, description=text)
    assert find_task(workspace, "010").description.read_text() == text


def test_drafts_of_a_killed_writer_are_no_tasks(workspace):
    add(workspace)
    workspace.task("implementation", ".020.abc.tmp").mkdir()
    (workspace.tasks("implementation") / "notes").mkdir()
    assert [task.id for task in list_tasks(workspace)] == ["010"]
    assert add(workspace).id == "020"
