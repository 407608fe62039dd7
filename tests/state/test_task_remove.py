"""A task that never ran is removed whole, by one rename, and comes back by nobody."""

from collections.abc import Callable
from pathlib import Path

import pytest
from state.conftest import NOON

from sow.errors import StateError
from sow.paths import Workspace
from sow.schema.task import SessionFacts, Task, TaskStatus
from sow.state.bulk.removing import remove_task
from sow.state.kept.store import kept_at
from sow.state.state_errors import UnknownTask
from sow.state.tasks import add_task, change_task, find_task, list_tasks, set_dependencies


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    for name in ("First", "Second"):
        add_task(workspace, name=name, agent="implementer", now=NOON)
    return workspace


def nothing_against_it(_: Task) -> None:
    return


def test_its_folder_and_its_copies_are_gone(project: Workspace) -> None:
    folder = find_task(project, "010").folder
    kept = kept_at(project.root)
    assert kept is not None
    copy = Path(kept.copy(kept.name(folder / "state.yaml")))
    assert copy.exists()
    assert remove_task(project, "010", nothing_against_it).name == "First"
    assert [task.id for task in list_tasks(project)] == ["020"]
    assert not folder.exists()
    assert not copy.exists()
    assert list(folder.parent.glob(".*")) == []
    with pytest.raises(UnknownTask):
        find_task(project, "010")


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"status": TaskStatus.IN_PROGRESS}, "`sow task abandon 010 --cancel-job` abandons it"),
        ({"status": TaskStatus.COMPLETED}, "It is done; its work and its log are kept"),
        (
            {"session_id": "x", "session": SessionFacts(executor="claude-code", started=True)},
            "`sow task abandon 010` abandons it",
        ),
    ],
)
def test_what_has_begun_stays(project: Workspace, changes: dict[str, object], hint: str) -> None:
    change_task(project, "010", lambda _: changes, now=NOON)
    with pytest.raises(StateError, match=r"cannot be removed: it was started") as caught:
        remove_task(project, "010", nothing_against_it)
    assert caught.value.hint.startswith(hint)
    assert len(list_tasks(project)) == 2


def test_what_was_given_up_before_it_began_goes(project: Workspace) -> None:
    change_task(project, "010", lambda _: {"status": TaskStatus.ABANDONED}, now=NOON)
    remove_task(project, "010", nothing_against_it)
    assert len(list_tasks(project)) == 1


def test_what_others_wait_for_stays_and_the_commands_are_named(project: Workspace) -> None:
    add_task(project, name="Third", agent="tester", now=NOON, depends_on=["010", "020"])
    set_dependencies(project, "020", ["010"], now=NOON)
    with pytest.raises(StateError, match="020, 030 depend on it") as caught:
        remove_task(project, "010", nothing_against_it)
    assert '  sow task set 020 depends_on ""\n' in caught.value.hint
    assert caught.value.hint.endswith('  sow task set 030 depends_on "020"')


def test_what_the_caller_has_against_it_passes_through(project: Workspace) -> None:
    def refuse(task: Task) -> None:
        raise StateError(f"{task.id} had a job", hint="")

    with pytest.raises(StateError, match="010 had a job"):
        remove_task(project, "010", refuse)
    assert len(list_tasks(project)) == 2


def test_what_a_killed_command_left_is_swept(
    project: Workspace, script: Callable[..., object]
) -> None:
    folder = find_task(project, "010").folder
    draft = folder.with_name(".010.abc.tmp")
    (draft / "feedback").mkdir(parents=True)
    remove_task(project, "020", nothing_against_it)
    assert not draft.exists()
