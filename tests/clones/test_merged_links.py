"""A merge never makes the project name a commit that nobody has; what it says then helps."""

import re
import subprocess
from pathlib import Path

import pytest
from clones.clone_site import name_author, plain
from clones.lost_work import add_submodule, committed_nested, initialise, repository
from clones.making_site import commit
from clones.merge_site import MergeSite, make_merge_site

from sow.clones.candidates import NotMergeable
from sow.clones.listing import removal_risks_of
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def site(tmp_path) -> MergeSite:
    made = make_merge_site(tmp_path)
    add_submodule(made.top, repository(tmp_path / "library", "lib.txt"))
    return made


@pytest.fixture
def address(tmp_path) -> Path:
    plain(tmp_path, "init", "-q", "--bare", str(tmp_path / "hosted.git"))
    return tmp_path / "hosted.git"


def remedies(hint: str) -> list[str]:
    """Return the commands that a hint names, each as it stands there."""
    return re.findall(r"`([^`]+)`", hint)


def follow(command: str, folder: Path, **given: str) -> None:
    for name, value in given.items():
        command = command.replace(name, value)
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def refused(site: MergeSite) -> NotMergeable:
    before = site.tip()
    with pytest.raises(NotMergeable) as caught:
        site.merge()
    assert (site.tip(), site.home.place().path.exists()) == (before, True)
    return caught.value


def scaffold(site: MergeSite) -> Path:
    """Commit a repository within the clone as nothing but the name of its commit."""
    clone = site.clone()
    committed_nested(clone)
    site.change(status=TaskStatus.COMPLETED)
    return clone


def test_the_files_of_a_nested_repository_come_along_when_its_remedy_is_followed(site, tmp_path):
    scaffold(site)
    error = refused(site)
    assert "app is a separate repository in the task's commit" in error.message
    follow(remedies(error.hint)[0], tmp_path)
    site.merge()
    assert (site.top / "app" / "inner.txt").read_text() == "inner\n"
    assert not site.home.place().path.exists()


@pytest.mark.parametrize("has_remote", [False, True])
def test_a_nested_repository_becomes_a_submodule_when_the_other_is_followed(
    site, tmp_path, address, has_remote
):
    clone = scaffold(site)
    if has_remote:
        plain(clone / "app", "remote", "add", "origin", str(address))
    error = refused(site)
    follow(remedies(error.hint)[1], tmp_path, ADDRESS=str(address))
    head = plain(clone / "app", "rev-parse", "HEAD")
    site.merge()
    assert plain(site.top, "rev-parse", "HEAD:app") == head
    assert "app" in (site.top / ".gitmodules").read_text()
    assert head in plain(address, "for-each-ref")
    assert not site.home.place().path.exists()


def test_a_commit_of_a_submodule_that_nobody_has_is_refused_until_it_is_pushed(site, tmp_path):
    clone = site.clone()
    made = commit(initialise(clone), "lib.txt", "better\n")
    plain(clone, "commit", "-q", "-am", "Take the library along")
    site.change(status=TaskStatus.COMPLETED)
    error = refused(site)
    assert f"uses commit {made[:12]} of the submodule lib" in error.message
    follow(remedies(error.hint)[0], tmp_path)
    site.merge()
    assert plain(site.top, "rev-parse", "HEAD:lib") == made
    assert made in plain(tmp_path / "library", "for-each-ref")


@pytest.fixture
def deep(tmp_path) -> MergeSite:
    """Return a site whose submodule has a submodule."""
    made = make_merge_site(tmp_path)
    library = repository(tmp_path / "library", "lib.txt")
    add_submodule(library, repository(tmp_path / "deepest", "deep.txt"), "deep")
    add_submodule(made.top, library)
    return made


def test_a_commit_of_a_submodules_own_submodule_is_refused_until_it_is_pushed(deep, tmp_path):
    clone = deep.clone()
    lib = initialise(clone)
    made = commit(initialise(lib, "deep"), "deep.txt", "better\n")
    found = removal_risks_of(deep.main, deep.home.place())
    assert "commits that only lib/deep has: what is checked out" in found.reasons
    plain(lib, "commit", "-q", "-am", "Take the deepest along")
    plain(lib, "push", "-q", "origin", "HEAD:refs/heads/from-the-task")
    plain(clone, "commit", "-q", "-am", "Take the library along")
    deep.change(status=TaskStatus.COMPLETED)
    error = refused(deep)
    assert f"uses commit {made[:12]} of the submodule lib/deep" in error.message
    (push, merge) = remedies(error.hint)
    assert merge == "sow merge 010"
    follow(push, tmp_path)
    deep.merge()
    assert made in plain(tmp_path / "deepest", "for-each-ref")


def test_the_change_of_a_submodule_can_be_given_up(site, tmp_path):
    clone = site.clone()
    lib = initialise(clone)
    commit(lib, "lib.txt", "better\n")
    plain(clone, "commit", "-q", "-am", "Take the library along")
    commit(clone, "new", "new\n")
    site.change(status=TaskStatus.COMPLETED)
    before = plain(site.top, "rev-parse", "HEAD:lib")
    follow(remedies(refused(site).hint)[1], tmp_path)
    done = site.merge()
    assert plain(site.top, "rev-parse", "HEAD:lib") == before
    assert (site.top / "new").exists()
    assert "commits that only lib has" in done.notes[0]
    assert clone.exists()


def test_a_submodule_that_the_project_has_not_fetched_is_fetched_by_the_remedy(site, tmp_path):
    library = tmp_path / "library"
    newer = commit(library, "lib.txt", "newer\n")
    clone = site.clone()
    plain(clone, "update-index", "--cacheinfo", f"160000,{newer},lib")
    plain(clone, "commit", "-q", "-m", "A newer library")
    site.change(status=TaskStatus.COMPLETED)
    name_author(site.top)
    command = remedies(refused(site).hint)[0]
    follow(
        command.replace("submodule update", "-c protocol.file.allow=always submodule update"),
        tmp_path,
    )
    site.merge()
    assert plain(site.top, "rev-parse", "HEAD:lib") == newer
