"""A workspace of each test's own."""

from pathlib import Path

import pytest
from knowledge.knowledge_site import KnowledgeSite


@pytest.fixture
def site(tmp_path: Path) -> KnowledgeSite:
    home = tmp_path / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    return KnowledgeSite(tmp_path / "work", environment)
