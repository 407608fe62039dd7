"""The sandbox of a command line of the repository: a check, or the setup of a clone.

Owns where it works, as the step knows that, what it may ask of the network, and what its log says
of hosts that it was refused. The modules of a proxy are imported where one was asked for alone.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sow import env_vars
from sow.blanking import LOST, open_output, write_all
from sow.config.checks import CheckCommand
from sow.environment import caller_environment
from sow.files import discard_tree
from sow.paths import AttemptPaths, Workspace
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.visible_folders import repository_around, visible_in_clone, visible_in_root
from sow.schema.executor_type import NetworkUse
from worker.steps.command_line import Fence
from worker.steps.judged import ClonePlace

if TYPE_CHECKING:
    from worker.supervisor.gate import Gate
    from worker.supervisor.own_processes import OwnProcesses


class Visible(NamedTuple):
    """Where a command line runs: in this process's folder."""

    workspace: Workspace
    seen: Callable[[], Wanted]
    """Returns what is seen there."""


def visible_to_check(root: str, clone: ClonePlace | None) -> Visible:
    """Return where a check runs: the task's clone, or in the root of the workspace."""
    workspace = Workspace(Path(root))
    if clone is None:
        return Visible(workspace, lambda: visible_in_root(workspace, Path.cwd()))
    return visible_in_task_clone(workspace, Path(clone.path))


def visible_in_task_clone(workspace: Workspace, clone: Path) -> Visible:
    """Return where a command line runs in the clone of a task."""
    return Visible(workspace, lambda: visible_in_clone(workspace, clone, Path.cwd(), borrows=False))


def visible_in_throw_away(root: Path) -> Visible:
    """Return where it runs in a throw-away clone, which has the main objects."""
    workspace = Workspace(root)

    def seen() -> Wanted:
        return visible_in_clone(workspace, repository_around(Path.cwd()), Path.cwd(), borrows=True)

    return Visible(workspace, seen)


def fence_of_line(
    command: CheckCommand, visible: Visible, paths: AttemptPaths, log: Path
) -> Fence | None:
    """Return what puts a command line into its sandbox; None where it has none.

    `paths` are its attempt's, `log` is where its output goes.
    """
    if not command.is_sandboxed:
        return None
    hosts = command.allowed_hosts
    has_network = command.network is not NetworkUse.LOOPBACK
    elsewhere = (
        "Move the checkout into a folder of its own. Or write `sandbox: none` for"
        f" checks.{command.name} and accept that (`sow trust`). A task that has a clone is checked"
        " in its clone."
    )

    def around(argv: Sequence[str]) -> Sequence[str]:
        wanted = replace(visible.seen(), has_network=has_network, hosts=hosts)
        if hosts:
            from sow.sandbox.by_proxy import through_door  # for few command lines

            argv = through_door(argv)
        environ = caller_environment(os.environ)
        return fenced_argv(command.name, wanted, argv, environ, elsewhere=elsewhere)

    return Fence(around, partial(_gate_of, command, visible, paths, log) if hosts else None)


def _gate_of(
    command: CheckCommand, visible: Visible, paths: AttemptPaths, log: Path, own: "OwnProcesses"
) -> "Gate":
    """Open the way of a command line to its hosts. Raises SandboxUnavailable."""
    # Few command lines have any.
    from sow.sandbox.by_proxy import proxy_argv
    from sow.sandbox.proxy_probe import ProxyUnavailable
    from worker.supervisor.gate import REMEDY, Gate, NoProxy, pack_proxy

    place = paths.proxy_of(command.name)
    discard_tree(place)  # of the same command line, before: a merge may be checked again
    argv = proxy_argv(command.name, visible.workspace, place, caller_environment(os.environ))
    fields = [os.fsencode(field) for field in pack_proxy(command.allowed_hosts, argv)]
    attempt = os.environ.get(env_vars.ATTEMPT_ID, "")
    try:
        return Gate(str(place), attempt, fields, own, partial(_note_refused, str(log)))
    except NoProxy as error:
        reason = f"its proxy cannot be started: {error.how}"
        raise ProxyUnavailable(command.name, reason, REMEDY) from error


def _note_refused(log: str, word: bytes) -> None:
    """Say in a command line's log which host it was refused, or that its proxy has ended."""
    line = b"sow: it asked for " + word + b", which `network: allow` does not name\n"
    if word == LOST:
        line = b"sow: the proxy of `network: allow` has ended: no host can be reached any more\n"
    try:
        descriptor = open_output(log)
    except OSError:
        return
    write_all(descriptor, line)
    os.close(descriptor)
