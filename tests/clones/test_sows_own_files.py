"""What steers sow stays as the project has it, whatever a task's commits do to it, and is told."""

import re
import shlex
import subprocess

import pytest
from clones.clone_site import plain
from clones.making_site import bring, commit, make_home
from clones.merge_site import MergeSite, make_merge_site

from sow.clones.base import Dependency
from sow.clones.conflicts import update_of_clone
from sow.clones.same_merge import differs_by_merges_alone
from sow.clones.task_diff import task_change
from sow.config.checks import checks_of, read_repository
from sow.schema.job_terms import MergeWay
from sow.schema.task import TaskStatus

pytestmark = pytest.mark.slow  # process after process

CHECKS = "checks:\n  test: make test\n  default: [test]\n"
OWN = (".sow/.gitattributes", ".sow/.gitignore", ".sow/.version", ".sow/config.yaml")


@pytest.fixture
def site(tmp_path) -> MergeSite:
    site = make_merge_site(tmp_path)
    commit(site.top, ".sow/config.yaml", CHECKS)
    return site


def entries(site: MergeSite, at: str = "main") -> str:
    return plain(site.top, "ls-tree", "-r", at, *OWN, ".sow/run")


def remove_sow(site: MergeSite) -> str:
    """Commit in the clone of task 010 the removal of all of `.sow`, with some work."""
    clone = site.clone()
    plain(clone, "rm", "-r", "-q", "-f", "--sparse", "--cached", ".sow")
    plain(clone, "clean", "-fdxq", ".sow")
    return site.work("new", "new\n")


@pytest.mark.parametrize("way", list(MergeWay))
def test_its_removal_is_left_out_and_told(site, way):
    before = entries(site)
    made = remove_sow(site)
    done = site.merge(way=way)
    assert entries(site) == before
    assert (site.top / "new").read_text() == "new\n"
    assert all((site.top / path).is_file() for path in OWN)
    source = read_repository(site.home.workspace.repository_config)
    assert checks_of(source).default, "no item stands for want of checks later"
    (note,) = done.notes
    assert note.startswith("task 010: left out, because it belongs to sow: .sow/.gitattributes")
    assert made[:12] in note


@pytest.mark.few(6)
@pytest.mark.parametrize("way", list(MergeWay))
@pytest.mark.parametrize("path", [*OWN, ".sow/run/queue.db", ".sow/run/jobs/1/1/exit.json"])
def test_a_change_of_it_is_left_out_and_told(site, way, path):
    before = entries(site)
    commit(site.clone(), path, "evil: true\n")
    site.work("new", "new\n")
    (note,) = site.merge(way=way).notes
    assert (entries(site), path in note) == (before, True)
    assert (site.top / "new").is_file()


OTHER_LETTERS = (".SOW/config.yaml", ".sow/Config.yaml", ".Sow/RUN/queue.db", ".s\u200cow/.version")
"""Names that a disk which ignores case, as those of macOS do, takes for sow's own."""


@pytest.mark.parametrize("path", OTHER_LETTERS)
def test_a_name_that_some_disk_takes_for_its_own_is_left_out_and_told(site, path):
    commit(site.clone(), path, "evil: true\n")
    made = site.work("new", "new\n")
    change = task_change(
        site.home.repository, site.home.place().since(made), "main", patch=True, stat=True
    )
    assert path not in change.files
    (note,) = site.merge().notes
    assert note.startswith("task 010: left out, because it belongs to sow: ")
    there = plain(site.top, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "main")
    assert path not in there.splitlines()
    assert (site.top / "new").is_file()


def test_a_link_in_the_place_of_the_folder_on_some_disk_is_left_out(site):
    (site.clone() / ".SOW").symlink_to("/tmp")
    plain(site.home.place().path, "add", ".SOW")
    site.work("new", "new\n")
    (note,) = site.merge().notes
    assert ".SOW" in note
    assert plain(site.top, "ls-tree", "--name-only", "main", ".SOW") == ""


def test_what_of_the_folder_is_nobodys_own_comes_in_whatever_its_letters(site):
    commit(site.clone(), ".SOW/notes.md", "notes\n")
    site.work("new", "new\n")
    assert site.merge().notes == ()
    assert (site.top / ".SOW/notes.md").is_file()


