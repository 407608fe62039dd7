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


def included(top: Path) -> None:
    (top / ".git/more").write_text("[core]\n\tworktree = ..\n")
    plain(top, "config", "include.path", "more")


CHANGES = [
    lambda top: plain(top, "checkout", "-q", "--detach"),
    lambda top: plain(top, "config", "core.worktree", str(top)),
    lambda top: plain(top, "config", "core.repositoryFormatVersion", "1"),
    lambda top: plain(top, "config", "extensions.worktreeConfig", "true"),
    included,
    shallow,
    symbolic,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("inside", ["", "inside"])
def test_git_is_asked_again_where_more_has_changed(
    top: Path, asked: list[Path], change: Callable[[Path], object], inside: str
) -> None:
    folder = top / inside
    folder.mkdir(exist_ok=True)
    first = repository_of(folder)
    assert asked == ([folder] if inside else []), "the top of a plain one is read"
    change(top)
    again = repository_of(folder)
    assert asked[bool(inside) :] == [folder]
    assert first.top == again.top == top
    repository._known.clear()
    assert repository_of(folder) == again


@pytest.mark.parametrize("change", [replaced, lambda _: None])
def test_what_is_read_is_what_git_says(
    top: Path, asked: list[Path], change: Callable[[Path], object]
) -> None:
    repository_of(top)
    change(top)
    plain(top, "checkout", "-q", "-b", "a/b")
    plain(top, "pack-refs", "--all")
    read = repository_of(top)
    assert asked == []
    assert read == repository._asked(top)


def another_user(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repository.os, "geteuid", lambda: 12345)


def linked(top: Path, _: pytest.MonkeyPatch) -> None:
    (top / ".git/objects").rename(top.with_name("objects"))
    (top / ".git/objects").symlink_to(top.with_name("objects"))


def without_branch(top: Path, _: pytest.MonkeyPatch) -> None:
    plain(top, "checkout", "-q", "--detach")


@pytest.mark.parametrize("change", [another_user, linked, without_branch])
def test_git_is_asked_first_of_what_only_git_may_trust(
    top: Path, asked: list[Path], monkeypatch: pytest.MonkeyPatch, change: Callable[..., object]
) -> None:
    change(top, monkeypatch)
    assert repository_of(top).top == top
    assert asked == [top]


def test_a_repository_without_a_commit_is_none(tmp_path: Path) -> None:
    plain(tmp_path, "init", "-q", "-b", "main")
    with pytest.raises(NoRepository):
        repository_of(tmp_path)


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
