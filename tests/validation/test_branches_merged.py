"""Two people who branched off one running project merge their `.sow` by the real git."""

from collections.abc import Callable
from pathlib import Path

import pytest
from validation.conftest import NOON, Validated, snapshot

from sow.ids import PhaseName
from sow.paths import Workspace
from sow.state.all_logs import Wanted, read_logs
from sow.state.artifacts import Side, add_artifact
from sow.state.authors import SOW
from sow.state.projects import add_phase, read_project
from sow.state.tasks import add_task, list_tasks, read_task

pytestmark = pytest.mark.slow  # git process after process

TASKS = ".sow/project/phases/implementation/tasks"


@pytest.fixture
def running(workspace: Workspace, git: Callable[..., str], commit, sow) -> Workspace:
    """Return a project with two tasks, committed on `main`, from which two branches go off."""
    sow("task", "add", "First", "--agent", "implementer")
    sow("task", "add", "Second", "--agent", "tester")
    sow("agent", "log", "Begun", "--task", "010")
    commit("begun")
    git("branch", "theirs")
    return workspace


class Team:
    """Two people, who take turns at one checkout, and their merge."""

    def __init__(self, git: Callable[..., str], commit: Callable[[str], None]) -> None:
        self._git, self._commit = git, commit

    def theirs(self, *works: Callable[[], object]) -> None:
        self._work("theirs", works)

    def ours(self, *works: Callable[[], object]) -> None:
        self._work("main", works)

    def _work(self, branch: str, works: tuple[Callable[[], object], ...]) -> None:
        self._git("checkout", "-q", branch)
        for work in works:
            work()
        self._commit(branch)

    def merge(self) -> None:
        """Merge theirs into ours without a conflict."""
        self._git("merge", "-q", "-m", "both", "theirs")

    def merge_with_conflict(self) -> None:
        self._git("merge", "-q", "-m", "both", "theirs", code=1)


@pytest.fixture
def team(git: Callable[..., str], commit: Callable[[str], None]) -> Team:
    return Team(git, commit)


def actions(workspace: Workspace) -> list[str]:
    return [logged.entry.action for logged in read_logs(workspace, Wanted(), pytest.fail)]


def test_both_have_logged(running, team, sow, validate) -> None:
    same = "The same line.\n" * 6
    team.theirs(lambda: log(sow, "010", "Their step", same), lambda: log(sow, "020", "Their other"))
    team.ours(lambda: log(sow, "010", "Our step", same), lambda: log(sow, "020", "Our other"))
    team.merge()
    assert validate() == Validated(0, clean())
    expected = ["Begun", "Our other", "Our step", "Their other", "Their step"]
    assert sorted(set(actions(running)) & set(expected)) == expected


def log(sow, task: str, action: str, text: str = "") -> None:
    sow("agent", "log", action, "--task", task, "--body", text)


def clean() -> dict[str, object]:
    return {"valid": True, "findings": [], "fixed": [], "not_fixed": [], "to_add": []}


def test_both_have_changed_different_tasks(running, team, sow, validate) -> None:
    team.theirs(lambda: sow("task", "set", "010", "status", "in_progress"))
    team.ours(lambda: sow("task", "set", "020", "status", "abandoned"))
    team.merge()
    assert validate().code == 0
    assert [task.status.value for task in list_tasks(running)] == ["in_progress", "abandoned"]


def test_both_have_added_different_tasks(running, team, sow, validate) -> None:
    team.theirs(lambda: sow("task", "add", "Theirs", "--agent", "tester", "--id", "040"))
    team.ours(lambda: sow("task", "add", "Ours", "--agent", "tester", "--id", "030"))
    team.merge()
    assert validate().code == 0
    assert [task.name for task in list_tasks(running)] == ["First", "Second", "Ours", "Theirs"]


