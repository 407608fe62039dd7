"""From a plan to a process-to-be: the launch an executor builds, and the agent's environment.

Owns what an agent's environment is made of. Used by the worker, which starts
the process, and by `--dry-run`, which shows it. Starts nothing.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from sow import own_variables
from sow.attempts.plan import Plan
from sow.config.environment import read_executor_env
from sow.environment import agent_environment
from sow.errors import ConfigurationError
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.ids import AttemptId, PhaseName, TaskId
from sow.paths import Workspace
from sow.schema.job import Job, Verb
from sow.schema.task import Task


def task_folder(workspace: Workspace, task: Task) -> Path:
    """Return a task's folder."""
    return workspace.task(PhaseName(task.phase), TaskId(task.id))


def location_for(workspace: Workspace, job: Job, folder: Path) -> str:
    """Return a folder relative to where the agent runs, or whole if it runs elsewhere."""
    cwd = workspace.root / job.cwd
    return str(folder.relative_to(cwd)) if folder.is_relative_to(cwd) else str(folder)


def launch_of(
    workspace: Workspace, job: Job, task: Task, plan: Plan, executor: Executor, prompt_file: Path
) -> Launch:
    """Return the launch that carries out a plan."""
    request = LaunchRequest(
        session=plan.session,
        prompt=plan.prompt,
        prompt_file=prompt_file,
        task_dir=task_folder(workspace, task),
        cwd=workspace.root / job.cwd,
        as_root=os.geteuid() == 0,
    )
    return executor.spawn(request) if plan.verb is Verb.SPAWN else executor.resume(request)


def environment_of(
    workspace: Workspace,
    job: Job,
    attempt_id: AttemptId,
    launch: Launch,
    environ: Mapping[str, str],
) -> dict[str, str]:
    """Return the agent's whole environment; later sources win.

    The worker's own (`environ`), the executor's `env` from the user's file,
    the caller's PATH, what the CLI needs, and who the agent is.
    """
    return {
        **agent_environment(environ),
        **executor_variables(job, environ),
        "PATH": path_with_sow(job.path_variable),
        **launch.env,
        own_variables.ROOT: str(workspace.root),
        own_variables.TASK_ID: job.task_id,
        own_variables.JOB_ID: str(job.id),
        own_variables.ATTEMPT_ID: attempt_id,
        own_variables.AGENT: job.agent,
        own_variables.EXECUTOR: job.agents_executor.name,
    }


def executor_variables(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the executor's `env` as its file says it now; the record holds names only.

    Raises ConfigurationError when a name that the call counted on is gone.
    """
    if not job.agents_executor.env_names or not job.config_file:
        return {}
    values = read_executor_env(Path(job.config_file), job.agents_executor.name, environ)
    missing = sorted(set(job.agents_executor.env_names) - set(values))
    if missing:
        raise ConfigurationError(
            f"{job.config_file} no longer sets {', '.join(missing)} for {job.agents_executor.name}",
            hint="Put it back under agents.executors, or spawn the task again.",
        )
    return values


def path_with_sow(path: str) -> str:
    """Return the caller's PATH, ended by our own folder where it does not lead to `sow`."""
    if shutil.which("sow", path=path):
        return path
    ours = str(Path(sys.executable).parent)
    return f"{path}{os.pathsep}{ours}" if path else ours
