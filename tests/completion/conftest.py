"""A site with a project, a queue and a command line to complete."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from journeys.site import Site, make_site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = make_site(tmp_path)
    yield made
    made.close()
