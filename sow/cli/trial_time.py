"""How long a trial of executors may take: each run of an agent, and all of it.

Owns `--timeout` and `--wait` of `sow executor try` and `sow executor compare`, and what is left.
"""

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from sow.cli import late_click as click
from sow.cli.call_options import seconds_to_wait
from sow.cli.this_call import usage_error
from sow.config.units import parse_duration

F = TypeVar("F", bound=Callable[..., Any])
TIME_IS_UP = "the time was up"
ASK_LONGER = (
    "The time of --wait is up. A longer one lets it go to its end; in a shell that ends commands"
    " before, run it in the background."
)


class TrialTime(NamedTuple):
    """How long a trial may take."""

    run_seconds: float
    """How long each run of an agent may take."""
    ends_at: float | None = None
    """When no more is begun, and what runs is ended, by the monotonic clock; None: never."""

    @property
    def is_up(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.ends_at is not None and time.monotonic() >= self.ends_at

    @property
    def next_seconds(self) -> float:
        """How long the next run may take."""
        if self.ends_at is None:
            return self.run_seconds
        return max(0.0, min(self.run_seconds, self.ends_at - time.monotonic()))


def time_options(each_run: str) -> Callable[[F], F]:
    """Give a command `--timeout`, which is `each_run` by default, and `--wait`."""

    def decorate(function: F) -> F:
        words = "End after this long (90s, 9m), print what is known, and exit 75. Also SOW_WAIT."
        command: Any = click.option("--wait", metavar="TIME", help=words)(function)
        words = f"How long each run may take.  [default: {each_run}]"
        command = click.option("--timeout", metavar="TIME", default=each_run, help=words)(command)
        return cast("F", command)

    return decorate


def trial_time(timeout: str, wait: str | None) -> TrialTime:
    """Return how long a trial that begins now may take. Raises UsageError."""
    try:
        run_seconds = parse_duration(timeout)
    except ValueError as error:
        raise usage_error(f"--timeout: {error}") from error
    seconds = seconds_to_wait(wait, os.environ)
    return TrialTime(run_seconds, None if seconds is None else time.monotonic() + seconds)
