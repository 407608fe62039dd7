"""Repositories to refer to, and workspaces that do."""

import shutil
from pathlib import Path

import pytest
from refs.ref_site import RefSite
from refs.remotes import Remote


@pytest.fixture(scope="session")
def repository_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository with a commit, made once."""
    return Remote.begun(tmp_path_factory.mktemp("remotes") / "style").path


@pytest.fixture
def remote(tmp_path: Path, repository_to_copy: Path) -> Remote:
    """Give a repository with a commit, beside the workspace."""
    made = tmp_path / "remotes" / "style"
    shutil.copytree(repository_to_copy, made)
    return Remote(made)


@pytest.fixture
def site(tmp_path: Path) -> RefSite:
    """Give a workspace in a git repository of its own."""
    return RefSite.begun(tmp_path / "work")
