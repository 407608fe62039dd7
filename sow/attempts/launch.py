"""From a plan to a process-to-be: the launch an executor builds, and the agent's environment.

Owns what an agent's environment is made of. Used by the worker, which starts
the process, and by `--dry-run`, which shows it. Starts nothing.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sow import env_vars
from sow.agent_clis.known import AGENT_CLIS
from sow.agents.rights import commands_denied, commands_for
from sow.attempts.homes import folder_of_job, home_used, in_home
from sow.attempts.plan import Plan, begins
from sow.attempts.references import readable_references, unwritable_links
from sow.config.environment import read_executor_env
from sow.environment import agent_environment
from sow.errors import ConfigurationError
from sow.executors.base import Executor, Launch, LaunchRequest
from sow.executors.programs import find_program
from sow.ids import AttemptId, PhaseName, TaskId
from sow.paths import Workspace, way_to_server
from sow.schema.job import Job
from sow.schema.task import Task

if TYPE_CHECKING:
    from sow.config.secrets import Secrets


def task_folder(workspace: Workspace, task: Task) -> Path:
    """Return a task's folder."""
    return workspace.task(PhaseName(task.phase), TaskId(task.id))


def folder_of(workspace: Workspace, job: Job, clone: Path | None) -> Path:
    """Return the folder that the agent of a job runs in.

    `clone` is what stands for the workspace's root in the task's clone; None without one.
    """
    return (workspace.root if clone is None else clone) / job.cwd


def location_for(folder: Path, cwd: Path) -> str:
    """Return a folder relative to where the agent runs, or whole if it runs elsewhere."""
    return str(folder.relative_to(cwd)) if folder.is_relative_to(cwd) else str(folder)


def launch_of(
    workspace: Workspace,
    job: Job,
    task: Task,
    plan: Plan,
    executor: Executor,
    prompt_file: Path,
    *,
    clone: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Launch:
    """Return the launch that carries out a plan.

    `clone` is as for `folder_of`; `environ` are the variables by which its CLI
    finds the user's own files, needed only with a clone.
    """
    folder = task_folder(workspace, task)
    own = folder_of_job(workspace, job)
    home = home_used(own, job.agents_executor, begins=begins(plan))
    request = LaunchRequest(
        session=plan.session,
        prompt=plan.prompt,
        prompt_file=prompt_file,
        task_dir=folder,
        cwd=folder_of(workspace, job, clone),
        as_root=os.geteuid() == 0,
        environ=environ or {},
        commands=commands_of_role(job.agent, reviews=task.judges_whole),
        denied=denied_to_role(job.agent, reviews=task.judges_whole),
        readable=readable_to(workspace, task, is_apart=clone is not None),
        unwritable=unwritable_links(workspace, task),
        checkout=None if clone is None else workspace.root / job.cwd,
        writable=(workspace.sow,),
        home=home,
    )
    made = executor.spawn(request) if begins(plan) else executor.resume(request)
    return in_home(made, job.agents_executor, home, environ or {})


def commands_of_role(role: str, *, reviews: bool = False) -> tuple[str, ...]:
    """Return the commands of sow that the CLI of an agent is to let it run, each by its words."""
    return tuple(map(" ".join, commands_for(role, reviews=reviews)))


def denied_to_role(role: str, *, reviews: bool = False) -> tuple[str, ...]:
    """Return the commands of sow that the CLI of an agent is to refuse it, likewise."""
    return tuple(map(" ".join, commands_denied(role, reviews=reviews)))


def readable_to(workspace: Workspace, task: Task, *, is_apart: bool) -> tuple[Path, ...]:
    """Return the folders outside of the one that it runs in that an agent is to read.

    The references that its task names, as they lie in the cache; and for one in a clone
    (`is_apart`) what `readable_from_clone` says.
    """
    here = readable_from_clone(workspace, task) if is_apart else ()
    return tuple(dict.fromkeys((*here, *readable_references(workspace, task))))


def readable_from_clone(workspace: Workspace, task: Task) -> tuple[Path, ...]:
    """Return the folders of the main checkout that an agent in a clone is to read.

    Its task's own, and those that its list of references names below `.sow`, which the
    clone does not have or need not have. Links into `.sow/refs` are not followed here.
    """
    named = [workspace.root / text for text in task.references if isinstance(text, str)]
    inside = [
        path
        for path in named
        if path.is_relative_to(workspace.sow)
        and not path.is_relative_to(workspace.refs)
        and path.is_dir()
    ]
    return tuple(dict.fromkeys((task_folder(workspace, task), *inside)))


def environment_of(
    workspace: Workspace,
    job: Job,
    attempt_id: AttemptId,
    launch: Launch,
    environ: Mapping[str, str],
    review: str = "",
    users: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the agent's whole environment; later sources win.

    What it inherits of the worker's own (`environ`), the executor's `env` from the user's file,
    the caller's PATH, what the CLI needs, and who the agent is. `review` is set where
    its run ends with a verdict (`env_vars.REVIEW`); `users` is what `variables_of` has returned,
    where it was asked for this start before.
    """
    users = variables_of(job, environ) if users is None else users
    replaced = AGENT_CLIS[job.agents_executor.type].replaced_variables
    return {
        **users,
        **{f"{env_vars.USERS_PREFIX}{name}": users.get(name, "") for name in replaced},
        "PATH": path_with_sow(job.path_variable),
        **launch.env,
        **way_to_server(environ),
        env_vars.ROOT: str(workspace.root),
        env_vars.TASK_ID: job.task_id,
        env_vars.JOB_ID: str(job.id),
        env_vars.ATTEMPT_ID: attempt_id,
        env_vars.AGENT: job.agent,
        env_vars.EXECUTOR: job.agents_executor.name,
        **({env_vars.REVIEW: review} if review else {}),
    }


def variables_of(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the agent of a job gets of the user's, and its executor's `env` on top of that.

    No secret is among it. Raises ConfigurationError as `executor_variables`.
    """
    return {**inherited_by(job, environ), **executor_variables(job, environ)}


def inherited_by(job: Job, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the agent of a job gets of this process's environment (`env_inherit`)."""
    return agent_environment(environ, job.agents_executor.env_inherit)


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


def secrets_of(job: Job) -> "Secrets | None":
    """Return the secrets of a job's agent as its file names them now; None where it has none.

    Raises ConfigurationError where one cannot be read.
    """
    if job.executor is None or not job.executor.secret_names or not job.config_file:
        return None
    # Few executors have any.
    from sow.config.secrets import read_secrets

    return read_secrets(Path(job.config_file), job.executor.name)


def path_with_sow(path: str) -> str:
    """Return the caller's PATH, ended by our own folder where it does not lead to `sow`."""
    return path if find_program("sow", path) else path_with_ours(path)


def path_with_ours(path: str) -> str:
    """Return a PATH, ended by our own folder, which has `sow` in it, where that is not there."""
    ours = str(Path(sys.executable).parent)
    folders = path.split(os.pathsep) if path else []
    return path if ours in folders else os.pathsep.join((*folders, ours))
