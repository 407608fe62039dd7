"""`sow --version`: which commit it names, for a wheel, a checkout, and what is neither."""

import subprocess
from pathlib import Path

import pytest
from in_process import run_in_process

from sow import __version__
from sow.cli.version import SHORT, commit_of, version_line


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "commit.gpgSign=false")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the package of a checkout with one commit."""
    folder = tmp_path / "checkout/sow"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "--quiet", "--initial-branch=main")
    git(folder.parent, "commit", "--quiet", "--allow-empty", "--message=One")
    return folder


def tip(package: Path) -> str:
    return git(package.parent, "rev-parse", "HEAD")[:SHORT]


def test_a_checkout_names_its_tip(package: Path) -> None:
    assert version_line(package) == f"sow, version {__version__} (commit {tip(package)})"


def test_also_where_git_has_packed_the_branch(package: Path) -> None:
    git(package.parent, "pack-refs", "--all")
    assert not (package.parent / ".git/refs/heads/main").exists()
    assert commit_of(package) == tip(package)


def test_also_without_a_branch(package: Path) -> None:
    git(package.parent, "checkout", "--quiet", "--detach")
    assert commit_of(package) == tip(package)


@pytest.mark.parametrize("packed", [False, True])
def test_also_in_a_work_tree(package: Path, packed: bool) -> None:
    beside = package.parent.parent / "beside"
    git(package.parent, "worktree", "add", "--quiet", "-b", "other", str(beside))
    git(beside, "commit", "--quiet", "--allow-empty", "--message=Two")
    if packed:
        git(beside, "pack-refs", "--all")
    assert commit_of(beside / "sow") == git(beside, "rev-parse", "HEAD")[:SHORT] != tip(package)


def test_a_wheel_names_what_was_baked_in_wherever_it_lies(package: Path) -> None:
    (package / "COMMIT").write_text("0123456789ab, changed since\n")
    assert (
        version_line(package) == f"sow, version {__version__} (commit 0123456789ab, changed since)"
    )


@pytest.mark.parametrize("broken", [b"", b"ref: refs/heads/none\n", b"\xff\xfe", None])
def test_where_nobody_can_tell_the_version_stands_alone(
    package: Path, broken: bytes | None
) -> None:
    head = package.parent / ".git/HEAD"
    head.unlink()
    if broken is not None:
        head.write_bytes(broken)
    assert version_line(package) == f"sow, version {__version__}"


def test_a_package_below_a_repository_of_somebody_else_names_no_commit(package: Path) -> None:
    deeper = package.parent / "lib/python/sow"
    deeper.mkdir(parents=True)
    assert commit_of(deeper) == ""


def test_the_command_prints_the_line_of_its_own_package(tmp_path: Path) -> None:
    import sow

    done = run_in_process("--version", env={}, cwd=tmp_path)
    assert (done.code, done.out) == (0, version_line(Path(sow.__file__).parent) + "\n")
