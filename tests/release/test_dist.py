"""What is released: the wheel and the sdist, whole, the same each time, and naming their commit."""

import hashlib
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from release.conftest import AT, Built, build, build_wheel, run
from repository.markdown import REPOSITORY

from sow.cli.version import SHORT

pytestmark = pytest.mark.slow


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def tracked(*folders: str) -> list[str]:
    return run("git", "ls-files", "-z", *folders, cwd=REPOSITORY).split("\0")[:-1]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the tree in another place, whose files came in another order and mode."""
    tree = tmp_path / "copied"
    shutil.copytree(REPOSITORY / ".git", tree / ".git")
    for name in reversed(tracked()):
        source, target = REPOSITORY / name, tree / name
        if source.exists():  # a developer may have just removed it
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target, follow_symlinks=False)
            mode = 0o700 if source.stat().st_mode & 0o100 else 0o600
            target.chmod(mode)
    return tree


def test_two_builds_are_the_same_byte_for_byte(built: Built, copied: Path, tmp_path: Path) -> None:
    elsewhere = {**AT, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    second = build(copied, tmp_path / "second", **elsewhere)
    assert digest(built.wheel) == digest(second.wheel)
    assert digest(built.sdist) == digest(second.sdist)


@pytest.mark.one_of("sdists that make themselves again")
def test_the_sdist_makes_the_same_wheel(built: Built, tmp_path: Path) -> None:
    tree = unpacked(built, tmp_path)
    again = build(tree, tmp_path / "again", **AT)
    assert digest(again.wheel) == digest(built.wheel)
    assert digest(again.sdist) == digest(built.sdist)


@pytest.mark.one_of("sdists that make themselves again")
def test_make_dist_of_an_sdist_makes_it_again_though_it_lies_in_a_repository(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    tree = unpacked(built, tmp_path)
    commit_all(tmp_path)
    run("make", "dist", f"BIN={Path(sys.executable).parent}", "FOR_WORK=Makefile", cwd=tree)
    assert digest(tree / "dist" / built.wheel.name) == digest(built.wheel)
    assert digest(tree / "dist" / built.sdist.name) == digest(built.sdist)


def test_the_wheel_holds_each_file_of_both_packages_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = wheel.namelist()
    about = "-".join(built.wheel.name.split("-")[:2])
    tops = {"sow", "worker", f"{about}.dist-info", f"{about}.data"}
    assert {name.partition("/")[0] for name in names} == tops
    held = {name for name in names if name.startswith(("sow/", "worker/"))}
    there = {name for name in tracked("sow", "worker") if (REPOSITORY / name).exists()}
    assert there <= held
    untracked = set(run("git", "ls-files", "-zo", "--exclude-standard", cwd=REPOSITORY).split("\0"))
    assert held - there - untracked == {"sow/COMMIT"}


def test_the_sdist_holds_what_the_tests_need(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    there = {name for name in tracked() if (REPOSITORY / name).exists()}
    assert {
        name for name in there - held if not name.startswith((".github/", ".dockerignore"))
    } == set()


def test_the_installed_sow_names_its_commit(installed: Path, tmp_path: Path) -> None:
    commit = run("git", "rev-parse", "HEAD", cwd=REPOSITORY)[:SHORT]
    assert f"(commit {commit}" in run(installed / "sow", "--version", cwd=tmp_path)


def unpacked(built: Built, folder: Path) -> Path:
    """Return the tree of an sdist."""
    with tarfile.open(built.sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / built.sdist.name.removesuffix(".tar.gz")


def commit_all(folder: Path) -> str:
    """Make a repository of a folder, with one commit, and return that."""
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    run("git", "init", "--quiet", folder, cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", *who, "commit", "--quiet", "--message", "All", cwd=folder)
    return run("git", "rev-parse", "HEAD", cwd=folder)[:SHORT]


def commit_in(wheel: Path) -> str | None:
    """Return the commit that a wheel names."""
    with zipfile.ZipFile(wheel) as archive:
        if "sow/COMMIT" not in archive.namelist():
            return None
        return archive.read("sow/COMMIT").decode()


def test_a_tree_without_git_is_built_without_a_commit(built: Built, tmp_path: Path) -> None:
    """And does not take that of a repository in which it happens to lie."""
    (tmp_path / "README").touch()
    commit_all(tmp_path)
    tree = unpacked(built, tmp_path)
    (tree / "sow/COMMIT").unlink()
    assert commit_in(build_wheel(tree, tmp_path / "dist")) is None


def test_an_sdist_names_the_commit_it_was_made_of_wherever_it_is_kept(
    built: Built, tmp_path: Path
) -> None:
    """Somebody who packs it anew has it in a repository of their own, with commits of their own."""
    tree = unpacked(built, tmp_path)
    brought = (tree / "sow/COMMIT").read_text()
    own = commit_all(tree)
    assert commit_in(build_wheel(tree, tmp_path / "dist")) == brought
    (tree / "sow/COMMIT").unlink()
    named = commit_in(build_wheel(tree, tmp_path / "anew"))
    assert named == f"{own}, changed since\n"


def test_the_wheel_brings_what_completes_words_where_shells_look(installed: Path) -> None:
    share = installed.parent / "share"
    for name, shell in (
        ("bash-completion/completions/sow", "bash"),
        ("zsh/site-functions/_sow", "zsh"),
        ("fish/vendor_completions.d/sow.fish", "fish"),
    ):
        assert f"_SOW_COMPLETE={shell}_complete" in (share / name).read_text()
