"""Refs of a remote by which work travels: made once, fetched as they were meant, by no setting."""

import random
import subprocess
from pathlib import Path

import pytest

from sow.errors import StateError
from sow.git.remote import NoRemote, NotTaken, RefIsTaken, Remote, RemoteRefused, remote_of
from sow.git.repository import repository_of
from sow.git.view import View, view_of

pytestmark = pytest.mark.slow
MB = 1 << 20
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


def test_only_refs_that_are_meant_and_there_are_removed(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sow.git.remote.MOST_AT_ONCE", 2)
    names = [f"refs/sow/attempts/1f2e3d4c/{number}-1" for number in range(5)]
    for name in names:
        remote.make_ref(name, remote.repository.commit)
    git(remote.repository.top, "push", "-q", "origin", "HEAD:refs/heads/kept")
    meant = [*names[:3], "refs/sow/none", "refs/heads/kept"]
    assert remote.remove_refs(meant, below="refs/sow") == names[:3]
    there = git(remote.repository.top, "ls-remote", "origin").split()
    assert [name for name in there if name.startswith("refs/")] == [
        *("refs/heads/kept", *names[3:])
    ]
    assert remote.remove_refs(meant, below="refs/sow") == []


def test_what_it_names_is_fetched_if_that_is_what_was_said(remote: Remote, tmp_path: Path) -> None:
    made = commit(remote.repository.top, "work")
    remote.make_ref(REF, made)
    git(tmp_path, "init", "-q", "other")
    commit(tmp_path / "other", "its own")
    git(tmp_path / "other", "remote", "add", "origin", str(tmp_path / "remote.git"))
    other = remote_of(repository_of(tmp_path / "other"), "origin")
    with pytest.raises(StateError, match="and not 1111"):
        other.fetch(REF, "1" * 40, most=MB)
    with pytest.raises(StateError, match="is not there"):
        other.fetch(f"{REF}0", made, most=MB)
    with pytest.raises(StateError, match="is no commit"):
        other.fetch(REF, "--upload-pack=evil", most=MB)
    other.fetch(REF, made, most=MB)
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
    with pytest.raises(NotTaken, match="fsck error") as caught:
        remote.fetch(REF, found, most=MB)
    assert not caught.value.passes, "it stays so: nobody is to try it again for ever"
    assert view_of(remote.repository.top).commit_of(found) is None


def large(folder: Path, name: str, size: int) -> str:
    """Commit a file that cannot be packed smaller, and return the commit."""
    (folder / name).write_bytes(random.Random(name).randbytes(size))
    git(folder, "add", name)
    return commit(folder, name)


@pytest.fixture
def other(remote: Remote, tmp_path: Path) -> Path:
    """Another clone of the remote, which has a history of 3 MB by now."""
    large(remote.repository.top, "history", 3 * MB)
    git(remote.repository.top, "push", "-q", "origin", "HEAD:main")
    git(tmp_path, "clone", "-q", "-b", "main", "remote.git", "other")
    return tmp_path / "other"


def objects_of(remote: Remote) -> list[str]:
    """Return what lies among the repository's objects, and is no object."""
    names = sorted(path.name for path in (remote.repository.common_dir / "objects").iterdir())
    return [name for name in names if len(name) > 2]


def test_only_what_is_missing_is_fetched(remote: Remote, other: Path) -> None:
    made = large(other, "more", MB // 2)
    git(other, "push", "-q", "origin", f"{made}:{REF}")
    remote.fetch(REF, made, most=MB)
    packs = (remote.repository.common_dir / "objects/pack").glob("*.pack")
    assert [pack.stat().st_size // (MB // 2) for pack in packs] == [1]
    git(remote.repository.top, "branch", "kept", made)
    few = commit(other, "and a few bytes")
    git(other, "push", "-q", "origin", f"{few}:{REF}0")
    remote.fetch(f"{REF}0", few, most=MB)
    assert view_of(remote.repository.top).commit_of(few) == few
    packs = (remote.repository.common_dir / "objects/pack").glob("*.pack")
    assert len([*packs]) == 1, "few bytes are no pack of their own"
    assert objects_of(remote) == ["info", "pack"]


def test_no_more_comes_in_than_it_may_and_what_is_refused_leaves_nothing(
    remote: Remote, other: Path
) -> None:
    made = large(other, "more", 2 * MB)
    git(other, "push", "-q", "origin", f"{made}:{REF}")
    with pytest.raises(NotTaken, match="it has more than 1 MB") as caught:
        remote.fetch(REF, made, most=MB)
    assert not caught.value.passes

    def refuse(view: View) -> None:
        assert view.commit_of(made) == made
        raise StateError("it is none of ours")

    with pytest.raises(StateError, match="none of ours"):
        remote.fetch(REF, made, most=4 * MB, look=refuse)
    assert view_of(remote.repository.top).commit_of(made) is None
    assert objects_of(remote) == ["info", "pack"]
    remote.fetch(REF, made, most=4 * MB)
    assert view_of(remote.repository.top).commit_of(made) == made


@pytest.mark.parametrize("words", [("--depth=1",), ("--filter=blob:none",)])
def test_a_clone_that_lacks_a_part_fetches_as_well(
    remote: Remote, other: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    git(tmp_path / "remote.git", "config", "uploadpack.allowFilter", "true")
    address = f"file://{tmp_path}/remote.git"
    git(tmp_path, "clone", "-q", "-b", "main", *words, address, "part")
    made = large(other, "more", MB)
    git(other, "push", "-q", "origin", f"{made}:{REF}")
    part = remote_of(repository_of(tmp_path / "part"), "origin")
    part.fetch(REF, made, most=8 * MB)
    assert git(tmp_path / "part", "cat-file", "-s", f"{made}:more") == str(MB)
    part.make_ref(f"{REF}0", commit(tmp_path / "part", "its own"))
