"""Refs of a remote by which work travels: made once, fetched as they were meant, by no setting."""

import subprocess
from pathlib import Path

import pytest

from sow.errors import StateError
from sow.git.remote import NoRemote, RefIsTaken, Remote, RemoteRefused, remote_of
from sow.git.repository import repository_of
from sow.git.view import view_of

pytestmark = pytest.mark.slow
REF = "refs/sow/attempts/1f2e3d4c/1-1"


def git(folder: Path, *words: str) -> str:
    by = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    done = subprocess.run(
        ["git", *by, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, words: str) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", words)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    """A repository whose remote lies beside it, as its address says."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(tmp_path, "init", "-q", "one")
    commit(tmp_path / "one", "first")
    git(tmp_path / "one", "remote", "add", "origin", "../remote.git")
    return remote_of(repository_of(tmp_path / "one"), "origin")


def test_a_ref_is_made_once_and_nothing_overwrites_it(remote: Remote) -> None:
    first = remote.repository.commit
    remote.make_ref(REF, first)
    remote.make_ref(REF, first)
    second = commit(remote.repository.top, "second")
    with pytest.raises(RefIsTaken, match=first):
        remote.make_ref(REF, second)
    assert remote.commit_of(REF) == first
    assert git(remote.repository.top, "for-each-ref", "refs/remotes") == ""


def test_what_it_names_is_fetched_if_that_is_what_was_said(remote: Remote, tmp_path: Path) -> None:
    made = commit(remote.repository.top, "work")
    remote.make_ref(REF, made)
    git(tmp_path, "init", "-q", "other")
    commit(tmp_path / "other", "its own")
    git(tmp_path / "other", "remote", "add", "origin", str(tmp_path / "remote.git"))
    other = remote_of(repository_of(tmp_path / "other"), "origin")
    with pytest.raises(StateError, match="and not 1111"):
        other.fetch(REF, "1" * 40)
    with pytest.raises(StateError, match="is not there"):
        other.fetch(f"{REF}0", made)
    with pytest.raises(StateError, match="is no commit"):
        other.fetch(REF, "--upload-pack=evil")
    other.fetch(REF, made)
    assert view_of(tmp_path / "other").commit_of(made) == made
    assert "sow" not in git(tmp_path / "other", "for-each-ref")


def test_no_setting_and_no_hook_of_the_repository_acts(remote: Remote) -> None:
    top = remote.repository.top
    mark = top / "acted"
    hook = top / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    git(top, "config", f"url.ext::sh -c touch% {mark}.insteadOf", remote.url)
    git(top, "config", "push.followTags", "true")
    remote.make_ref(REF, remote.repository.commit)
    assert not mark.exists()


def test_what_keeps_it_from_working_is_told_without_a_password(remote: Remote) -> None:
    with pytest.raises(NoRemote, match="has no remote elsewhere"):
        remote_of(remote.repository, "elsewhere")
    gone = Remote("origin", "https://me:hush@127.0.0.1:1/shop.git", remote.repository)
    with pytest.raises(RemoteRefused) as caught:
        gone.make_ref(REF, remote.repository.commit)
    assert "https://127.0.0.1:1/shop.git" in caught.value.message
    assert "hush" not in caught.value.message + caught.value.hint
    assert caught.value.passes


def test_objects_that_are_none_are_not_taken(remote: Remote, tmp_path: Path) -> None:
    """A tree with a file named `.git`, say: git's own check refuses it."""
    top = tmp_path / "evil"
    git(tmp_path, "init", "-q", "evil")
    (top / "x").write_text("[core]\n")
    blob = git(top, "hash-object", "-w", "x")
    line = f"100644 blob {blob}\t.git\n"
    made = subprocess.run(
        ["git", "mktree"], cwd=top, input=line, capture_output=True, text=True, check=True
    )
    tree = made.stdout.strip()
    found = git(top, "commit-tree", tree, "-m", "evil")
    git(top, "push", "-q", str(tmp_path / "remote.git"), f"{found}:{REF}")
    with pytest.raises(RemoteRefused):
        remote.fetch(REF, found)
    assert view_of(remote.repository.top).commit_of(found) is None
