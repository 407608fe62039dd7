"""A partial and sparse clone of a repository: its tasks have clones while its remote is reached."""

from dataclasses import replace
from pathlib import Path

import pytest
from clones.clone_site import name_author, plain
from clones.making_site import Home, bring, commit, make_home
from clones.merge_site import MergeSite

from sow.clones.update import update_clone
from sow.git import promised
from sow.git.promised import PromisedNotFetched, fetch_promised, is_partial, remote_of

pytestmark = pytest.mark.slow  # process after process
FILTERS = ["blob:none", "tree:0"]


@pytest.fixture
def origin(tmp_path: Path) -> Home:
    """Return a repository that others clone in part, with files below folders."""
    home = make_home(tmp_path)
    for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        plain(home.top, "config", name, "true")
    commit(home.top, "deep/er/file", "first\n")
    commit(home.top, "deep/er/file", "second\n")
    return home


@pytest.fixture(params=FILTERS)
def partial(origin: Home, tmp_path: Path, request: pytest.FixtureRequest) -> Home:
    """Return a partial clone of it in which the folder `.sow` alone is checked out."""
    words = ("clone", "-q", f"--filter={request.param}", "--sparse")
    plain(tmp_path, *words, f"file://{origin.top}", "partial")
    top = tmp_path / "partial"
    plain(top, "sparse-checkout", "set", ".sow")
    name_author(top)
    return replace(origin, workspace=type(origin.workspace)(top))


def test_a_task_of_a_partial_and_sparse_clone_has_a_clone(partial: Home) -> None:
    assert not (partial.top / "deep").exists()
    assert is_partial(partial.repository)
    partial.make()
    path = partial.place().path
    assert (path / "deep/er/file").read_text() == "second\n"
    commit(path, "deep/er/file", "third\n")
    assert bring(partial)


def test_without_its_remote_the_error_says_so_and_the_remedy_works(
    partial: Home, origin: Home, tmp_path: Path
) -> None:
    there = origin.top
    there.rename(tmp_path / "away")
    with pytest.raises(PromisedNotFetched) as caught:
        partial.make()
    assert "is a partial clone, and files of it lie on its remote origin alone" in str(caught.value)
    assert "does not appear to be a git repository" in str(caught.value)
    assert "and the repository exists" not in str(caught.value)
    assert "`git fetch origin` works there" in caught.value.hint
    assert "(--no-clone)" in caught.value.hint
    assert not partial.place().path.exists()

    (tmp_path / "away").rename(there)
    plain(partial.top, "fetch", "origin")
    assert partial.make().is_new


def test_what_the_project_has_got_meanwhile_is_fetched_for_an_update(
    partial: Home, origin: Home
) -> None:
    base = partial.repository.commit
    partial.make()
    place = partial.place()
    commit(place.path, "mine", "mine\n")
    bring(partial)
    commit(origin.top, "deep/other", "theirs\n")
    plain(partial.top, "pull", "-q", "--ff-only")
    branch = partial.repository.branch
    assert branch is not None
    updated = update_clone(place.since(base), partial.repository, branch)
    assert updated.conflicts == ()
    assert (place.path / "deep/other").read_text() == "theirs\n"


def test_a_task_is_merged_with_what_the_project_has_got_meanwhile(
    partial: Home, origin: Home
) -> None:
    site = MergeSite(partial)
    lines = [f"{number}\n" for number in range(9)]
    for text in ("".join(lines), "".join(["theirs\n", *lines[1:]])):
        if text.startswith("theirs"):
            site.work("deep/er/file", "".join([*lines[:-1], "ours\n"]))
        commit(origin.top, "deep/er/file", text)
        commit(origin.top, "deep/other", text)
        plain(partial.top, "add", "--sparse", ".sow")
        plain(partial.top, "commit", "-q", "--allow-empty", "-m", "State")
        plain(partial.top, "pull", "-q", "--no-rebase", "--no-edit")
    site.merge()
    merged = plain(partial.top, "show", "main:deep/er/file").splitlines()
    assert merged == ["theirs", *(line.strip() for line in lines[1:-1]), "ours"]
    assert plain(partial.top, "status", "--porcelain", "--", ":(exclude).sow") == ""
    assert not (partial.top / "deep").exists(), "it is as sparse as before"


def test_nothing_in_the_settings_of_the_repository_acts(partial: Home, tmp_path: Path) -> None:
    acted = tmp_path / "acted"
    for name in ("core.sshCommand", "remote.origin.uploadpack", "core.fsmonitor"):
        plain(partial.top, "config", name, f"touch {acted}; false")
    fetch_promised(partial.repository, [partial.repository.commit])
    assert not acted.exists()
    commits = (partial.repository.commit, "--")
    words = ("rev-list", "--objects", "--missing=print", "--no-walk")
    assert "?" not in plain(partial.top, *words, *commits)


def test_a_whole_repository_is_asked_nothing(origin: Home) -> None:
    assert not is_partial(origin.repository)
    assert remote_of(origin.repository) is None
    fetch_promised(origin.repository, ["no commit at all"])


def test_a_remote_that_is_no_promisor_any_more_is_asked_nothing(partial: Home) -> None:
    assert remote_of(partial.repository) is not None
    plain(partial.top, "config", "remote.origin.promisor", "false")
    assert remote_of(partial.repository) is None


def test_a_remote_that_gives_nothing_is_asked_once(
    partial: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(promised, "_fetch", lambda *words: asked.append(words))
    fetch_promised(partial.repository, [partial.repository.commit])
    assert len(asked) == 1
