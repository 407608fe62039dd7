"""A desk for the tests of each step of a call."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.desk import Desk, make_desk

from sow.jobs.database import open_queue


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = make_desk(tmp_path, open_queue)
    yield made
    made.close()
