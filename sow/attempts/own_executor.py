"""What drives an agent's CLI, as this user's configuration says it when an attempt starts.

A job's record names its executor; which program that is, with which arguments and
permissions, no record decides. Owns that look-up.
"""

import os
from pathlib import Path

from msgspec.structs import replace

from sow.config.config_errors import InvalidConfiguration
from sow.config.load import read_executors
from sow.schema.executor import ExecutorConfig
from sow.schema.job import Job
from sow.schema.kinds import kind_of


class ExecutorChanged(InvalidConfiguration):
    """The user's file no longer has the executor that a job was placed for."""


def with_own_executor(job: Job, own: Path, root: Path) -> Job:
    """Return a job with its executor as the user's file has it now; one without an agent as it is.

    `own` is the file that this process was started with, `root` the workspace's root. Raises
    InvalidConfiguration where the file has no such executor any more, or another one of that name.
    """
    if job.executor is None:
        return job
    path = Path(job.config_file) if job.config_file else own
    if path != own and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise InvalidConfiguration(
            path=path,
            reason="it lies in the repository, and this worker was started with another file",
            remedy="Let `sow worker stop` end it and call again, or name a file outside of the"
            " repository.",
        )
    executor = own_executor(job.executor, path, anew=_anew(job))
    if executor == job.executor:
        return job
    return replace(job, executor=executor, config_file=str(path))


def _anew(job: Job) -> str:
    """Return the command that does what a job was to do with the executor that is there now."""
    if kind_of(job).makes_work:
        return f"sow agent spawn {job.task_id} --fresh"
    return f"sow agent review {job.task_id}"


def own_executor(recorded: ExecutorConfig, path: Path, *, anew: str) -> ExecutorConfig:
    """Return the executor of that name in a user's file.

    `anew` is a command for whoever has changed it. Raises ExecutorChanged, also where it has lost a
    variable that the call counted on, and InvalidConfiguration where the file cannot be used.
    """
    found = read_executors(path).get(recorded.name)
    key = f"agents.executors.{recorded.name}"
    if found is None:
        raise ExecutorChanged(
            path=path,
            key="agents.executors",
            reason=f"executor {recorded.name!r} is no longer defined here",
            remedy=f"Define it again, or bind the role to another one and begin anew: `{anew}`.",
        )
    if found.type is not recorded.type:
        raise ExecutorChanged(
            path=path,
            key=f"{key}.type",
            reason=f"it is {found.type} now; the job was placed for {recorded.type}",
            remedy=f"Put it back, or begin anew: `{anew}`.",
        )
    given = {*found.env_names, *found.secret_names}
    if missing := sorted({*recorded.env_names, *recorded.secret_names} - given):
        raise ExecutorChanged(
            path=path,
            key=f"{key}.env",
            reason=f"{', '.join(missing)} is not set here any more",
            remedy=f"Put it back, or begin anew: `{anew}`.",
        )
    return found
