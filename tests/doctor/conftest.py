"""A site whose programs a test can replace."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor.clinic import Clinic
from journeys.site import make_site


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    made = Clinic(make_site(tmp_path))
    yield made
    made.site.close()
