"""A repository that a process has asked git about, and asks about again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from clones.clone_site import plain

from sow.git import repository
from sow.git.git_errors import NoRepository
from sow.git.repository import repository_of


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that gets each folder which git is asked about."""
    folders: list[Path] = []
    ask = repository.git_answer

    def noting(folder: Path, *words: str) -> tuple[int, bytes, str]:
        folders.append(folder)
        return ask(folder, *words)

    monkeypatch.setattr(repository, "git_answer", noting)
    return folders


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    top.mkdir()
    begin(top)
    return top


def begin(top: Path) -> None:
    plain(top, "init", "-q", "-b", "main")
    plain(top, "config", "user.name", "A Person")
    plain(top, "config", "user.email", "person@example.invalid")
    plain(top, "commit", "-q", "--allow-empty", "-m", "First")


def test_git_is_not_asked_again_for_another_branch_or_commit(top: Path, asked: list[Path]) -> None:
    inside = top / "inside"
    inside.mkdir()
    first = repository_of(inside)
    plain(top, "commit", "-q", "--allow-empty", "-m", "Second")
    plain(top, "checkout", "-q", "-b", "other")
    plain(top, "pack-refs", "--all")
    again = repository_of(inside)
    assert asked == [inside]
    assert (again.branch, again.commit) == ("other", plain(top, "rev-parse", "HEAD"))
    assert again != first
    repository._known.clear()
    assert repository_of(inside) == again


def shallow(top: Path) -> None:
    (top / ".git/shallow").write_text(plain(top, "rev-parse", "HEAD") + "\n")


def replaced(top: Path) -> None:
    (top / ".git").rename(top / "former")
    begin(top)


def symbolic(top: Path) -> None:
    plain(top, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    plain(top, "symbolic-ref", "HEAD", "refs/heads/alias")


@pytest.mark.parametrize(
    "change",
    [
        lambda top: plain(top, "checkout", "-q", "--detach"),
        lambda top: plain(top, "config", "core.worktree", str(top)),
        shallow,
        replaced,
        symbolic,
    ],
)
def test_git_is_asked_again_where_more_has_changed(
    top: Path, asked: list[Path], change: Callable[[Path], object]
) -> None:
    repository_of(top)
    change(top)
    again = repository_of(top)
    assert asked == [top, top]
    repository._known.clear()
    assert repository_of(top) == again


def test_a_repository_that_is_gone_or_bare_is_none(top: Path) -> None:
    repository_of(top)
    plain(top, "config", "core.bare", "true")
    with pytest.raises(NoRepository):
        repository_of(top)
    plain(top, "config", "core.bare", "false")
    repository_of(top)
    (top / ".git").rename(top / "former")
    with pytest.raises(NoRepository):
        repository_of(top)


def test_git_is_always_asked_about_a_linked_working_tree(top: Path, asked: list[Path]) -> None:
    beside = top.with_name("beside")
    plain(top, "worktree", "add", "-q", str(beside))
    assert repository_of(beside).branch == repository_of(beside).branch == "beside"
    assert asked == [beside, beside]
