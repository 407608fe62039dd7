"""Fixtures of the tests that drive real agent CLIs."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from capabilities import skip_or_fail
from claude_install import ClaudeUnavailable, install
from journey import Journey, begin_journey
from namespace import Namespace, NamespaceUnavailable, open_namespace
from native_trial import Trial
from opened_trial import opened_trial
from release.conftest import built, installed
from sandbox import Sandbox, open_sandbox, wait_until
from started_with import STARTED_WITH

sys.path.insert(0, str(Path(__file__).parents[1] / "executors"))  # the contract's table
__all__ = ["built", "installed"]
"""Fixtures of the releases' tests: the wheel, and what it installs."""


@pytest.fixture(scope="session")
def claude_folder() -> Path:
    """Return the folder that holds the real `claude`."""
    try:
        return install(STARTED_WITH)
    except ClaudeUnavailable as missing:
        skip_or_fail(f"Claude Code is not available: {missing}")


@pytest.fixture
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """Return a trial of the CLI that is the test's case."""
    with opened_trial(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """Return an open network namespace."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_namespace(STARTED_WITH))
        except NamespaceUnavailable as missing:
            skip_or_fail(f"there is no network namespace: {missing}")
        yield opened


@pytest.fixture
def sandbox(claude_folder: Path, tmp_path: Path) -> Iterator[Sandbox]:
    """Return a sandbox for the real Claude Code, its repository's name drawn at random."""
    name = f"drawn at random {secrets.token_hex(4)}"
    with ExitStack() as stack:
        try:
            opened = open_sandbox(tmp_path, claude_folder, STARTED_WITH, name=name)
            yield stack.enter_context(opened)
        except NamespaceUnavailable as missing:
            skip_or_fail(f"there is no network namespace: {missing}")


@pytest.fixture
def installed_sandbox(claude_folder: Path, installed: Path, tmp_path: Path) -> Iterator[Sandbox]:
    """Return a sandbox whose sow is the one that the wheel has installed, and see it empty."""
    with ExitStack() as stack:
        try:
            opened = open_sandbox(tmp_path, claude_folder, STARTED_WITH, programs=installed)
            sandbox = stack.enter_context(opened)
        except NamespaceUnavailable as missing:
            skip_or_fail(f"there is no network namespace: {missing}")
        yield sandbox
        leave(sandbox)


@pytest.fixture
def journey(sandbox: Sandbox) -> Iterator[Journey]:
    """Return a journey, and see to it that nothing of it runs on when its worker has stopped."""
    journey = begin_journey(sandbox)
    yield journey
    leave(sandbox)


def leave(sandbox: Sandbox) -> None:
    """Stop the worker, and wait until nothing but the model server runs."""
    sandbox.sow("worker", "stop", "--end-agents")
    wait_until(lambda: set(sandbox.namespace.inhabitants()) <= {sandbox.server}, "an empty place")
