"""A workspace with an empty queue: in a file, and on a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huey_queue import HueyQueue
from postgres import Server
from queue_cases import Queue, RecordsQueue
from stores import FILE, SERVER, name_server, opened

from sow.jobs.database import Database
from sow.paths import Workspace


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that has a queue on both stores, unless it is about the file.

    CI runs those of one module on a server: all of them take three minutes. `make test-quick` has
    none on a server, and does not even collect them.
    """
    if "store" in metafunc.fixturenames:
        drawn = pytest.mark.one_of("a queue on a server", metafunc.module.__name__)
        stores = [FILE, pytest.param(SERVER, marks=(drawn, pytest.mark.slow))]
        is_of_file = metafunc.definition.get_closest_marker("queue_file") is not None
        if is_of_file or metafunc.config.getoption("quick"):
            stores = [FILE]
        metafunc.parametrize("store", stores, indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest, poisoned_home: Path) -> str:
    """Name the store that has the queue in the user's configuration; return a server's address."""
    if request.param == FILE:
        return ""
    server = request.getfixturevalue("postgres_server")
    name_server(poisoned_home, server)
    return str(server.url)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".sow").mkdir()
    return Workspace(tmp_path)


@pytest.fixture
def database(workspace: Workspace, store: str) -> Iterator[Database]:
    with opened(workspace, store) as found:
        yield found


@pytest.fixture
def on_server(workspace: Workspace, postgres_server: Server, poisoned_home: Path) -> Iterator[Any]:
    """Give a queue on a server, for tests of what a file has not."""
    name_server(poisoned_home, postgres_server)
    with opened(workspace, postgres_server.url) as found:
        yield found


@pytest.fixture(params=[RecordsQueue, HueyQueue], ids=["records", "huey"])
def queue(request: pytest.FixtureRequest, database: Database, workspace: Workspace) -> Queue:
    """Each door to the same queue."""
    made: Queue = request.param(database, workspace)
    return made
