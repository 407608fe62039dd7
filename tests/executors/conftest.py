"""The folder with stand-ins that the executors' tests run in."""

from pathlib import Path

import pytest
from cli_bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A folder in which `claude`, `cursor-agent` (today's dialect) and `windsurf` are installed."""
    return make_bench(tmp_path)
