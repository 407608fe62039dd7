"""What cannot be looked at hides nothing else of where a project stands."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from calls.batch_desk import begin, turn
from calls.desk import Desk, make_desk

from sow.batches import gathering
from sow.git.git_errors import GitKilled
from sow.jobs.database import open_queue
from sow.schema.task import TaskStatus
from sow.situation.looking import look
from sow.situation.next_steps import next_steps
from sow.situation.step import Step


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = make_desk(tmp_path, open_queue)
    yield made
    made.close()


def test_a_batch_that_cannot_be_looked_at_hides_neither_jobs_nor_other_batches(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing would seem to run, and `sow next` would have it begun once more."""
    for task in ("010", "020"):
        desk.task(task)
    first, second = begin(desk, "010"), begin(desk, "020")
    turn(first)
    turn(second)

    def gather(workspace: Any, database: Any, batch: Any, *more: Any) -> Any:
        if batch.id == first.batch.id:
            raise GitKilled(desk.base, ["log"], 9)
        return read(workspace, database, batch, *more)

    read = gathering.gather
    monkeypatch.setattr("sow.calls.batch_look.gather", gather)
    found = look(desk.caller, is_at_terminal=True)
    assert [job.task_id for job in found.queue.live] == ["010", "020"]
    assert [(now.plan is None, now.rests) for now in found.queue.batches] == [
        (True, False),
        (False, False),
    ]
    assert any(isinstance(error, GitKilled) for error in found.errors)
    commands = [step.command for step in next_steps(found)]
    assert f"sow batch wait {first.batch.id}" in commands
    assert not any(command.startswith(("sow agent spawn", "sow batch run")) for command in commands)


def fill_with_garbage(desk: Desk) -> None:
    """Write over the file itself; another one in its place would be moved aside."""
    for name in desk.workspace.run.glob("queue.db*"):
        with name.open("r+b") as file:
            file.write(b"no database" * 1000)


def copy_the_checkout(desk: Desk) -> None:
    """Put a copy, with the second names of the queue's file, in the checkout's place."""
    root = desk.workspace.root
    subprocess.run(["cp", "-a", root, root.with_name("copy")], check=True)
    root.rename(root.with_name("original"))
    root.with_name("copy").rename(root)


def lead_out(desk: Desk) -> None:
    run = desk.workspace.run
    run.rename(desk.base / "kept")
    run.symlink_to(desk.base)


def next_step(desk: Desk) -> Step:
    (step,) = next_steps(look(desk.caller, is_at_terminal=True))
    return step


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [fill_with_garbage, copy_the_checkout, lead_out])
def test_a_queue_that_cannot_be_used_is_the_first_thing_to_repair(
    desk: Desk, spoil: Callable[[Desk], None]
) -> None:
    """Any other command that comes next would be refused for it."""
    desk.task("010", status=TaskStatus.NEEDS_REVIEW)
    spoil(desk)
    step = next_step(desk)
    assert str(desk.workspace.run) in step.why
    subprocess.run(["sh", "-c", step.command], cwd=desk.workspace.root, check=True)
    assert next_step(desk).command == "sow agent review 010"


def test_a_queue_that_a_newer_sow_has_made_is_examined_first(desk: Desk) -> None:
    desk.task("010", status=TaskStatus.NEEDS_REVIEW)
    desk.database.connection.execute("pragma user_version = 999")
    step = next_step(desk)
    assert (step.command, "has format 999" in step.why) == ("sow doctor", True)


@pytest.mark.parametrize("path", ["/x" * 3000, f"/{'x' * 300}"])
def test_a_place_of_a_clone_that_no_system_takes_hides_no_other_task(desk: Desk, path: str) -> None:
    """An author may write any into its state."""
    for task in ("010", "020"):
        desk.task(task, status=TaskStatus.NEEDS_REVIEW)
    state = next(desk.workspace.project.glob("phases/*/tasks/010/state.yaml"))
    clone = f"  clone: {{path: {path}, branch: mine, base: {'a' * 40}}}\n"
    state.write_text(state.read_text() + clone)
    found = look(desk.caller, is_at_terminal=True)
    assert [task.id for task in found.tasks] == ["010", "020"]
