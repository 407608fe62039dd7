"""How a call waits and speaks, as its options say.

Owns `--wait` with its variable, `--detach` and `--again`, and the command that goes on
waiting in the same way. The waiting itself is `calling`.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import click
from msgspec import Struct

from sow import env_vars
from sow.agent_clis.shell_bound import shell_bound
from sow.calls.caller import Caller
from sow.cli.output import json_option
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


again_option = click.option(
    "--again", is_flag=True, help="Run again even if an earlier result was not shown."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be started; start nothing."
)


def call_options(detach: str | None = "Queue it and return at once.") -> Callable[[F], F]:
    """Give a command `--wait`, `--detach` and `--json`, passed to it together as `options`.

    `detach` is the help of `--detach`; None leaves it out.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def with_options(
            *, wait: str | None, as_json: bool, detach: bool = False, **values: Any
        ) -> Any:
            options = WaitOptions(as_json=as_json, detach=detach, wait=wait)
            return function(options=options, **values)

        command: Any = json_option(with_options)
        if detach is not None:
            command = click.option("--detach", is_flag=True, help=detach)(command)
        words = "Wait at most this long (90s, 9m); then exit 75 while the job goes on."
        command = click.option("--wait", metavar="TIME", help=f"{words} Also SOW_WAIT.")(command)
        return cast("F", command)

    return decorate


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
