"""A workspace for one attempt."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from attempt_cases import AttemptSite
from watch_cases import WatchSite, make_watch_site

from sow.config import command_sandbox
from sow.paths import Workspace
from sow.sandbox.probe import SandboxUnavailable


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".sow").mkdir()
    return Workspace(tmp_path)


@pytest.fixture
def attempt(workspace: Workspace) -> Iterator[AttemptSite]:
    site = AttemptSite(workspace)
    yield site
    site.close()


@pytest.fixture
def site(workspace: Workspace) -> Iterator[WatchSite]:
    made = make_watch_site(workspace)
    yield made
    made.close()


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process find none for command lines of the repository."""

    def usable(whose: str) -> str:
        raise SandboxUnavailable(whose, "there is no bwrap here", "Install it.")

    monkeypatch.setattr(command_sandbox, "usable", usable)
