"""A task's clone by another working tree of the same repository is refused, whichever made it."""

import shutil
from pathlib import Path

import pytest

from sow.clone_mark import CHECKOUT_PLACE, CloneMark
from sow.clones.checkout_id import checkout_id
from sow.clones.record import ClonedElsewhere, note_clone, refuse_cloned_elsewhere
from sow.errors import SowError
from sow.git.repository import Repository, repository_of
from sow.git.run import git
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.situation.branches import Branches
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace

PROJECT, TASK = "a-project", "010"


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Repository, ...]:
    """Give a repository's first working tree, and two that git has added to it."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    who = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    git(main, *who, "commit", "-q", "--allow-empty", "-m", "First")
    for name in ("one", "two"):
        git(main, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    return tuple(repository_of(tmp_path / name) for name in ("main", "one", "two"))


def note(repository: Repository, project: str = PROJECT) -> Path:
    """Make a folder, and put it on record as the task's clone by a working tree."""
    clone = repository.top.with_name(f"clone-{repository.top.name}")
    clone.mkdir()
    mark = CloneMark(
        workspace=str(repository.top),
        checkout=checkout_id(repository),
        project=project,
        task=TASK,
        branch="sow/a-project/010",
        base=repository.commit,
        path=str(clone),
        stage="ready",
    )
    note_clone(repository, mark)
    return clone


@pytest.mark.parametrize(("makes", "asks"), [(0, 1), (1, 0), (1, 2), (2, 1)])
def test_whoever_comes_second_is_told_which_was_first(
    trees: tuple[Repository, ...], makes: int, asks: int
) -> None:
    note(trees[makes])
    with pytest.raises(ClonedElsewhere) as refused:
        refuse_cloned_elsewhere(trees[asks], PROJECT, TASK)
    assert f"belongs to the working tree {trees[makes].top}," in refused.value.message
    refuse_cloned_elsewhere(trees[makes], PROJECT, TASK)


def test_another_project_and_another_task_are_not_meant(trees: tuple[Repository, ...]) -> None:
    note(trees[0])
    refuse_cloned_elsewhere(trees[1], "another", TASK)
    refuse_cloned_elsewhere(trees[1], PROJECT, "020")


def test_a_clone_that_is_gone_stands_in_nobodys_way(trees: tuple[Repository, ...]) -> None:
    shutil.rmtree(note(trees[0]))
    refuse_cloned_elsewhere(trees[1], PROJECT, TASK)


def test_a_repository_with_one_working_tree_has_no_other(trees: tuple[Repository, ...]) -> None:
    main = trees[0]
    for tree in trees[1:]:
        git(main.top, "worktree", "remove", str(tree.top))
    note(main)
    refuse_cloned_elsewhere(main, PROJECT, TASK)


def test_where_nobody_can_tell_its_folder_the_git_folder_is_named(
    trees: tuple[Repository, ...],
) -> None:
    note(trees[1])
    (trees[1].git_dir / CHECKOUT_PLACE).unlink()
    with pytest.raises(ClonedElsewhere, match=str(trees[1].git_dir)):
        refuse_cloned_elsewhere(trees[0], PROJECT, TASK)


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["", "part/deeper"])
def test_a_look_at_the_whole_sees_it_wherever_the_workspace_lies(
    trees: tuple[Repository, ...],
    tmp_path: Path,
    inside: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where `.sow` lies below the top of its working tree; and git may be nowhere."""
    project = ProjectId("01234567-0000-4000-8000-000000000000")

    def seen_from(root: Path) -> SowError | None:
        root.mkdir(parents=True, exist_ok=True)
        init_workspace(root)
        workspace = Workspace(root)
        begun = new_project(workspace, name="A project", project_id=project, now=0.0)
        task = add_task(workspace, name="A task", agent="tester", now=0.0)
        return Branches(workspace, begun, [task], lambda _: None).cloned_elsewhere(task)

    note(trees[1], project)
    assert isinstance(seen_from(trees[0].top / inside), ClonedElsewhere)
    assert seen_from(trees[1].top / inside) is None
    outside = tmp_path / "outside"
    (outside / "worktrees").mkdir(parents=True)
    monkeypatch.chdir(outside)
    assert seen_from(outside) is None