def test_one_has_logged_and_the_other_has_changed_the_state(running, team, sow, validate) -> None:
    team.theirs(lambda: log(sow, "010", "Their step"))
    team.ours(lambda: sow("task", "set", "010", "status", "in_progress"))
    team.merge()
    assert validate().code == 0
    assert read_task(running, "010").status.value == "in_progress"
    assert {"Their step", "Status: pending to in_progress"} <= set(actions(running))


def test_both_have_changed_the_project_in_different_fields(running, team, sow, validate) -> None:
    """Git sees a conflict in `updated_at` at the least; `--fix` sees none."""
    team.theirs(
        lambda: (running.root / "goal.md").write_text("A goal.\n"),
        lambda: add_artifact(running, Side.INPUT, "goal.md", "goal", by=SOW, now=NOON + 60),
    )
    team.ours(lambda: add_phase(running, PhaseName("hardening"), now=NOON + 90))
    team.merge_with_conflict()
    assert validate().kinds == ["conflict"]
    fixed = validate("--fix")
    assert (fixed.code, [each["path"] for each in fixed.record["fixed"]]) == (
        0,
        [".sow/project/state.yaml"],
    )
    assert fixed.record["to_add"] == [".sow/project/state.yaml"]
    project = read_project(running)
    assert project.phases == ["implementation", "hardening"]
    assert [found.path for found in project.inputs] == ["goal.md"]
    assert project.updated_at.timestamp() == NOON + 90


def test_what_both_have_changed_otherwise_is_left_to_people(running, team, sow, validate) -> None:
    team.theirs(lambda: sow("task", "set", "010", "name", "Theirs"))
    team.ours(lambda: sow("task", "set", "010", "name", "Ours"))
    team.merge_with_conflict()
    before = snapshot(running)
    found = validate("--fix")
    (finding,) = found.record["findings"]
    assert found.findings == [("conflict", f"{TASKS}/010/state.yaml", 4)]
    assert finding["what"] == "it has conflict markers: both sides have changed name"
    assert not finding["fixable"]
    assert snapshot(running) == before


def test_a_sow_without_attributes_has_its_logs_in_conflict_and_mended(
    running: Workspace, team, git, commit, sow, validate
) -> None:
    """As the first sow left it."""
    for branch in ("theirs", "main"):
        git("checkout", "-q", branch)
        (running.sow / ".gitattributes").unlink()
        commit("as it was")
    team.theirs(lambda: log(sow, "010", "Their step"))
    team.ours(lambda: log(sow, "010", "Our step"))
    team.merge_with_conflict()
    assert sorted(validate().kinds) == ["conflict", "no-union"]
    assert validate("--fix").code == 0
    assert {"Begun", "Our step", "Their step"} <= set(actions(running))


def test_two_numbers_of_the_folder_come_to_the_higher(running, validate) -> None:
    version = running.sow / ".version"
    version.write_text("<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n")
    assert validate().findings == [("conflict", ".sow/.version", 1)]
    assert validate("--fix").code == 0
    assert version.read_text() == "2\n"


@pytest.fixture
def both_added(running: Workspace, team: Team, sow) -> Workspace:
    """Return the project after a merge of branches that have both added task 030."""
    team.theirs(
        lambda: add(running, "Theirs", depends_on=["010"]),
        lambda: log(sow, "030", "Their beginning"),
        lambda: add(running, "After theirs", task_id="040", depends_on=["030"]),
        lambda: feedback_of(running, "030", "001.md", "Their words.\n"),
        lambda: sow("task", "set", "030", "feedback", "001.md"),
    )
    team.ours(
        lambda: add(running, "Ours", depends_on=["020"]),
        lambda: log(sow, "030", "Our beginning"),
        lambda: add(running, "After ours", task_id="050", depends_on=["030"]),
    )
    team.merge_with_conflict()
    return running


def add(workspace: Workspace, name: str, **more) -> None:
    add_task(workspace, name=name, agent="tester", now=NOON, description=f"{name}!\n", **more)


