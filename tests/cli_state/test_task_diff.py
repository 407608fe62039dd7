"""`sow task diff`: exactly a task's change, or how far it can be known."""

import shutil

import pytest
from clones.clone_site import make_hostile, name_author, plain, task_clone, traces
from journeys.json_contract import hold

from sow.clones.bring_back import bring_back
from sow.clones.main_checkout import main_checkout
from sow.clones.mark import mark_for
from sow.clones.record import note_clone
from sow.config.clones import CloneSettings
from sow.paths import Workspace
from sow.state.tasks import change_task, read_task

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def repository(begun, tmp_path):
    """A workspace in a repository, with two tasks."""
    plain(tmp_path, "init", "-q", "-b", "main")
    name_author(tmp_path)
    (tmp_path / ".gitignore").write_text("/traps\n")
    (tmp_path / "file").write_text("one\ntwo\n")
    plain(tmp_path, "add", "-A")
    plain(tmp_path, "commit", "-q", "-m", "First")
    return tmp_path


@pytest.fixture
def site(repository):
    """The same, with a clone of the first task."""
    found = task_clone(repository)
    found.commit("file", "one\n2\n")
    found.commit("src/new", "x\n")
    return found


def test_a_clones_change_is_printed_alone(site, begun):
    (site.main / "file").write_text("a person's\n")
    done = begun("task", "diff", "010")
    assert done.code == 0
    assert "-two\n+2\n" in done.out
    assert "a person's" not in done.out
    assert done.err == ""
    assert begun("task", "diff", "010", "--name-only").out == "file\nsrc/new\n"
    stat = begun("task", "diff", "--id", "010", "--stat").out
    assert "2 files changed, 2 insertions(+), 1 deletion(-)" in stat


def test_a_program_gets_all_of_it(site, begun):
    site.commit(".sow/project/extra", "x\n")
    site.commit(".github/workflows/ci.yml", "x\n")
    done = begun("task", "diff", "010", "--json")
    hold("task diff", done.lines)
    assert done.json["is_tasks_own"] is True
    assert done.json["commit"] == site.tip
    assert done.json["base"] == site.facts.base
    assert done.json["files"] == [".github/workflows/ci.yml", "file", "src/new"]
    assert done.json["steering_files"] == [".github/workflows/ci.yml"]
    assert done.json["left_out"] == [".sow/project/extra"]
    assert "+2\n" in done.json["patch"]
    assert done.json["stat"] is None
    names = begun("task", "diff", "010", "--json", "--name-only")
    hold("task diff", names.lines)
    assert names.json["patch"] is None


def test_what_an_author_has_made_of_its_state_hides_nothing_of_its_change(site, begun):
    workspace = Workspace(site.main)
    forged = {"path": "/", "branch": "main", "base": site.tip}
    place = main_checkout(workspace, CloneSettings()).place(read_task(workspace, "010"))
    note_clone(site.repository, mark_for(place, site.facts.base))
    change_task(workspace, "010", lambda _: {"clone": forged}, now=1.0)
    assert begun("task", "diff", "010", "--name-only").out == "file\nsrc/new\n"


def test_settings_that_nobody_can_read_hide_no_change(site, begun):
    (site.main / ".sow" / "config.yaml").write_text("clones: {use: sometimes}")
    assert begun("task", "diff", "010", "--name-only").out == "file\nsrc/new\n"


def test_what_steers_and_what_is_left_out_is_said(site, begun):
    site.commit(".sow/project/extra", "x\n")
    site.commit("AGENTS.md", "x\n")
    err = begun("task", "diff", "010", "--stat").err
    assert "steer agents or machines: AGENTS.md" in err
    assert "Left out" in err
    assert ".sow/project/extra" in err


