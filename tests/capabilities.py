"""The rule for tests that need more than every machine has."""

import os
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI") == "true"
"""Read before any test begins: CI=true promises that everything can be run."""


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test, or fail it under CI=true."""
    if IN_CI:
        pytest.fail(f"CI must run this test, but {reason}", pytrace=False)
    pytest.skip(reason)
