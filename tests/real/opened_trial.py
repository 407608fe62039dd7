"""A trial of a real agent CLI for a test, and how CI draws among all such tests.

Owns how agents over ACP become cases of one test. Where a CLI cannot be run, the test is skipped or
fails (`capabilities`).
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from acp_agents import AGENTS
from capabilities import skip_or_fail
from claude_install import ClaudeUnavailable
from namespace import NamespaceUnavailable
from native_trial import Trial, open_trial
from natives import Native, install_native
from started_with import STARTED_WITH


@contextmanager
def opened_trial(native: Native, folder: Path) -> Iterator[Trial]:
    """Open a trial of a CLI."""
    with ExitStack() as stack:
        try:
            program = install_native(native, STARTED_WITH)
            found = stack.enter_context(open_trial(folder, native, program, STARTED_WITH))
        except (ClaudeUnavailable, NamespaceUnavailable) as missing:
            skip_or_fail(f"{native.name} cannot be run: {missing}")
        yield found


def by_acp(part: str, names: Iterable[str] = AGENTS) -> pytest.MarkDecorator:
    """Run a test with each of these agents over ACP; CI draws one of them and one part."""
    return pytest.mark.parametrize("trial", _acp_cases(part, names), indirect=True)


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
