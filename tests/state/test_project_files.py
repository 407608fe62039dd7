"""The project's own folder, and what `sow init` lays down."""

import subprocess

import pytest

from sow.errors import StateError
from sow.paths import Workspace
from sow.schema.config import RepositoryConfigFile
from sow.state.projects import new_project, read_project
from sow.state.state_errors import InvalidState, NewerState, NoProject, RefusedChange
from sow.state.transitions import moment
from sow.state.workspace_init import init_workspace
from sow.yamlfile import read_yaml

NOON = 1_769_860_800.0
PROJECT_ID = "0b5f4b7e-2d1a-4b58-9d8e-0e0e0e0e0e0e"


def begin(workspace, **options):
    return new_project(workspace, **{"name": "P", "project_id": PROJECT_ID, "now": NOON, **options})


@pytest.fixture
def empty(tmp_path):
    init_workspace(tmp_path)
    return Workspace(tmp_path)


def test_a_project_is_whole(empty):
    project = begin(empty, description="What for", branch="main", phases=["design", "build"])
    assert project == read_project(empty)
    assert (project.id, project.name, project.branch) == (PROJECT_ID, "P", "main")
    assert project.phases == ["design", "build"]
    assert project.created_at == moment(NOON)
    assert empty.tasks("design").is_dir()
    assert empty.tasks("build").is_dir()
    assert (empty.project / "context").is_dir()
    assert (empty.project / "log.md").read_text() == ""


def test_there_is_one_project(empty):
    begin(empty)
    before = empty.project_state.read_bytes()
    with pytest.raises(StateError, match="a project exists already"):
        begin(empty, name="Other")
    assert empty.project_state.read_bytes() == before


@pytest.mark.parametrize("options", [{"name": ""}, {"project_id": "x"}, {"phases": []}])
def test_an_invalid_project_is_not_made(empty, options):
    with pytest.raises(RefusedChange):
        begin(empty, **options)
    assert not empty.project.exists()
    assert list(empty.sow.glob(".project*")) == []


def test_no_project_says_how_to_begin_one(empty):
    with pytest.raises(NoProject):
        read_project(empty)


def test_a_broken_project_is_told(empty):
    begin(empty)
    empty.project_state.write_text("project: {nme: x}")
    with pytest.raises(InvalidState, match=r"project\.nme: unknown key 'nme'; did you mean 'name'"):
        read_project(empty)


def test_init_makes_everything_once(tmp_path):
    first = init_workspace(tmp_path)
    assert first.stood == ()
    assert sorted(first.made) == sorted(
        f".sow/{name}"
        for name in (
            ".version",
            "config.yaml",
            ".gitignore",
            ".gitattributes",
            "knowledge/",
            "refs/",
        )
    )
    second = init_workspace(tmp_path)
    assert (sorted(second.stood), second.made) == (sorted(first.made), ())


def test_init_changes_no_file_that_stands(tmp_path):
    init_workspace(tmp_path)
    (tmp_path / ".sow/config.yaml").write_text("worker: {concurrency: 9}\n")
    (tmp_path / ".sow/knowledge").rmdir()
    assert init_workspace(tmp_path).made == (".sow/knowledge/",)
    assert (tmp_path / ".sow/config.yaml").read_text() == "worker: {concurrency: 9}\n"


def test_init_leaves_a_newer_folder_alone(tmp_path):
    (tmp_path / ".sow").mkdir()
    (tmp_path / ".sow/.version").write_text("7\n")
    with pytest.raises(NewerState):
        init_workspace(tmp_path)
    assert [path.name for path in (tmp_path / ".sow").iterdir()] == [".version"]


def test_the_settings_template_says_nothing_until_it_is_uncommented(tmp_path):
    init_workspace(tmp_path)
    text = (tmp_path / ".sow/config.yaml").read_text()
    path = tmp_path / ".sow/config.yaml"
    assert read_yaml(text.encode(), RepositoryConfigFile, path=path) == RepositoryConfigFile()


def test_git_sees_what_is_shared_and_nothing_of_this_machine(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    begin(workspace)
    for name in ("run/queue.db", "refs/r/file", "project/.state.yaml.1-a.tmp"):
        (workspace.sow / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.sow / name).write_text("x")
    (workspace.sow / "refs/index.json").write_text("{}")
    seen = subprocess.run(
        ["git", "-C", tmp_path, "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert sorted(seen) == [
        ".sow/.gitattributes",
        ".sow/.gitignore",
        ".sow/.version",
        ".sow/config.yaml",
        ".sow/project/log.md",
        ".sow/project/state.yaml",
        ".sow/refs/index.json",
    ]
