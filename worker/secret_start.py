"""What an attempt gets whose agent has secrets: variables, and its supervisor's orders about them.

Owns the environment in which the commands of `env_commands` run: the user's own, as the worker has
it, without a folder or a PATH that a caller has chosen. To `sow` such a command is an agent of a
role that has no rights. Imported only for an executor with secrets.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import UNSET

from sow import env_vars
from sow.config.secrets import Secrets
from sow.environment import agent_environment, own_environment, own_process
from sow.errors import SowError
from sow.git.git_errors import NoRepository
from sow.git.inert_refs import is_symbolic
from sow.git.repository import repository_of
from sow.ids import AttemptId
from sow.paths import AttemptPaths
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from worker.context import WorkerContext
from worker.kinds.base import Prepared
from worker.steps.program_input import ScanOrders
from worker.supervisor.quick_look import pack_look
from worker.supervisor.secret_orders import pack_secrets


def with_secrets(
    context: WorkerContext,
    job: Job,
    paths: AttemptPaths,
    attempt_id: AttemptId,
    prepared: Prepared,
    environ: Mapping[str, str],
    secrets: Secrets,
) -> tuple[Prepared, dict[str, str], Sequence[str]]:
    """Return the process to be with its files, its environment, and the orders about its secrets.

    The values from files are in the environment. No file gets any.
    """
    given = {**environ, **secrets.values, env_vars.SECRETS: ",".join(secrets.names)}
    users = {
        **agent_environment(context.environ),
        env_vars.ROOT: str(context.workspace.root),
        env_vars.JOB_ID: str(job.id),
        env_vars.ATTEMPT_ID: str(attempt_id),
        env_vars.AGENT: env_vars.STEP_ROLE,
    }
    scan: Sequence[str] = ()
    look: Sequence[str] = ()
    if kind_of(job).makes_work:
        orders = _scan_orders(context, job, paths, attempt_id)
        files = {**prepared.files, paths.scan_orders.name: msgspec.json.encode(orders)}
        prepared = replace(prepared, files=files)
        scan = own_process("worker.steps", "scan", str(paths.scan_orders))
        if prepared.state_file is not None and not _is_apart(job, prepared):
            look = _look_orders(context, prepared.state_file.parent)
    fields = pack_secrets(scan, secrets.commands, own_environment(users), look)
    return prepared, given, fields


def _is_apart(job: Job, prepared: Prepared) -> bool:
    """Whether an agent's work lies in a clone, whoever has had that made."""
    task = prepared.task
    return job.works_in_clone or (task is not None and task.clone is not UNSET)


def _scan_orders(
    context: WorkerContext, job: Job, paths: AttemptPaths, attempt_id: AttemptId
) -> ScanOrders:
    try:
        commit = repository_of(context.workspace.root).commit or None
    except SowError:
        commit = None
    return ScanOrders(
        folder=os.fspath(paths.folder),
        attempt=attempt_id,
        workspace=os.fspath(context.workspace.root),
        task=job.task_id,
        commit=commit,
    )


def _look_orders(context: WorkerContext, task: Path) -> Sequence[str]:
    """Return what the supervisor looks at by itself; nothing where only git can tell it.

    `task` is the task's folder.
    """
    workspace = context.workspace
    folders = (str(task), str(workspace.run), str(workspace.project))
    try:
        main = repository_of(workspace.root)
        if (main.common_dir / "reftable").exists() or is_symbolic(main.common_dir, main.branch):
            return ()
    except NoRepository:
        if any((each / ".git").exists() for each in (workspace.root, *workspace.root.parents)):
            return ()  # one without a commit, say
        return pack_look("", *folders, (f"{workspace.root}/.git/HEAD",))
    except SowError:
        return ()
    marks = [str(main.git_dir / "HEAD")]
    if main.branch is not None:
        marks.append(str(main.common_dir / "refs/heads" / main.branch))
    return pack_look(str(main.top), *folders, marks)
