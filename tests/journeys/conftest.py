"""Journeys: the true `sow`, the true worker, stand-in agents, in a repository of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path)
    yield made
    made.close()