@pytest.mark.parametrize("is_folder", [True, False])
def test_nothing_comes_in_the_place_of_the_whole_folder(site, is_folder):
    before = entries(site)
    clone = site.clone()
    plain(clone, "rm", "-r", "-q", "-f", "--sparse", "--cached", ".sow")
    plain(clone, "clean", "-fdxq", ".sow")
    if is_folder:
        site.work(".sow/config.yaml/deep", "evil\n")
    else:
        subprocess.run(["rm", "-rf", str(clone / ".sow")], check=True)
        (clone / ".sow").symlink_to("/tmp")
        plain(clone, "add", "--sparse", ".sow")
        site.work("new", "new\n")
    (note,) = site.merge().notes
    assert entries(site) == before
    assert (site.top / ".sow").is_dir()
    assert not (site.top / ".sow").is_symlink()
    assert "left out" in note


def test_a_person_takes_it_by_the_command_that_is_told(site):
    commit(site.clone(), ".sow/config.yaml", CHECKS.replace("make test", "make all"))
    plain(site.home.place().path, "rm", "-q", ".sow/.gitattributes")
    site.work("new", "new\n")
    (note,) = site.merge().notes
    command = re.search(r"`(git restore [^`]*)`", note)[1]
    (site.top / "deep").mkdir()
    subprocess.run(shlex.split(command), cwd=site.top / "deep", check=True)
    assert "make all" in (site.top / ".sow/config.yaml").read_text()
    assert not (site.top / ".sow/.gitattributes").exists()
    staged = plain(site.top, "diff", "--cached", "--name-status").split()
    assert staged == ["D", ".sow/.gitattributes", "M", ".sow/config.yaml"]


def test_an_update_brings_the_projects_and_tells(site):
    commit(site.clone(), ".sow/config.yaml", "evil: true\n")
    made = site.work("new", "new\n")
    commit(site.top, ".sow/config.yaml", CHECKS.replace("make test", "make all"))
    place = site.home.place()
    updated = update_of_clone(site.main, place)
    assert updated.conflicts == ()
    (note,) = updated.notes
    assert note.startswith("left out, because it belongs to sow: .sow/config.yaml; to include it")
    assert f"--source={made[:12]}" in note
    assert "make all" in (place.path / ".sow/config.yaml").read_text()
    assert plain(place.path, "status", "--porcelain") == ""
    bring(site.home)
    facts = place
    assert differs_by_merges_alone(site.home.repository, facts, site.tip(), made, updated.commit), (
        "the verdict on its work holds"
    )


def test_a_task_that_depends_on_it_begins_with_the_projects(site):
    remove_sow(site)
    site.home.make("020", dependencies=(Dependency("010", bring(site.home)),))
    clone = site.home.place("020").path
    assert (clone / "new").is_file()
    assert all((clone / path).is_file() for path in OWN)


def test_several_tasks_at_once(site):
    before = entries(site)
    remove_sow(site)
    commit(site.clone("020"), ".sow/.gitignore", "evil\n")
    site.work("newer", "newer\n", "020")
    notes = site.merge("010", "020").notes
    assert [note[:8] for note in notes] == ["task 010", "task 020"]
    assert entries(site) == before


def test_it_is_no_part_of_the_tasks_own_change(site):
    remove_sow(site)
    place = site.home.place()
    change = task_change(site.home.repository, place, "main", patch=True, stat=True)
    assert "new" in change.files
    assert not set(change.files) & set(OWN)
    assert set(OWN) <= set(change.state_files)
    assert b".sow/config.yaml" not in change.patch + change.stat
    assert ".sow/config.yaml" in change.taking


def test_a_workspace_below_the_top(tmp_path):
    home = make_home(tmp_path, inside="part")
    site = MergeSite(home)
    commit(home.top, "part/.sow/config.yaml", CHECKS)
    clone = site.clone()
    plain(clone, "rm", "-q", "part/.sow/config.yaml")
    site.work("new", "new\n")
    (note,) = site.merge().notes
    assert (home.top / "part/.sow/config.yaml").read_text() == CHECKS
    assert ":/part/.sow/config.yaml" in note
    assert site.task().status is TaskStatus.COMPLETED


def test_where_the_project_keeps_sow_out_of_git_nothing_of_it_comes_in(tmp_path):
    site = make_merge_site(tmp_path)
    plain(site.top, "rm", "-r", "-q", "--cached", ".sow")
    (site.top / ".gitignore").write_text(".sow\n")
    plain(site.top, "commit", "-q", "-am", "Keep .sow to oneself")
    commit(site.clone(), ".sow/config.yaml", "evil: true\n")
    site.work("new", "new\n")
    (note,) = site.merge().notes
    assert ".sow/config.yaml" in note
    assert plain(site.top, "ls-tree", "-r", "--name-only", "main", ".sow") == ""
    assert "evil" not in (site.top / ".sow/config.yaml").read_text()