def test_a_link_that_leads_out_of_the_repository_is_named(site, begun):
    targets = {
        "src/out": "../../keys",
        "src/near": "../file",
        "back": "src/../../x",
        "home": "/root/.ssh\x1b[2J",
        "file": "new/../src",  # it was a file
    }
    (site.clone / "file").unlink()
    for path, target in targets.items():
        (site.clone / path).symlink_to(target)
    plain(site.clone, "add", "-A")
    plain(site.clone, "commit", "-q", "-m", "Links")
    done = begun("task", "diff", "010", "--json")
    hold("task diff", done.lines)
    assert done.json["links_out"] == ["back", "home", "src/out"]
    err = begun("task", "diff", "010", "--stat").err
    named = "back → src/../../x, home → /root/.ssh [2J, src/out → ../../keys\n"
    assert f"links that lead out of the repository: {named}" in err


def test_a_link_whose_words_the_clone_lacks_is_no_fault_of_sow(site, begun):
    """An agent can commit a tree that names what it has made nowhere."""
    (site.clone / "out").symlink_to("/etc")
    plain(site.clone, "add", "out")
    plain(site.clone, "update-index", "--add", "--cacheinfo", f"120000,{'1' * 40},bad")
    tree = plain(site.clone, "write-tree", "--missing-ok").strip()
    commit = plain(site.clone, "commit-tree", "-p", "HEAD", "-m", "Bad", tree).strip()
    plain(site.clone, "update-ref", "HEAD", commit)
    names = begun("task", "diff", "010", "--name-only")
    assert (names.code, names.out) == (0, "bad\nfile\nout\nsrc/new\n")
    assert "lead out of the repository: out → /etc\n" in names.err
    patch = begun("task", "diff", "010")
    assert (patch.code, "This is a bug" in patch.err) == (4, False)


def test_a_removed_clone_leaves_its_branch(site, begun):
    bring_back(site.facts, site.repository)
    shutil.rmtree(site.clone)
    assert begun("task", "diff", "010", "--name-only").out == "file\nsrc/new\n"
    plain(site.main, "branch", "-D", site.facts.branch)
    done = begun("task", "diff", "010")
    assert done.code == 4
    assert "exists any more" in done.err


def test_nothing_of_a_hostile_clone_acts_or_reaches_a_terminal(site, begun):
    site.commit("a.txt", "x\n")
    folder = make_hostile(site, site.main / "traps")
    for words in ((), ("--stat",), ("--name-only",)):
        assert begun("task", "diff", "010", *words).code == 0
    assert traces(folder) == []
    (site.clone / ".git").rename(site.clone / "moved")
    (site.clone / ".git").symlink_to("moved")
    done = begun("task", "diff", "010")
    assert done.code == 4
    assert "is not a real folder" in done.err


def test_without_a_clone_it_says_how_far_it_can_know(repository, begun):
    (repository / "file").write_text("one\n2\n")
    (repository / "new").write_text("x\n")
    (repository / "out").symlink_to("/etc")
    done = begun("task", "diff", "020")
    assert done.code == 0
    assert "-two\n+2\n" in done.out
    assert "cannot tell who made them" in done.err
    assert begun("task", "diff", "020", "--name-only").out == "file\nnew\nout\n"
    shown = begun("task", "diff", "020", "--json")
    hold("task diff", shown.lines)
    assert shown.json["is_tasks_own"] is False
    assert shown.json["links_out"] == ["out"]
    assert shown.json["base"] is None


def test_without_a_repository_it_says_where_else_to_look(begun):
    done = begun("task", "diff", "010")
    assert done.code == 4
    assert "no git repository" in done.err
    assert "sow task log 010" in done.err


def test_two_forms_at_once_are_refused(repository, begun):
    assert begun("task", "diff", "010", "--stat", "--name-only").code == 2


def test_a_name_that_is_no_text_is_printed_and_told(site, begun):
    (site.clone / "a\udcff\x1b[2J").write_text("x\n")
    plain(site.clone, "add", "-A")
    plain(site.clone, "commit", "-q", "-m", "Odd")
    assert begun("task", "diff", "010", "--name-only").code == 0
    assert "\x1b" not in begun("task", "diff", "010", "--name-only").out
    assert len(begun("task", "diff", "010", "--json").json["files"]) == 3
