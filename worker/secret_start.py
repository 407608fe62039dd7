"""What an attempt gets whose agent has secrets: variables, and its supervisor's orders about them.

Owns the environment in which the commands of `env_commands` run: the user's own, as the worker has
it, without a folder or a PATH that a caller has chosen. To `sow` such a command is an agent of a
role that has no rights. Imported only for an executor with secrets.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from sow import env_vars
from sow.config.secrets import Secrets
from sow.environment import agent_environment, own_environment, own_process
from sow.errors import SowError
from sow.git.repository import repository_of
from sow.ids import AttemptId
from sow.paths import AttemptPaths
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from worker.context import WorkerContext
from worker.kinds.base import Prepared
from worker.steps.program_input import ScanOrders
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
    if kind_of(job).makes_work:
        orders = _scan_orders(context, job, paths, attempt_id)
        files = {**prepared.files, paths.scan_orders.name: msgspec.json.encode(orders)}
        prepared = replace(prepared, files=files)
        scan = own_process("worker.steps", "scan", str(paths.scan_orders))
    fields = pack_secrets(scan, secrets.commands, own_environment(users))
    return prepared, given, fields


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
