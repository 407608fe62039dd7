"""What the sandbox of an agent shows besides its folder: its session's home, its login, references.

Owns that choice, and the argv of an agent in its sandbox. What a sandbox hides and how it is made
is `sow.sandbox`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from sow import env_vars
from sow.attempts.homes import folder_in, parts_of
from sow.attempts.launch import path_with_ours
from sow.executors.base import Launch
from sow.paths import Workspace
from sow.sandbox.fenced import fenced_argv
from sow.sandbox.machine import Wanted
from sow.sandbox.view import covers
from sow.sandbox.visible_folders import visible_in_clone, visible_in_root, with_parts
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import NetworkUse, SandboxUse
from sow.user_folders import BaseFolder, user_folder


def sandbox_of_agent(
    workspace: Workspace,
    executor: ExecutorConfig,
    launch: Launch,
    environ: Mapping[str, str],
    *,
    clone: Path | None,
    readable: Iterable[Path],
    borrows: bool = False,
) -> Wanted | None:
    """Return what an agent is to see; None for an executor without a sandbox.

    `clone` is the top of the clone that it works in, `readable` are the folders that it is given to
    read. `environ` is the user's, by which the login is found. `borrows` is as for
    `visible_in_clone`.
    """
    if not executor.is_sandboxed:
        return None
    if clone is None:
        visible = visible_in_root(workspace, launch.cwd)
    else:
        visible = visible_in_clone(workspace, clone, launch.cwd, borrows=borrows)
    has_network = executor.network is not NetworkUse.LOOPBACK
    visible = replace(visible, has_network=has_network, hosts=executor.allowed_hosts)
    shown = [path for kind in ("mirrored", "shared") for path in _linked(executor, environ, kind)]
    return with_parts(
        visible,
        readable=tuple(map(str, (*_references(workspace, readable), *shown))),
        writable=() if launch.home is None else (str(launch.home),),
        # A CLI may renew its login: a read-only one would be lost by that.
        optional=tuple(map(str, _linked(executor, environ, "linked"))),
    )


def _references(workspace: Workspace, folders: Iterable[Path]) -> list[Path]:
    """Return those of some folders that lie in `.sow` or in the cache of references.

    A task's state names some of them, and agents write that: it must not open another folder of
    the user's, by `..` or by a link.
    """
    roots = (workspace.sow, Path(user_folder(BaseFolder.CACHE), "refs"))
    real = [os.path.realpath(root) for root in roots]
    return [path for path in folders if any(covers(r, os.path.realpath(path)) for r in real)]


def _linked(executor: ExecutorConfig, environ: Mapping[str, str], kind: str) -> list[Path]:
    """Return what of the user's a session's home has links to, as far as it is there."""
    parts = parts_of(executor)
    found = [folder_in(part, environ) / name for part in parts for name in getattr(part, kind)]
    return [path for path in found if path.exists()]


def in_sandbox(
    name: str, wanted: Wanted, argv: Sequence[str], environ: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the argv of an agent in its sandbox, and its environment.

    `name` is its executor's. `argv[0]` is a path. The `sow` that its PATH leads to may be a link in
    the home, which is not there: our own folder is. Raises SandboxUnavailable, TooWide.
    """
    seen = with_parts(wanted, programs=(os.path.abspath(argv[0]),))  # noqa: PTH100 - links count
    if socket := environ.get(env_vars.REPORT_SOCKET):
        seen = with_parts(seen, writable=(os.path.dirname(socket),))  # noqa: PTH120
    inside = {**environ, env_vars.SANDBOX: SandboxUse.BWRAP.value}
    inside["PATH"] = path_with_ours(environ.get("PATH", ""))
    if wanted.hosts:
        from sow.sandbox.by_proxy import through_door  # for few agents

        argv = through_door(argv)
    return fenced_argv(f"executor {name}", seen, argv, inside), inside
