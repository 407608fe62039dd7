"""A repository on the little GitHub, of each test's own."""

from pathlib import Path

import pytest
from with_github.github_site import GithubSite


@pytest.fixture
def site(tmp_path: Path) -> GithubSite:
    return GithubSite(tmp_path)
