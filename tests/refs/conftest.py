"""Repositories to refer to, and workspaces that do."""

from pathlib import Path

import pytest
from refs.ref_site import RefSite
from refs.remotes import Remote


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    """Give a repository with a commit, beside the workspace."""
    return Remote.begun(tmp_path / "remotes" / "style")


@pytest.fixture
def site(tmp_path: Path) -> RefSite:
    """Give a workspace in a git repository of its own."""
    return RefSite.begun(tmp_path / "work")
