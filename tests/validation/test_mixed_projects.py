"""Two projects in one place, on a branch made of the other's branch: the real git mixes them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from validation.conftest import NOON, PROJECT_ID

from sow.paths import Workspace
from sow.state.projects import change_project, read_project

pytestmark = pytest.mark.slow  # git process after process


class Two:
    """`A project` with the task First on main, and `Gamma` with Other on a branch made of it."""

    def __init__(self, workspace: Workspace, git, commit, sow) -> None:
        self.workspace, self.git, self.commit, self.sow = workspace, git, commit, sow
        sow("task", "add", "First", "--agent", "implementer")
        sow("task", "abandon", "010")
        commit("begun")
        git("checkout", "-q", "-b", "gamma")
        sow("project", "abandon", "--remove")
        sow("project", "new", "Gamma")
        sow("task", "add", "Other", "--agent", "tester")
        sow("task", "add", "Another", "--agent", "tester")
        sow("task", "abandon", "010")
        sow("task", "abandon", "020")
        sow("agent", "log", "Of Gamma", "--task", "010")
        commit("Gamma")
        git("checkout", "-q", "main")
        self.end()

    def end(self) -> None:
        """End the project that is checked out."""
        change_project(self.workspace, lambda _: {"state": "completed"}, now=NOON + 9)
        self.sow("project", "finish")
        self.commit("ended")

    def archive(self, commit: str, beginning: str = PROJECT_ID[:8]) -> dict[str, str]:
        """Return the blobs of an ended project, as a commit or the index (`--cached`) has them."""
        names = [path.name for path in self.workspace.archive.iterdir()]
        (name,) = [name for name in names if name.endswith(beginning)]
        return self.blobs(commit, f".sow/knowledge/projects/{name}")

    def blobs(self, commit: str, folder: str) -> dict[str, str]:
        rows = self.git("ls-tree", "-r", commit, "--", folder).splitlines()
        return {row.partition("\t")[2]: row.split()[2] for row in rows}

    def solved(self) -> None:
        """Commit what there is, and continue what is under way."""
        self.commit("merged")


@pytest.fixture
def two(workspace: Workspace, git, commit, sow) -> Two:
    return Two(workspace, git, commit, sow)


def only_mixed(validate: Callable) -> None:
    found = validate()
    assert found.kinds == ["mixed"]
    assert validate("--fix").code == 0


@pytest.mark.parametrize("onto", ["gamma", "main"])
def test_a_project_that_goes_on_and_an_ended_one_are_parted(two: Two, validate, onto: str) -> None:
    other = {"gamma": "main", "main": "gamma"}[onto]
    two.git("checkout", "-q", onto)
    two.git("merge", "-q", other, code=1)
    only_mixed(validate)
    assert "Gamma: " in two.sow("status")
    two.solved()
    assert two.archive("HEAD") == two.archive("main" if onto == "gamma" else "HEAD^1")
    assert two.blobs("HEAD", ".sow/project") == two.blobs("gamma", ".sow/project")
    assert validate().code == 0


def test_two_ended_ones_are_parted(two: Two, validate) -> None:
    two.git("checkout", "-q", "gamma")
    gamma = read_project(two.workspace).id[:8]
    two.end()
    two.git("merge", "-q", "main", code=1)
    only_mixed(validate)
    two.solved()
    assert two.archive("HEAD") == two.archive("main")
    assert two.archive("HEAD", gamma) == two.archive("HEAD^1", gamma)
    assert not two.workspace.project.exists()


def test_what_was_committed_mixed_is_parted_too(two: Two, validate) -> None:
    two.git("checkout", "-q", "gamma")
    two.git("merge", "-q", "main", code=1)
    two.git("checkout", "-q", "--ours", ".sow/knowledge")
    two.git("rm", "-qrf", ".sow/project")
    two.solved()
    assert "There is no project" in two.sow("status")
    assert "was finished" not in two.sow("status")
    assert "sow validate" in two.sow("next")
    only_mixed(validate)
    assert "sow validate" not in two.sow("next")
    two.solved()
    assert two.archive("HEAD") == two.archive("main")
    assert two.blobs("HEAD", ".sow/project") == two.blobs("HEAD^^", ".sow/project")


def test_a_rebase_onto_an_ended_one_is_parted(two: Two, validate) -> None:
    two.git("checkout", "-q", "gamma")
    two.git("rebase", "-q", "main", code=1)
    only_mixed(validate)
    two.git("add", ".sow")
    two.git("-c", "core.editor=true", "rebase", "--continue")
    assert two.archive("HEAD") == two.archive("main")
    assert two.blobs("HEAD", ".sow/project") == two.blobs("ORIG_HEAD", ".sow/project")


def test_with_a_new_project_in_the_place_a_person_has_to_say(two: Two, validate) -> None:
    two.git("checkout", "-q", "gamma")
    two.git("merge", "-q", "main", code=1)
    two.git("checkout", "-q", "--ours", ".sow/knowledge")
    two.git("rm", "-qrf", ".sow/project")
    two.solved()
    two.sow("project", "new", "Delta")
    before = two.git("status", "--porcelain")
    found = validate("--fix")
    assert (found.kinds, found.code) == (["mixed"], 1)
    assert two.git("status", "--porcelain") == before


def test_an_ended_project_that_a_person_has_corrected_is_not_touched(two: Two, validate) -> None:
    (log,) = two.workspace.archive.glob("*/log.md")
    (state,) = two.workspace.archive.glob("*/phases/*/tasks/010/state.yaml")
    log.write_text(log.read_text() + "\nA word more.\n")
    state.write_text(state.read_text().replace("First", "The first"))
    two.commit("corrected")
    assert "mixed" not in validate().kinds


@pytest.mark.parametrize("is_changed", [True, False])
def test_where_two_projects_meet_each_side_is_named_with_its_command(
    two: Two, validate, is_changed: bool
) -> None:
    two.git("checkout", "-q", "-B", "one", "main~1")
    if is_changed:
        two.sow("project", "set", "description", "More of it")
    two.sow("task", "add", "More", "--agent", "tester")
    two.commit("more")
    two.git("merge", "-q", "gamma", code=1)
    found = validate("--fix")
    assert found.kinds == ["conflict"]
    (finding,) = found.record["findings"]
    assert "'A project' (ours) and 'Gamma' (theirs)" in finding["what"]
    command = "git restore --source=HEAD --staged --worktree .sow/project"
    assert f"`{command}`" in finding["remedy"]
    two.git(*command.split()[1:])
    two.commit("ours")
    assert two.blobs("HEAD", ".sow/project") == two.blobs("HEAD^", ".sow/project")
    assert validate().code == 0
    assert Path(two.workspace.project_state).exists()
