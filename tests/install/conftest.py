"""Fixtures of the tests of what sow installs."""

from pathlib import Path

import pytest
from install.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)
