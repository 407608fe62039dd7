"""The options of the commands that call: how a call waits and speaks, and what features add.

Owns `--wait` with its variable, and the command that goes on waiting in the same way. The
waiting itself is `calling`. A feature's module `options` has `OPTIONS`, and `parse(values)`,
which returns what they ask for and raises UsageError.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from msgspec import Struct

from sow import env_vars
from sow.agent_clis.known import shell_bound
from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.arguments import priority_option
from sow.cli.output import json_option
from sow.config.units import parse_duration
from sow.errors import UsageError
from sow.features import OPTIONS, parts
from sow.reports.wording import waiting_command

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


since_option = click.option(
    "--since",
    metavar="CURSOR",
    help="Return at the first change after this cursor, with all that changed and the next cursor;"
    " 0 is the beginning.",
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
        words = "Wait at most this long (90s, 9m); then exit 75 while the job continues."
        command = click.option("--wait", metavar="TIME", help=f"{words} Also SOW_WAIT.")(command)
        return cast("F", command)

    return decorate


def bound_of(options: WaitOptions, caller: Caller) -> float | None:
    """Return how long a call waits in seconds; None: as long as it takes. Raises UsageError."""
    return seconds_to_wait(options.wait, caller.environ)


def seconds_to_wait(wait: str | None, environ: Mapping[str, str]) -> float | None:
    """Return how long to wait in seconds: `--wait`, SOW_WAIT, else what the shell allows.

    None: as long as it takes. Raises UsageError.
    """
    bound = wait or environ.get(env_vars.WAIT)
    if not bound:
        return shell_bound(environ)
    try:
        return parse_duration(bound)
    except ValueError:
        raise UsageError(
            f"not a length of time: {bound!r}", hint="Write a number and a unit: 90s, 9m, 2h."
        ) from None


def feature_options(function: F) -> F:
    """Give a command the options of features; it gets what they ask for as `asked`."""

    @wraps(function)
    def with_asked(**values: Any) -> Any:
        given = {name: values.pop(name) for name in OPTIONS}
        asked: dict[str, Any] = {}
        for part in parts("options"):
            asked |= part.parse(given)
        return function(asked=asked, **values)

    command: Any = with_asked
    for option in reversed([option for part in parts("options") for option in part.OPTIONS]):
        flag = {"is_flag": True} if option.is_flag else {"metavar": option.metavar}
        command = click.option(f"--{option.name}", help=option.help, **flag)(command)
    return cast("F", command)


def start_options(function: F) -> F:
    """Give a command the options that spawn and resume share."""
    command = call_options()(function)
    verbose = click.option(
        "-v", "--verbose", is_flag=True, help="Show how the executor was chosen."
    )
    for give in (verbose, dry_run_option, feature_options, priority_option, again_option):
        command = give(command)
    return command
