"""How a call waits and speaks, as its options say.

Owns `--wait` with its variable, and the command that goes on waiting in the
same way. The waiting itself is `calling`.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec import Struct

from sow import env_vars
from sow.agent_clis.shell_bound import shell_bound
from sow.calls.caller import Caller
from sow.config.units import parse_duration
from sow.errors import UsageError
from sow.reports.wait_commands import waiting_command

F = TypeVar("F", bound=Callable[..., Any])


class WaitOptions(Struct, frozen=True):
    """How a call waits and speaks."""

    as_json: bool
    detach: bool = False
    any_one: bool = False
    wait: str | None = None
    names_jobs: bool = False
    """Whether the command that goes on waiting names jobs: of such as are about no task, and
    where the call itself has named them so."""
    strikes_all: bool = False
    """Whether an outcome, once printed, is owed to nobody any more, whoever else went away."""

    def command_for(self, task_ids: Sequence[str | None], job_ids: Sequence[int]) -> str:
        """Return the command that goes on waiting for these tasks, or jobs, as this call does."""
        return waiting_command(
            *(task_id for task_id in task_ids if task_id),
            jobs=job_ids if self.names_jobs else (),
            any_one=self.any_one,
            wait=self.wait,
            as_json=self.as_json,
        )


def call_options(*, as_json: bool, detach: bool, wait: str | None) -> WaitOptions:
    """Return the options of a call that places jobs: spawn, resume."""
    return WaitOptions(as_json=as_json, detach=detach, wait=wait)


def wait_option(function: F) -> F:
    """Give a command `--wait`."""
    return click.option(
        "--wait",
        metavar="TIME",
        help="Wait at most this long (90s, 9m); then exit 75 while the job goes on. Also SOW_WAIT.",
    )(function)


def bound_of(options: WaitOptions, caller: Caller) -> float | None:
    """Return how long to wait in seconds: `--wait`, SOW_WAIT, else what the shell allows."""
    bound = options.wait or caller.environ.get(env_vars.WAIT)
    if not bound:
        return shell_bound(caller.environ)
    try:
        return parse_duration(bound)
    except ValueError:
        raise UsageError(
            f"not a length of time: {bound!r}", hint="Write a number and a unit: 90s, 9m, 2h."
        ) from None
