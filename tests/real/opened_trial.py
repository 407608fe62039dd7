"""A trial of a real agent CLI for a test, and how CI draws among all such tests.

Owns how CLIs with executors of their own, and agents over ACP, become cases of one test. Where a
CLI cannot be run, the test is skipped or fails (`capabilities`).
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from acp_agents import AGENTS
from capabilities import skip_or_fail
from claude_install import ClaudeUnavailable
from namespace import NamespaceUnavailable
from native_trial import Trial, open_trial
from natives import EVERY, NATIVES, Native, install_native
from started_with import STARTED_WITH


@contextmanager
def opened_trial(
    native: Native,
    folder: Path,
    *others: Native,
    name: str = "repository",
    as_user: bool = False,
) -> Iterator[Trial]:
    """Open a trial of a CLI in a repository of this name; `others` are on PATH as well.

    `as_user` is as for `open_trial`.
    """
    every = (native, *others)
    with ExitStack() as stack:
        if native.executor == "codex-acp" and folder.is_relative_to("/dev"):
            # Its sandbox has a `/dev` of its own (measured).
            elsewhere = TemporaryDirectory(prefix="sow-trial-", dir="/var/tmp")
            folder = Path(stack.enter_context(elsewhere))
        try:
            programs = [str(install_native(each, STARTED_WITH)) for each in every]
            path = Path(":".join(programs))
            opened = open_trial(folder, native, path, STARTED_WITH, name=name, as_user=as_user)
            found = stack.enter_context(opened)
        except (ClaudeUnavailable, NamespaceUnavailable) as missing:
            skip_or_fail(f"{', '.join(each.name for each in every)} cannot be run: {missing}")
        yield found


ALIKE, ALONE = "natives", "natives by themselves"
"""From which CI draws: what all CLIs are asked alike, and what one of them is asked alone."""


def by_each(part: str) -> pytest.MarkDecorator:
    """Run a test with each CLI by its own executor, and with each agent over ACP.

    Of either CI draws one and one part.
    """
    cases = [*_native_cases(ALIKE, part, NATIVES), *_acp_cases(part, AGENTS)]
    return pytest.mark.parametrize("trial", cases, indirect=True)


def by_native(part: str, *names: str) -> pytest.MarkDecorator:
    """Run a test with these CLIs, or with all but Claude Code, each by its own executor.

    Of the tests with all of them CI draws one CLI and one part, and so it does of the others.
    """
    cases = _native_cases(ALONE if names else ALIKE, part, names or NATIVES)
    return pytest.mark.parametrize("trial", cases, indirect=True)


def by_acp(part: str, names: Iterable[str] = AGENTS) -> pytest.MarkDecorator:
    """Run a test with each of these agents over ACP; CI draws one of them and one part."""
    return pytest.mark.parametrize("trial", _acp_cases(part, names), indirect=True)


def _native_cases(group: str, part: str, names: Iterable[str]) -> list[object]:
    return [
        pytest.param(EVERY[name], id=name, marks=pytest.mark.one_of(group, f"{name}, {part}"))
        for name in names
    ]


def _acp_cases(part: str, names: Iterable[str]) -> list[object]:
    return [
        pytest.param(
            AGENTS[name],
            id=f"{name}-acp",
            marks=pytest.mark.one_of("agents by ACP", f"{name}, {part}"),
        )
        for name in names
    ]


def reports(status: str, *, log: str = "") -> list[dict[str, str]]:
    """Return the answers of a model that logs, and sets its task's status."""
    logs = [{"run": f'sow agent log "{log}"'}] if log else []
    return [*logs, {"run": f"sow task set status {status}"}]
