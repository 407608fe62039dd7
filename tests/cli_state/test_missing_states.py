"""A `state.yaml` that is gone: `sow next` names what brings it back, and that does it."""

import subprocess

import pytest

TASK = ".sow/project/phases/implementation/tasks/020"
WHO = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(folder, *words: str) -> None:
    subprocess.run(["git", *WHO, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def begun(sow, tmp_path):
    """Return a repository whose project has two tasks."""
    git(tmp_path, "init", "-q", "-b", "main")
    assert sow("init").code == 0
    assert sow("project", "new", "Sign-in").code == 0
    for name in ("One", "Two"):
        assert sow("task", "add", name, "--agent", "implementer").code == 0
    return tmp_path


def mend(sow, folder) -> str:
    """Run the first of what comes next, as its reader would; return it."""
    first = sow("next", "--json").lines[0]
    assert first["by"] == "person"
    subprocess.run(["sh", "-c", first["command"]], cwd=folder, check=True)
    return first["command"]


@pytest.mark.parametrize("lost", [TASK, ".sow/project"])
@pytest.mark.parametrize("is_staged", [False, True])
def test_what_the_last_commit_has_is_brought_back(sow, begun, lost, is_staged):
    git(begun, "add", "-A")
    git(begun, "commit", "-q", "-m", "begin")
    before = (begun / lost / "state.yaml").read_bytes()
    (begun / lost / "state.yaml").unlink()
    if is_staged:
        git(begun, "add", "-A")
    assert mend(sow, begun).startswith("git restore ")
    assert (begun / lost / "state.yaml").read_bytes() == before
    assert sow("validate").code == 0


def test_a_task_that_no_commit_has_goes_out_of_the_way(sow, begun):
    for number in ("", "-2"):
        (begun / TASK / "state.yaml").unlink()
        assert mend(sow, begun).startswith("mv ")
        kept = begun / f".sow/project/context/020-without-state{number}/description.md"
        assert kept.read_text() == "# Two\n"
        assert sow("validate").code == 0
        assert [task["task"] for task in sow("task", "list", "--json").lines] == ["010"]
        assert sow("task", "add", "Two", "--agent", "implementer", "--id", "020").code == 0


def test_there_need_be_no_folder_for_it(sow, begun):
    (begun / ".sow/project/context").rmdir()
    (begun / TASK / "state.yaml").unlink()
    mend(sow, begun)
    assert (begun / ".sow/project/context/020-without-state").is_dir()


def test_a_project_that_no_commit_has_goes_out_of_the_way(sow, begun):
    (begun / ".sow/project/state.yaml").unlink()
    assert mend(sow, begun) == "mv .sow/project .sow/project-without-state"
    assert sow("next", "--json").lines[0]["command"] == 'sow project new "<name>"'
    assert sow("validate").code == 0
