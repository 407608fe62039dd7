"""A random valid tree is clean, with `--fix` as without it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from validation.conftest import snapshot
from validation.trees import make_tree

from sow.validation.examination import examine
from sow.validation.mending import mend

pytestmark = pytest.mark.slow

NOWHERE = Path("/nonexistent/config.yaml")


@settings(
    max_examples=min(25, settings.default.max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**9))
def test_a_random_valid_tree_is_clean(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    workspace = make_tree(tmp_path_factory.mktemp("tree"), seed)
    assert examine(workspace, NOWHERE).defects == []
    before = snapshot(workspace)
    assert mend(workspace, NOWHERE, now=0) == ([], [])
    assert snapshot(workspace) == before


def test_the_command_says_so(sow, validate) -> None:
    assert validate().code == 0
    assert sow("validate").startswith("Nothing is wrong in ")