def feedback_of(workspace: Workspace, task: str, name: str, words: str) -> Path:
    path = workspace.root / TASKS / task / "feedback" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(words)
    return path


def assert_renumbered(workspace: Workspace) -> None:
    tasks = {task.id: task for task in list_tasks(workspace)}
    assert {task_id: (task.name, task.depends_on) for task_id, task in tasks.items()} == {
        "010": ("First", []),
        "020": ("Second", []),
        "030": ("Ours", ["020"]),
        "040": ("After theirs", ["060"]),
        "050": ("After ours", ["030"]),
        "060": ("Theirs", ["010"]),
    }
    folder = workspace.root / TASKS
    assert (folder / "030/description.md").read_text() == "Ours!\n"
    assert (folder / "060/description.md").read_text() == "Theirs!\n"
    assert (folder / "060/feedback/001.md").read_text() == "Their words.\n"
    assert not (folder / "030/feedback/001.md").exists()
    of_task = {
        task: [
            logged.entry.action for logged in read_logs(workspace, Wanted(task=task), pytest.fail)
        ]
        for task in ("030", "060")
    }
    assert of_task["030"] == ["Our beginning"]
    assert of_task["060"][0] == "Their beginning"
    assert of_task["060"][1].startswith("Renumbered: this task was 030 on theirs")


def test_both_have_added_one_task_and_it_is_still_in_conflict(both_added, validate) -> None:
    assert validate().findings == [("same-id", f"{TASKS}/030/state.yaml", 4)]
    fixed = validate("--fix")
    assert (fixed.code, fixed.record["findings"]) == (0, [])
    assert_renumbered(both_added)
    after = snapshot(both_added)
    assert validate("--fix") == Validated(0, clean())
    assert snapshot(both_added) == after


def test_the_same_where_the_marks_were_committed(both_added, commit, validate) -> None:
    commit("with the marks in it")
    assert validate().kinds == ["same-id"]
    assert validate("--fix").code == 0
    assert_renumbered(both_added)


def test_an_entry_that_was_logged_since_stays_with_ours(both_added, commit, sow, validate) -> None:
    log(sow, "030", "Since the merge")
    assert validate("--fix").code == 0
    logged = [each.entry.action for each in read_logs(both_added, Wanted(task="030"), pytest.fail)]
    assert logged == ["Our beginning", "Since the merge"]
    logged = [each.entry.action for each in read_logs(both_added, Wanted(task="060"), pytest.fail)]
    assert logged[0] == "Their beginning"
    assert len(logged) == 2


def test_a_task_that_waits_for_its_own_side_on_both_waits_for_both(
    running, team, sow, validate
) -> None:
    team.theirs(
        lambda: add(running, "Theirs"), lambda: sow("task", "set", "020", "depends_on", "030")
    )
    team.ours(lambda: add(running, "Ours"), lambda: sow("task", "set", "020", "depends_on", "030"))
    team.merge_with_conflict()
    assert validate("--fix").code == 0
    assert read_task(running, "020").depends_on == ["030", "040"]


def test_two_pairs_at_once(running, team, validate) -> None:
    for work, name in ((team.theirs, "Theirs"), (team.ours, "Ours")):
        work(
            lambda name=name: add(running, f"{name} 1"),
            lambda name=name: add(running, f"{name} 2", depends_on=["030"]),
        )
    team.merge_with_conflict()
    assert validate("--fix").code == 0
    assert {task.name: (task.id, task.depends_on) for task in list_tasks(running)[2:]} == {
        "Ours 1": ("030", []),
        "Ours 2": ("040", ["030"]),
        "Theirs 1": ("050", []),
        "Theirs 2": ("060", ["050"]),
    }


