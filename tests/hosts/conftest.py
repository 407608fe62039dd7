"""Machines of a test, which end with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts.machines import Machine, Network, open_network


@pytest.fixture
def network() -> Iterator[Network]:
    with open_network() as network:
        yield network


@pytest.fixture
def machine(network: Network, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(network, 0, "lonely", tmp_path)
    made.boot()
    yield made
    made.die()
