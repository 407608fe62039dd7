"""`sow clone`: list, path, remove, prune; from the repository and from within a clone."""

from contextlib import closing

import pytest
from clones.clone_site import plain
from clones.making_site import NOON, PROJECT_ID, bring, commit, make_home
from jobs.queue_cases import make_job

from sow.clones.locks import draft_path
from sow.clones.throw_away_clone import review_place
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.paths import display_path
from sow.schema.job import Verb
from sow.state.tasks import change_task

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path, monkeypatch):
    made = make_home(tmp_path / "home")
    monkeypatch.chdir(made.workspace.root)
    return made


@pytest.fixture
def sow(home, sow, monkeypatch):
    monkeypatch.chdir(home.workspace.root)
    return sow


def record(home, task="010"):
    place = home.place(task)
    clone = {"path": str(place.path), "branch": place.branch, "base": home.repository.commit}
    change_task(home.workspace, task, lambda _: {"clone": clone}, now=NOON)


def test_no_clones(sow):
    done = sow("clone", "list")
    assert (done.code, done.out, done.err) == (0, "", "No task has a clone.\n")
    assert sow("clone", "list", "--json").out == ""
    assert sow("clone", "prune").out == "Nothing to prune.\n"


def test_the_list_tells_what_each_holds(sow, home):
    home.make("010")
    record(home, "010")
    (home.place("010").path / "new").write_text("x")
    home.make("020", whole=False)
    record(home, "030")
    lines = [line.split("  ") for line in sow("clone", "list").out.splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["TASK", "STATUS", "CLONE", "HOLDS", "PATH"]
    assert [row[:4] for row in cells[1:]] == [
        ["010", "pending", "whole", "uncommitted: new"],
        ["020", "pending", "unfinished", "nothing to lose"],
        ["030", "pending", "missing", "nothing to lose"],
    ]
    first = sow("clone", "list", "--json").lines[0]
    assert first["path"] == str(home.place("010").path)
    assert first["branch"] == home.place("010").branch
    assert first["reasons"] == ["uncommitted: new"]


def test_a_task_that_has_ended_with_all_of_its_work_merged_needs_no_clone(sow, home):
    record(home, "010")
    for status, count in (("pending", 1), ("completed", 0), ("abandoned", 0)):
        change_task(home.workspace, "010", lambda _, to=status: {"status": to}, now=NOON)
        assert len(sow("clone", "list", "--json").lines) == count


def test_path_for_shells_and_programs_from_anywhere_in_the_clone(sow, home, monkeypatch):
    home.make("010")
    path = home.place("010").path
    assert sow("clone", "path", "010").out == f"{path}\n"
    monkeypatch.chdir(path / "src")
    assert sow("clone", "path", "--id", "010").out == f"{path}\n"
    assert sow("clone", "path", "010", "--json").json["root"] == str(path)
    monkeypatch.setenv("SOW_TASK_ID", "010")
    assert sow("clone", "path").out == f"{path}\n"
    assert [row["task"] for row in sow("task", "list", "--json").lines] == ["010", "020", "030"]
    assert sow("init", "--json").json["root"] == str(home.workspace.root)


def test_path_of_a_task_without_a_clone(sow, home):
    done = sow("clone", "path", "020")
    assert (done.code, done.out) == (4, "")
    assert "task 020 has no clone" in done.err
    assert "--clone" in done.err
    record(home, "020")
    assert "creates it again" in sow("clone", "path", "020").err
    assert sow("clone", "path", "770").code == 4


def test_remove_refuses_and_discards(sow, home):
    home.make("010")
    path = home.place("010").path
    (path / "new").write_text("x")
    done = sow("clone", "remove", "010")
    assert done.code == 4
    assert "uncommitted: new" in done.err
    assert f"Look at it in {path}, commit what you want to keep, and merge the task" in done.err
    assert "--discard" in done.err
    assert path.exists()
    change_task(home.workspace, "010", lambda _: {"status": "abandoned"}, now=NOON)
    copies = f"Look at it in {path} and copy what you want to keep. Or"
    assert copies in sow("clone", "remove", "010").err, "a merge of an abandoned task is refused"
    done = sow("clone", "remove", "010", "--discard")
    assert (done.code, "010 clone removed" in done.out) == (0, True)
    assert done.err == "Note: discarded: uncommitted: new\n"
    assert not path.exists()
    assert sow("clone", "remove", "010").err == "Task 010 has no clone.\n"
    assert sow("clone", "remove", "010", "--json").json["removed"] is False
    assert sow("clone", "remove", "777").code == 4


def test_the_clone_of_a_task_that_is_gone_can_be_removed(sow, home):
    import shutil

    home.make("020")
    path = home.place("020").path
    (path / "new").write_text("x")
    plain(home.top, "rm", "-rqf", ".sow/project/phases/implementation/tasks/020")
    shutil.rmtree(home.workspace.task("implementation", "020"), ignore_errors=True)
    shutil.rmtree(home.top / ".git/sow/kept", ignore_errors=True)
    assert "020 clone stays: uncommitted: new" in sow("clone", "prune").out
    assert sow("clone", "list", "--json").lines[0]["status"] is None
    assert sow("clone", "remove", "020", "--discard").code == 0
    assert not path.exists()


def test_prune(sow, home):
    home.make("010")
    home.make("020")
    tip = commit(home.place("020").path, "b", "work\n")
    bring(home, "020")
    for task in ("010", "020"):
        assert sow("task", "set", task, "status", "in_progress").code == 0
        assert sow("task", "set", task, "status", "completed").code == 0
    draft = draft_path(home.place("010").path)
    draft.mkdir()
    path = home.place("010").path
    assert "010 clone would be removed" in sow("clone", "prune", "--dry-run").out
    assert path.exists()
    done = sow("clone", "prune", "--json").json
    assert done["swept"] == [str(draft)]
    assert [(each["task"], each["removed"]) for each in done["clones"]] == [
        ("010", True),
        ("020", False),
    ]
    assert done["clones"][1]["reasons"] == [f"not merged: {tip[:12]}"]
    assert (path.exists(), draft.exists()) == (False, False)


def test_abandoning_keeps_the_branch_and_says_so(sow, home):
    home.make("010")
    record(home, "010")
    place = home.place("010")
    done = sow("task", "abandon", "010")
    assert done.code == 0
    assert f"Note: its branch {place.branch} stays" in done.err
    assert "sow clone remove 010 --discard" in done.err
    assert place.path.exists()
    assert sow("task", "abandon", "020").err == ""


def test_an_agent_may_look_and_not_remove(sow, home, monkeypatch):
    home.make("010")
    for name, value in {
        "SOW_JOB_ID": "7",
        "SOW_ROOT": str(home.workspace.root),
        "SOW_TASK_ID": "010",
        "SOW_AGENT": "implementer",
    }.items():
        monkeypatch.setenv(name, value)
    assert sow("clone", "list").code == 0
    assert sow("clone", "path").code == 0
    for words in (("remove", "010", "--discard"), ("prune",)):
        done = sow("clone", *words)
        assert (done.code, "is not for the agent of task 010" in done.err) == (4, True)
    assert home.place("010").path.exists()


def test_a_stray_clone_is_told_so_by_every_command(sow, home, tmp_path, monkeypatch):
    home.make("010")
    home.place("010").path.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for words in (("task", "list"), ("init",), ("clone", "list"), ("project", "status")):
        done = sow(*words)
        assert (done.code, "was moved away from its place" in done.err) == (4, True), words
    assert not (tmp_path / "elsewhere/.sow/project").exists()


def test_settings_that_cannot_be_used_are_told(sow, home):
    home.workspace.repository_config.write_text("clones: {folder: inside}\n")
    done = sow("clone", "list")
    assert (done.code, "clones.folder" in done.err) == (3, True)


def test_without_a_repository(sow, home, tmp_path, monkeypatch):
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(tmp_path / "bare")
    assert sow("init").code == 0
    assert sow("project", "new", "P").code == 0
    done = sow("clone", "list")
    assert (done.code, "lies in no git repository" in done.err) == (4, True)


def test_prune_asks_the_queue_which_reviews_live(sow, home):
    home.make("010")
    place = home.place("010")
    job = make_job("020", verb=Verb.REVIEW, project_id=ProjectId(PROJECT_ID))
    with closing(open_queue(home.workspace)) as database:
        alive = jobs.insert_job(database, job).id
    over, living = (review_place(place, number).path for number in (alive + 1, alive))
    for path in (over, living):
        path.mkdir()
    done = sow("clone", "prune")
    assert done.out.startswith(f"{display_path(over)} removed: left by")
    assert (over.exists(), living.exists(), place.path.exists()) == (False, True, True)


def test_no_command_makes_a_repository_of_its_own_in_a_clone(sow, home, monkeypatch):
    """Any command there would act on the project of the clone's task."""
    home.make("010")
    place = home.place("010").path
    done = sow("demo", "--keep", str(place / "kept"))
    assert (done.code, f"{place}/kept lies in the clone of a task" in done.err) == (2, True)
    monkeypatch.setattr("tempfile.tempdir", str(place))
    before = sorted(place.iterdir())
    done = sow("executor", "try", "claude-code", "--yes")
    assert (done.code, f"{place} lies in the clone of a task" in done.err) == (2, True)
    assert sorted(place.iterdir()) == before
