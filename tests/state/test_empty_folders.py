"""Empty folders, which a change of branches leaves behind, are no project and no task."""

import pytest

from sow.files import NotAFile
from sow.ids import ProjectId
from sow.state.projects import new_project, read_project
from sow.state.state_errors import NoProject, ProjectWithoutState, UnknownTask
from sow.state.tasks import add_task, find_task, list_tasks, read_task

NOON = 1_769_860_800.0
OTHER_ID = ProjectId("1b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e")


def remove_files(workspace):
    """Do what `git checkout` of a branch without a project does."""
    for path in workspace.project.rglob("*"):
        if path.is_file():
            path.unlink()


def test_empty_folders_are_no_project_and_one_can_be_begun_over_them(workspace):
    add_task(workspace, name="A task", agent="implementer", now=NOON)
    remove_files(workspace)
    assert workspace.task("implementation", "010").is_dir()
    for act in (read_project, list_tasks, lambda there: find_task(there, "010")):
        with pytest.raises(NoProject, match="there is no project"):
            act(workspace)
    made = new_project(workspace, name="Another", project_id=OTHER_ID, now=NOON)
    assert (made.name, list_tasks(workspace)) == ("Another", [])


def test_an_empty_folder_is_no_task_and_one_can_be_added_over_it(workspace):
    left = workspace.task("implementation", "010")
    (left / "feedback").mkdir(parents=True)
    assert list_tasks(workspace) == []
    with pytest.raises(UnknownTask):
        find_task(workspace, "010")
    assert add_task(workspace, name="T", agent="tester", now=NOON, task_id="010").id == "010"


def test_files_without_a_state_are_named_and_kept(workspace):
    add_task(workspace, name="A task", agent="implementer", now=NOON)
    kept = find_task(workspace, "010").feedback / "001.md"
    kept.write_text("Greet.\n")
    for path in workspace.project.rglob("*"):
        if path.is_file() and path != kept:
            path.unlink()
    inside = "phases/implementation/tasks/010/feedback/001.md"
    for act in (
        read_project,
        lambda there: new_project(there, name="Another", project_id=OTHER_ID, now=NOON),
    ):
        with pytest.raises(ProjectWithoutState) as caught:
            act(workspace)
        assert caught.value.message.endswith(f"holds files ({inside}), but no state.yaml")
        assert "move the folder away" in caught.value.hint
    assert kept.read_text() == "Greet.\n"


def test_what_nobody_may_look_at_is_not_called_missing(workspace):
    """A worker owes a task nothing that is gone, and waits for a project that is elsewhere."""
    folder = find_task(workspace, add_task(workspace, name="T", agent="tester", now=NOON).id).folder
    for path, act in (
        (folder, lambda: read_task(workspace, "010")),
        (workspace.phases, lambda: read_task(workspace, "010")),
        (workspace.project, lambda: read_project(workspace)),
    ):
        aside = path.with_name("aside")
        path.rename(aside)
        path.symlink_to(path)  # refused to root as well
        with pytest.raises(NotAFile, match="too many levels"):
            act()
        path.unlink()
        aside.rename(path)
    assert read_task(workspace, "010").name == "T"
