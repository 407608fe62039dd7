"""The sandbox of a command line of the repository: a check, or the setup of a clone.

Owns where it works, as the step knows that, and that the module of the sandbox is imported where
one was asked for alone.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from sow.config.checks import CheckCommand
from sow.environment import caller_environment
from sow.paths import Workspace
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.seat import repository_around, seat_in_clone, seat_in_root
from sow.schema.executor_type import NetworkUse
from worker.steps.command_line import Fence
from worker.steps.judged import ClonePlace

Seat = Callable[[], Wanted]
"""Returns what is seen where a command line runs: in this process's folder."""


def seat_of(root: str, clone: ClonePlace | None) -> Seat:
    """Return the seat of a check in the task's clone, or in the root of the workspace."""
    workspace = Workspace(Path(root))
    if clone is None:
        return lambda: seat_in_root(workspace, Path.cwd())
    return seat_in_task_clone(workspace, Path(clone.path))


def seat_in_task_clone(workspace: Workspace, clone: Path) -> Seat:
    """Return the seat of a command line in the clone of a task."""
    return lambda: seat_in_clone(workspace, clone, Path.cwd(), borrows=False)


def seat_in_throw_away(root: Path) -> Seat:
    """Return the seat of a command line in a throw-away clone, which has the main objects."""
    workspace = Workspace(root)
    return lambda: seat_in_clone(workspace, repository_around(Path.cwd()), Path.cwd(), borrows=True)


def fence_of_line(command: CheckCommand, seat: Seat) -> Fence | None:
    """Return what puts a command line into its sandbox; None where it has none."""
    if not command.is_sandboxed:
        return None

    def fence(argv: Sequence[str]) -> Sequence[str]:
        has_network = command.network is not NetworkUse.LOOPBACK
        wanted = replace(seat(), has_network=has_network)
        return fenced_argv(command.name, wanted, argv, caller_environment(os.environ))

    return fence
