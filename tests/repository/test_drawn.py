"""What a commit draws, and that `make proof` runs all from which it is drawn."""

import re

import pytest
from proving import place_of
from repository.sources import ROOT

from proof.__main__ import TESTS

DRAWS = re.compile(r"^from proving import .*\bdrawn\b", re.MULTILINE)
pytestmark = pytest.mark.xdist_group("sources")


def test_commits_draw_each_of_several_the_same_commit_always_the_same() -> None:
    places = [place_of(f"{commit:040x}", 12) for commit in range(200)]
    assert set(places) == set(range(12))
    assert places == [place_of(f"{commit:040x}", 12) for commit in range(200)]


def test_the_proof_runs_each_file_that_draws() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/*/test_*.py")]
    draws = {file for file in files if DRAWS.search((ROOT / file).read_text())}
    assert "tests/clones/test_rebasing.py" in draws
    assert draws <= set(TESTS)
