"""A task whose folder somebody has removed by hand leaves its clone to no new task."""

import shutil

import pytest
from clones.making_site import NOON, Home, commit, make_home
from in_process import run_in_process

from sow.clones.record import note_clone
from sow.errors import StateError
from sow.state.tasks import add_task, find_task

pytestmark = pytest.mark.slow  # process after process


@pytest.fixture
def home(tmp_path) -> Home:
    """Return a repository whose task 030 had a clone with work, until its folder was removed."""
    home = make_home(tmp_path)
    note_clone(home.repository, home.make("030").mark)
    commit(home.place("030").path, "old", "old\n")
    shutil.rmtree(find_task(home.workspace, "030").folder)
    return home


def add(home: Home, task_id: str | None = None):
    return add_task(home.workspace, name="New", agent="implementer", now=NOON, task_id=task_id)


def test_a_new_task_gets_another_id(home):
    assert [add(home).id, add(home).id] == ["040", "050"]
    home.make("040")
    assert not (home.place("040").path / "old").exists()


def test_the_id_is_refused_by_name(home, tmp_path):
    with pytest.raises(StateError, match="030 was the id of a removed task") as refused:
        add(home, "030")
    assert "Leave out --id" in refused.value.hint
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}
    words = ("task", "add", "New", "--agent", "implementer")
    assert run_in_process(*words, "--id", "030", env=env, cwd=home.top).code == 4
    assert "Task 040 added" in run_in_process(*words, env=env, cwd=home.top).out


def test_an_import_takes_it_neither(home, tmp_path):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}
    file = tmp_path / "tasks.yaml"
    file.write_text("[{id: '030', name: New, agent: implementer}]\n")
    refused = run_in_process("task", "import", str(file), env=env, cwd=home.top)
    assert "030 was the id of a removed task" in refused.err
    file.write_text("[{key: new, name: New, agent: implementer}]\n")
    assert run_in_process("task", "import", str(file), env=env, cwd=home.top).code == 0
    assert find_task(home.workspace, "040")


def test_a_task_that_is_there_keeps_its_id_and_clone(home):
    note_clone(home.repository, home.make("020").mark)
    assert find_task(home.workspace, "020")
    assert add(home).id == "040"
