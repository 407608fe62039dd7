"""After a project has ended: what is left of it is named, and the commands named there work."""

import re
import shutil

import pytest
from clones.clone_site import plain
from clones.making_site import abandon, bring, commit, make_home

from sow.clones.locks import gone_path
from sow.clones.made_by_setup import ready_clone
from sow.clones.main_checkout import checkout_of
from sow.clones.past_projects import prune_past
from sow.clones.record import note_clone, record_clone
from sow.config.clones import CloneSettings
from sow.state.projects import new_project

pytestmark = pytest.mark.slow  # process after process
NOON = 1_769_860_800.0
OTHER = "77777777-2d1a-4b58-9d8e-0e0e0e0e0e0e"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a project whose tasks have clones: 010 is merged, 020 is not, 030 has lost work."""
    made = make_home(tmp_path / "home")
    monkeypatch.chdir(made.workspace.root)
    for task in ("010", "020", "030"):
        mark = made.make(task).mark
        note_clone(made.repository, mark, ready_clone(made.place(task), made.repository))
        record_clone(made.workspace, mark, now=NOON)
        commit(made.place(task).path, f"of-{task}", "work\n", f"Work of {task}")
        bring(made, task)
        abandon(made.workspace, task)
    plain(made.top, "merge", "-q", "--no-edit", made.place("010").branch)
    (made.place("030").path / "later").write_text("later\n")
    return made


@pytest.fixture
def sow(home, sow, monkeypatch):
    monkeypatch.chdir(home.workspace.root)
    return sow


def branches(home) -> list[str]:
    names = plain(home.top, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/sow/")
    return [name.rpartition("/")[2] for name in names.splitlines()]


def test_what_is_left_is_named_with_commands_that_work_then(sow, home):
    places = {task: home.place(task).path for task in ("010", "020", "030")}
    ended = sow("project", "abandon")
    assert ended.code == 0, ended
    for task, path in places.items():
        assert f"Left: the clone of task {task}: " in ended.out
        assert path.is_dir()
    assert "Left: 3 branches of its tasks: " in ended.out
    commands = re.findall(r"sow (clone \w+ --all-projects)", ended.out)
    assert commands == ["clone list --all-projects", "clone prune --all-projects"]
    for words, of_all in ((("list",), "list"), (("prune",), "prune"), (("remove", "020"), "list")):
        refused = sow("clone", *words)
        named = f"For ended projects: `sow clone {of_all} --all-projects`.\n"
        assert (refused.code, refused.err.endswith(named)) == (4, True), refused

    listed = sow(*commands[0].split())
    assert listed.code == 0
    assert "uncommitted: later" in listed.out
    assert "1 commit on no other branch, the newest: Work of 020" in listed.out

    pruned = sow(*commands[1].split())
    assert pruned.code == 0
    assert [path.exists() for path in places.values()] == [False, False, True]
    assert branches(home) == ["020", "030"], "only what is kept elsewhere goes"
    assert "030 clone stays: uncommitted: later" in pruned.out
    assert plain(home.top, "log", "-1", "--format=%s", "sow/sign-in-0b5f4b7e/020") == "Work of 020"


def test_a_branch_with_the_name_of_a_tag_is_found_and_none_is_called_removed_that_is_there(
    sow, home
):
    merged, apart = home.place("010").branch, home.place("020").branch
    sow("project", "abandon")
    plain(home.top, "tag", apart)
    assert f"\n{apart}: " in sow("clone", "list", "--all-projects").out
    plain(home.top, "tag", "-d", apart)
    lock = home.repository.common_dir / "refs/heads" / f"{merged}.lock"
    lock.touch()
    done = sow("clone", "prune", "--all-projects", "--json").json
    assert "010" in branches(home)
    assert "010" not in [each["task"] for each in done["branches"]]
    lock.unlink()
    done = sow("clone", "prune", "--all-projects", "--json").json
    assert [each["task"] for each in done["branches"] if not each["reasons"]] == ["010"]
    assert "010" not in branches(home)


def test_a_dry_run_tells_the_same_and_removes_nothing(sow, home):
    sow("project", "abandon")
    dry = sow("clone", "prune", "--all-projects", "--dry-run", "--json").json
    assert branches(home) == ["010", "020", "030"]
    done = sow("clone", "prune", "--all-projects", "--json").json
    assert dry == {**done, "dry_run": True}
    assert [(each["task"], each["removed"]) for each in done["clones"]] == [
        ("010", True),
        ("020", True),
        ("030", False),
    ]
    assert {each["project"] for each in done["branches"]} == {"0b5f4b7e"}


def test_the_clone_that_stays_goes_with_the_command_that_its_refusal_names(sow, home):
    path = home.place("030").path
    sow("project", "abandon")
    refused = sow("clone", "remove", "030", "--project", "0b5f4b7e")
    assert refused.code == 4
    assert "uncommitted: later" in refused.err
    command = re.search(r"`sow (clone remove [^`]+)`", refused.err)[1]
    assert sow(*command.split()).code == 0
    assert not path.exists()
    unknown = sow("clone", "remove", "030", "--project", "0b5f4b7e")
    assert unknown.code == 2
    assert "sow clone list --all-projects" in unknown.err


def test_a_project_that_is_here_keeps_its_branches_and_another_one_is_swept(sow, home):
    left = gone_path(home.place("010").path)
    (left / "deep").mkdir(parents=True)
    sow("project", "abandon")
    new_project(home.workspace, name="Next", project_id=OTHER, now=NOON, branch="main")
    plain(home.top, "branch", "sow/next-77777777/010")
    listed = sow("clone", "list", "--all-projects", "--json").lines
    assert {each["project"] for each in listed} == {"0b5f4b7e"}
    pruned = sow("clone", "prune", "--all-projects")
    assert str(left.name) in pruned.out
    assert plain(home.top, "rev-parse", "sow/next-77777777/010")
    assert not left.exists()


def test_of_a_project_that_is_in_no_archive_a_clone_stays_whose_work_is_on_no_other_branch(
    sow, home
):
    """It may be at work on another branch of the repository."""
    places = [home.place(task).path for task in ("010", "020")]
    shutil.rmtree(home.workspace.project)
    pruned = sow("clone", "prune", "--all-projects")
    assert pruned.code == 0
    assert [path.exists() for path in places] == [False, True]
    assert "020 clone stays: not merged" in pruned.out


def test_nothing_of_another_project_goes_while_a_job_of_it_lives(home):
    here = checkout_of(home.workspace, CloneSettings())
    asked: list[str] = []

    def is_idle(project: str) -> bool:
        asked.append(project)
        return False

    for dry_run in (True, False):
        done = prune_past(
            here, None, set(), dry_run=dry_run, is_idle=is_idle, is_live=lambda _: False
        )
        assert (done.removed, done.kept) == ((), ())
    assert set(asked) == {home.place("010").project}
    assert all(home.place(task).path.is_dir() for task in ("010", "020", "030"))
