"""A workspace with an empty queue."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huey_queue import HueyQueue
from queue_cases import Queue, RecordsQueue

from sow.jobs.database import Database, open_queue
from sow.paths import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".sow").mkdir()
    return Workspace(tmp_path)


@pytest.fixture
def database(workspace: Workspace) -> Iterator[Database]:
    opened = open_queue(workspace)
    yield opened
    opened.close()


@pytest.fixture(params=[RecordsQueue, HueyQueue], ids=["records", "huey"])
def queue(request: pytest.FixtureRequest, database: Database, workspace: Workspace) -> Queue:
    """Each door to the same queue."""
    made: Queue = request.param(database, workspace)
    return made
