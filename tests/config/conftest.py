"""A configuration file in a throw-away folder, and what loading it gives."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from config.command import Place

from sow.config.configuration import Configuration
from sow.config.load import load_configuration

ROLES = (
    "orchestrator",
    "implementer",
    "architect",
    "reviewer",
    "planner",
    "researcher",
    "security-reviewer",
)

Load = Callable[..., Configuration]


@pytest.fixture
def config_path(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


@pytest.fixture
def load(config_path: Path, tmp_path: Path) -> Load:
    """Write the given texts where the user's and the repository's files lie, and load them."""

    def load(
        text: str | bytes | None = None,
        *,
        repository: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Configuration:
        if text is not None:
            config_path.write_bytes(text.encode() if isinstance(text, str) else text)
        repository_path = tmp_path / "repository.yaml"
        if repository is not None:
            repository_path.write_text(repository)
        return load_configuration(
            path=config_path,
            repository_path=repository_path,
            environ=environ or {},
            roles=ROLES,
        )

    return load


@pytest.fixture
def anywhere(tmp_path: Path) -> Place:
    """A folder that is no repository, and the true command in it."""
    (tmp_path / "home").mkdir()
    return Place(tmp_path)
