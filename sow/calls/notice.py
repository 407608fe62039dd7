"""Running a person's own command for an event: in a program of ours that ends its whole tree.

Owns the start of that program and what its answer comes to. The program outlives
whoever waits here, and keeps the command to its time by itself. What the command
gets is `reports.notices`; that it is run once at the most, `jobs.notifications`.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sow import env_vars
from sow.config.notify import NotifyCommand
from sow.environment import agent_environment, own_environment, own_process
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.notification import DeliveryState, NoticeOrders, NoticeResult, Notification

PROGRAM = "worker.notice"
ENDING_SECONDS = 20.0
"""How long the program may take beyond the command's time: it ends a tree, firmly if need be."""


def deliver(
    workspace: Workspace,
    command: NotifyCommand,
    notification: Notification,
    environ: Mapping[str, str],
    *,
    name: str,
) -> NoticeResult:
    """Run a command with a notification on its standard input, and return how it ended.

    `name` is what its processes are known by where orphans are not inherited.
    """
    packages = process_facts.packages()
    orders = NoticeOrders(
        run=command.run,
        seconds=command.timeout_seconds,
        stdin=f"{msgspec.json.encode(notification).decode()}\n",
        spares=str(workspace.jobs / "notify" / "0"),
        packages=str(packages) if packages is not None else None,
    )
    try:
        process = subprocess.Popen(
            own_process(PROGRAM),
            cwd=_home(),
            env=_environment(environ, notification, name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        reason = f"it could not be started: {error.strerror or error}"
        return NoticeResult(state=DeliveryState.FAILED, reason=reason)
    return _result(process, msgspec.json.encode(orders), command.timeout_seconds + ENDING_SECONDS)


def _result(process: "subprocess.Popen[bytes]", orders: bytes, seconds: float) -> NoticeResult:
    try:
        answer, _ = process.communicate(orders, timeout=seconds)
        return msgspec.json.decode(answer, type=NoticeResult)
    except subprocess.TimeoutExpired:  # it was stopped, say
        process.kill()
        process.communicate()
    except msgspec.MsgspecError:  # it was killed
        pass
    reason = "the program that ran it was ended from outside"
    return NoticeResult(state=DeliveryState.UNCERTAIN, reason=reason)


def _home() -> Path:
    """Return where commands work: no file of a repository is found there by a mere name."""
    home = Path.home() if os.environ.get("HOME") else Path("/")
    return home if home.is_dir() else Path("/")


def _environment(
    environ: Mapping[str, str], notification: Notification, name: str
) -> dict[str, str]:
    kept = {key: environ[key] for key in (env_vars.CONFIG,) if environ.get(key)}
    return {
        **own_environment(agent_environment(environ)),
        **kept,
        env_vars.ATTEMPT_ID: name,
        env_vars.EVENT: notification.event.value,
        env_vars.MESSAGE: notification.message,
    }
