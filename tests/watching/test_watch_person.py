"""A verdict that a key gives counts as a person's: the command sees the terminal of the view."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import make_desk

from sow.jobs.database import open_queue
from sow.schema.task import TaskStatus
from sow.watching.commands import run_command
from sow.watching.keys import KEY_COMMANDS

pytestmark = pytest.mark.slow  # it starts sow


@pytest.fixture
def terminal() -> Iterator[None]:
    """Have this process's standard input be a terminal."""
    kept, (keyboard, screen) = os.dup(0), pty.openpty()
    os.dup2(screen, 0)
    yield
    os.dup2(kept, 0)
    for descriptor in (kept, keyboard, screen):
        os.close(descriptor)


def test_a_verdict_is_a_persons_and_no_other_command_sees_the_terminal(
    tmp_path: Path, terminal: None
) -> None:
    desk = make_desk(tmp_path, open_queue)
    desk.task("010", TaskStatus.NEEDS_REVIEW)
    argv = ("review", "accept", "010", "--summary=Good.")
    for for_person, by in ((True, "person"), (False, "orchestrator")):
        root, environ = desk.workspace.root, desk.caller.environ
        ran = run_command(argv, root, environ, for_person=for_person)
        assert ran.code == 0, ran
        review = desk.read("010").review
        assert review.by == by
    desk.close()
    assert [command.name for command in KEY_COMMANDS if command.for_person] == ["accept"]


def test_a_job_that_a_key_has_queued_is_seen_in_the_view(tmp_path: Path) -> None:
    """So `sow next` does not name it as one whose outcome nobody knows."""
    desk = make_desk(tmp_path, open_queue)
    desk.staff()
    desk.task("010")
    argv = ("agent", "spawn", "implementer", "010", "--detach")
    ran = run_command(argv, desk.workspace.root, desk.caller.environ)
    assert (ran.code, desk.job(1).id) == (0, 1), ran
    assert desk.database.rows("select id from waiter") == []
    desk.close()
