"""The first calls in a repository, at once: each finds `.sow/run` made by another, or makes it."""

import threading
from pathlib import Path

import pytest

from sow.errors import QueueError
from sow.jobs.private_folders import refuse_foreign_run
from sow.paths import Workspace

pytestmark = pytest.mark.slow  # a storm of looks
LOOKS = 3_000


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = Workspace(tmp_path)
    found.sow.mkdir()
    return found


def test_a_folder_that_another_call_makes_meanwhile_is_no_file(workspace: Workspace) -> None:
    """Of eight first calls one was refused with `.sow/run is not a folder`."""
    is_over = threading.Event()

    def make_and_remove() -> None:
        while not is_over.is_set():
            workspace.run.mkdir()
            workspace.run.rmdir()

    other = threading.Thread(target=make_and_remove)
    other.start()
    try:
        for _ in range(LOOKS):
            refuse_foreign_run(workspace)
    finally:
        is_over.set()
        other.join()


def test_a_file_in_its_place_is_refused(workspace: Workspace) -> None:
    workspace.run.touch()
    with pytest.raises(QueueError, match="run is not a folder"):
        refuse_foreign_run(workspace)