@pytest.fixture
def in_two_phases(running: Workspace, team: Team, sow) -> Workspace:
    """Return the project after both have added task 030, each in a phase of its own."""
    team.theirs(
        lambda: add(running, "Theirs", phase="review", new_phase=True),
        lambda: log(sow, "030", "Their beginning"),
        lambda: add(running, "After theirs", task_id="040", depends_on=["030"]),
    )
    team.ours(
        lambda: add(running, "Ours"),
        lambda: add(running, "After ours", task_id="050", depends_on=["030"]),
    )
    team.merge()
    return running


def test_both_have_added_one_task_in_two_phases(in_two_phases, validate) -> None:
    path = ".sow/project/phases/review/tasks/030/state.yaml"
    assert validate().findings == [("same-id", path, 3)]
    assert validate("--fix").code == 0
    tasks = {task.id: task for task in list_tasks(in_two_phases)}
    assert (tasks["030"].name, tasks["060"].name) == ("Ours", "Theirs")
    assert (tasks["060"].phase, tasks["040"].depends_on) == ("review", ["060"])
    assert tasks["050"].depends_on == ["030"]
    logged = [
        each.entry.action for each in read_logs(in_two_phases, Wanted(task="060"), pytest.fail)
    ]
    assert logged[0] == "Their beginning"
    assert validate("--fix").record["fixed"] == []


def test_what_was_never_committed_is_ours(running, team, git, validate) -> None:
    """Somebody pulls while a task of their own is not committed yet."""
    team.theirs(
        lambda: add(running, "Theirs", phase="review", new_phase=True),
        lambda: add(running, "After theirs", task_id="040", depends_on=["030"]),
    )
    git("checkout", "-q", "main")
    add(running, "Ours")
    add(running, "After ours", task_id="050", depends_on=["030"])
    git("merge", "-q", "--ff-only", "theirs")
    assert validate("--fix").code == 0
    tasks = {task.name: task for task in list_tasks(running)}
    assert (tasks["Ours"].id, tasks["Theirs"].id) == ("030", "060")
    assert tasks["After theirs"].depends_on == ["060"]
    assert tasks["After ours"].depends_on == ["030"]


def test_after_a_rebase_ours_is_what_was_there_first(running, team, git, validate) -> None:
    team.theirs(
        lambda: add(running, "Theirs", phase="review", new_phase=True),
        lambda: add(running, "After theirs", task_id="040", depends_on=["030"]),
    )
    team.ours(
        lambda: add(running, "Ours"),
        lambda: add(running, "After ours", task_id="050", depends_on=["030"]),
    )
    git("rebase", "-q", "main", "theirs")
    assert validate("--fix").code == 0
    tasks = {task.name: task for task in list_tasks(running)}
    assert (tasks["Ours"].id, tasks["Theirs"].id) == ("030", "060")
    assert tasks["After theirs"].depends_on == ["060"]
    assert tasks["After ours"].depends_on == ["030"]


def test_without_git_nobody_can_tell_whose_a_folder_is(workspace, validate) -> None:
    add(workspace, "One")
    add(workspace, "Other", phase="review", new_phase=True)
    folder = workspace.root / ".sow/project/phases/review/tasks"
    (folder / "020").rename(folder / "010")
    state = folder / "010/state.yaml"
    state.write_text(state.read_text().replace('"020"', '"010"'))
    before = snapshot(workspace)
    found = validate("--fix")
    assert found.findings == [("same-id", ".sow/project/phases/review/tasks/010/state.yaml", 3)]
    assert not found.record["findings"][0]["fixable"]
    assert snapshot(workspace) == before


def test_a_pair_waits_for_another_file_that_may_name_it(both_added, validate) -> None:
    other = both_added.root / TASKS / "040/state.yaml"
    whole = other.read_text()
    other.write_text(whole.replace("name:", "name"))
    found = validate("--fix")
    assert sorted(found.kinds) == ["form", "same-id"]
    assert "may refer to the task" in found.record["not_fixed"][0]["why"]
    other.write_text(whole)
    assert validate("--fix").code == 0
    assert_renumbered(both_added)
