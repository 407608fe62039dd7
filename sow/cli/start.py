"""`sow start`: an orchestrator's session, on this terminal or as a job."""

import os
import shlex
from collections.abc import Mapping
from contextlib import closing, nullcontext
from typing import Any

from msgspec.structs import replace

from sow import env_vars
from sow.calls.caller import Caller
from sow.calls.orchestrating import orchestrator_task, request_for
from sow.calls.request import Request
from sow.calls.start import Opening, prepare_opening, run_opening
from sow.cli import late_click as click
from sow.cli.arguments import this_caller, working_folder
from sow.cli.call_options import WaitOptions, call_options, feature_options
from sow.cli.calling import place_and_wait
from sow.cli.confirming import is_somebody_there
from sow.cli.output import echo_json
from sow.cli.prompt import composed_for
from sow.errors import ExitCode, StateError, UsageError
from sow.features import OPTIONS
from sow.ids import ProjectId, TaskId
from sow.jobs import jobs, waiters
from sow.jobs.database import open_existing_queue
from sow.paths import Workspace
from sow.schema.output.sessions import SessionEnded, StartPreview
from sow.state.authors import ORCHESTRATOR
from sow.state.projects import read_project
from sow.terminal_text import readable


@click.command()
@click.argument("goal", required=False)
@click.option("--headless", is_flag=True, help="Run it as a job, without a terminal, and wait.")
@feature_options
@click.option("--dry-run", is_flag=True, help="Show the command; start nothing.")
@call_options("With --headless: queue it and return at once.")
def start(
    goal: str | None,
    headless: bool,
    asked: Mapping[str, Any],
    dry_run: bool,
    options: WaitOptions,
) -> int:
    """Start an orchestrator's session for this project on this terminal.

    It opens the CLI that is bound to the role `orchestrator`, gives it the output
    of `sow next`, and lets it run the commands that an orchestrator needs. GOAL
    is its first message. With --headless it runs as a job of a task in the phase
    `project` instead: wait for it, answer and resume it like any other task. The
    same command again continues it.

    Exit: 0 when the session was closed, 1 if the CLI failed, 5 for an executor
    that has a sandbox or whose CLI has no interactive mode; with --headless as for
    `sow agent spawn`.
    """
    words = readable(goal or "").strip()
    if headless:
        if dry_run:
            raise UsageError(
                "--dry-run shows a session on a terminal, and --headless makes a task",
                hint="Give either. `sow agent spawn 010 --dry-run` shows what a task would start.",
            )
        caller = this_caller()
        _refuse_agents(caller)
        request = replace(_headless(caller, words), asked=asked)
        return place_and_wait(caller, [request], options)
    if options.detach or options.wait or asked:
        *names, last = ("--wait", "--detach", *(f"--{name}" for name in OPTIONS))
        raise UsageError(f"{', '.join(names)} and {last} are for a job", hint="Add --headless.")
    caller = _caller_anywhere()
    _refuse_agents(caller)
    opening = prepare_opening(caller, caller.load_configuration(), _instructions(caller), words)
    if dry_run:
        _show(opening, as_json=options.as_json)
        return int(ExitCode.OK)
    return _on_terminal(opening, as_json=options.as_json)


def _refuse_agents(caller: Caller) -> None:
    if caller.job_id is not None:
        job_id = caller.job_id
        raise StateError(
            f"the agent of job {job_id} cannot start another orchestrator",
            hint="Add the work as a task: `sow task add`, then `sow agent spawn`.",
        )


def _caller_anywhere() -> Caller:
    """Return the caller, in a folder without `.sow` too: an orchestrator may begin all of it."""
    try:
        return this_caller()
    except StateError as error:
        if not (error.hint and "sow init" in error.hint):
            raise
        folder = working_folder()
        return Caller(Workspace(folder), os.environ, folder)


def _instructions(caller: Caller) -> str:
    """Return what `sow prompt` tells whoever leads, where the project stands."""
    here = caller if caller.workspace.sow.is_dir() else None
    team = caller.workspace.prompts
    environ = {**caller.environ, env_vars.AGENT: ORCHESTRATOR}
    if here is not None:
        here = replace(here, environ=environ)
    return composed_for(here, team if team.is_dir() else None, environ).text


def _headless(caller: Caller, goal: str) -> Request:
    """Return the call that begins the orchestrator's task, goes on with it, or finds it at work."""
    task = orchestrator_task(caller.workspace, goal, now=caller.now())
    database = open_existing_queue(caller.workspace)
    with closing(database) if database is not None else nullcontext():
        last = None
        if database is not None:
            project_id = ProjectId(read_project(caller.workspace).id)
            last = jobs.last_job(database, project_id, TaskId(task.id))
        is_owed = (
            database is not None
            and last is not None
            and waiters.is_owed(database, caller.workspace, last.id)
        )
        return request_for(task, last, is_owed=is_owed)


def _on_terminal(opening: Opening, *, as_json: bool) -> int:
    if not is_somebody_there():
        raise UsageError(
            "a session needs a terminal",
            hint="Run it on a terminal; `sow start --headless` runs an orchestrator as a job.",
        )
    code = run_opening(opening)
    name = opening.executor.name
    if as_json:
        session = opening.session.id if opening.session else None
        echo_json(SessionEnded(executor=name, session_id=session, cli_exit_code=code))
    elif code:
        click.echo(f"Warning: {name} ended with exit code {code}", err=True)
    return int(ExitCode.FAILED if code else ExitCode.OK)


def _show(opening: Opening, *, as_json: bool) -> None:
    launch, secrets = opening.launch, opening.executor.config.secret_names
    more = (*secrets, env_vars.SECRETS) if secrets else ()
    names = tuple(sorted({*opening.environ, *more}))
    if as_json:
        view = StartPreview(
            executor=opening.executor.name,
            argv=launch.argv,
            cwd=str(launch.cwd),
            env_names=names,
        )
        echo_json(view)
        return
    click.echo("Would start an orchestrator's session on this terminal")
    click.echo(f"Executor: {opening.executor.name}")
    click.echo(f"Command: {shlex.join(launch.argv)}")
    click.echo(f"Folder: {launch.cwd}")
    click.echo(f"Variables: {' '.join(names)}")
