"""`--verbose` and `--dry-run`: how a call would be resolved, and what it would start.

Reads only; places no job, allocates no session, writes nothing.
"""

from collections.abc import Mapping
from typing import Any

import click
import msgspec
from msgspec import UNSET

from sow.cli.output import echo_json
from sow.config.trace import resolution_trace
from sow.executors.base import Session, SessionSource
from sow.executors.registry import make_executor
from sow.ids import AttemptId
from sow.schema.job import Job, Verb
from sow.schema.task import SessionFacts, Task
from sow.sessions.admission import admit_resume, admit_spawn
from sow.sessions.caller import Caller
from sow.sessions.launching import environment_of, launch_of, location_for, task_folder
from sow.sessions.placement import Request, Resolved, job_for, keeps_session, resolve
from sow.sessions.plan import plan_attempt

NEW_SESSION = "<new session>"


def show_resolution(caller: Caller, request: Request) -> None:
    """Print on stderr how agent, executor and settings were found, and where each came from."""
    config = caller.load_configuration()
    resolved = resolve(caller, config, request)
    for line in resolution_trace(config, config.binding(resolved.agent)):
        click.echo(line, err=True)
    for note in resolved.notes:
        click.echo(f"Note: {note}", err=True)


def show_dry_run(caller: Caller, request: Request, *, as_json: bool) -> None:
    """Print argv, folder, names of variables and prompt of what the call would start."""
    config = caller.load_configuration()
    resolved = resolve(caller, config, request)
    if request.verb is Verb.SPAWN:
        admit_spawn(resolved.task, resolved.agent, resolved.executor, fresh=request.fresh)
    else:
        admit_resume(resolved.task, resolved.executor)
    resolved.executor.validate_availability(caller.path_variable)
    _show(_preview(caller, job_for(caller, config, resolved), resolved), as_json=as_json)


def _preview(caller: Caller, job: Job, resolved: Resolved) -> Mapping[str, Any]:
    task = _as_if_marked(resolved)
    executor = make_executor(job.executor)
    folder = task_folder(caller.workspace, task)
    plan = plan_attempt(job, task, None, executor, location_for(caller.workspace, job, folder))
    prompt_file = caller.workspace.run / "jobs" / "<job>" / "1" / "prompt.md"
    launch = launch_of(caller.workspace, job, task, plan, executor, prompt_file)
    environ = environment_of(caller.workspace, job, AttemptId("<attempt>"), launch, caller.environ)
    return {
        "task": task.id,
        "verb": plan.verb.value,
        "agent": job.agent,
        "executor": job.executor.name,
        "argv": list(launch.argv),
        "cwd": str(launch.cwd),
        "environment": sorted(environ),
        "prompt": launch.stdin,
    }


def _as_if_marked(resolved: Resolved) -> Task:
    """Return the task as the call would leave it, with a session that is not made yet."""
    task, executor = resolved.task, resolved.executor
    if resolved.request.verb is Verb.RESUME or keeps_session(resolved, task):
        return task
    if executor.session_source in (SessionSource.NONE, SessionSource.LEARNED):
        return msgspec.structs.replace(task, session_id=UNSET, session=UNSET)
    session = Session(NEW_SESSION)
    facts = SessionFacts(executor=executor.name, cwd=resolved.cwd)
    return msgspec.structs.replace(task, session_id=session.id, session=facts)


def _show(preview: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        echo_json(preview)
        return
    import shlex

    click.echo(f"Would {preview['verb']} {preview['agent']} for task {preview['task']}")
    click.echo(f"Executor: {preview['executor']}")
    click.echo(f"Command: {shlex.join(preview['argv'])}")
    click.echo(f"Folder: {preview['cwd']}")
    click.echo(f"Variables: {' '.join(preview['environment'])}")
    click.echo(f"Prompt:\n\n{preview['prompt']}")
