"""Journeys: the true `sow`, the true worker, stand-in agents, in a repository of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Give a site; a storm finds whom it kills by what `/proc` says, and so has no forks."""
    made = make_site(tmp_path, forks=request.node.get_closest_marker("storm") is None)
    yield made
    made.close()
