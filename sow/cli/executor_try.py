"""`sow executor try`: one executor runs for real, in a repository of its own.

Owns the question beforehand, that repository, and how the result is printed. What is tried, and
when it has held, is `executor_trial`'s.
"""

import os
from pathlib import Path

import msgspec

from sow.agent_clis.known import AGENT_CLIS
from sow.cli import completing_names
from sow.cli import late_click as click
from sow.cli.config import configuration_here
from sow.cli.confirming import confirm
from sow.cli.executor_trial import OUT_OF_TIME, ROLE, Result, new_trial
from sow.cli.output import echo_json, json_option
from sow.cli.own_repository import (
    OwnRepository,
    end_what_was_left,
    environment_for,
    own_folder,
)
from sow.cli.trial_time import ASK_LONGER, TrialTime, time_options, trial_time
from sow.doctor.executors import VERSION, ask
from sow.errors import ExitCode
from sow.executors.base import Executor
from sow.executors.registry import make_executor
from sow.git.run import git
from sow.paths import display_path
from sow.schema.output.costs import CostSum
from sow.schema.output.executors import ExecutorTried, PromiseView

RUNS = 3
FIRST_COMMIT = ("-c", "user.name=sow", "-c", "user.email=sow@localhost", "commit", "--quiet")


@click.command("try")
@click.argument("name", metavar="EXECUTOR", shell_complete=completing_names.executors)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Use this new or empty folder, and keep it.",
)
@time_options("10m")
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
@json_option
def try_executor(
    name: str, keep: Path | None, timeout: str, wait: str | None, yes: bool, as_json: bool
) -> int:
    """Run EXECUTOR with your login, and print which promises hold.

    It does two tiny tasks in a repository of its own, which is removed afterwards. The
    CLI runs three times and uses your tokens. The promises are: it reports by sow; it
    pauses; it continues in the same session; a command that its role may not run is
    refused; a cancelled run leaves no process. Your configuration is used, with its
    notifications.

    A signal ends it with its agent and its worker, as --wait does.

    Exit: 0 no promise was broken; 1 one was; 2 there is no terminal to ask on, and no
    --yes; 5 the executor is unknown, or its program is not installed; 75 the time of
    --wait was up; 130 interrupted.
    """
    time = trial_time(timeout, wait)
    end_what_was_left()
    executor = make_executor(configuration_here(os.environ).executor(name))
    path = executor.validate_availability(os.environ.get("PATH"))
    question = f"{name} ({path}) runs {RUNS} times with your login and uses its tokens. Go on?"
    if not yes and not confirm(question, option="--yes"):
        click.echo("Nothing was run.", err=True)
        return int(ExitCode.FAILED)
    with own_folder(keep, "try") as own:
        repository = own.new_repository(own.path, environment_for(name, [ROLE]))
        _begin(repository)
        own.note_project(repository)
        tried = _tried(repository, executor, path, time, as_json=as_json)
    if keep is not None:
        tried = msgspec.structs.replace(tried, folder=str(own.path))
        click.echo(f"Everything is left in {display_path(own.path)}", err=True)
    if as_json:
        echo_json(tried)
    if not tried.ok:
        return int(ExitCode.FAILED)
    return int(ExitCode.STILL_RUNNING if tried.timed_out else ExitCode.OK)


def _tried(
    repository: OwnRepository,
    executor: Executor,
    path: str,
    time: TrialTime,
    *,
    as_json: bool,
) -> ExecutorTried:
    """Try each promise; people see each when it is known."""
    trial = new_trial(repository, time, can_resume=executor.supports_resumption)
    promises = []
    for promise in trial.promises():
        promises.append(promise)
        if not as_json:
            _show(promise)
    used = msgspec.convert(repository.need("cost").record["total"], CostSum)
    timed_out = any((promise.result, promise.reason) == OUT_OF_TIME for promise in promises)
    if not as_json:
        click.echo(_sum(promises, used))
    if timed_out:
        click.echo(ASK_LONGER, err=True)
    return ExecutorTried(
        executor=executor.name,
        type=executor.config.type,
        path=path,
        version=_version(executor, path, repository.folder),
        ok=all(promise.result != Result.BROKEN for promise in promises),
        timed_out=timed_out,
        promises=tuple(promises),
        used=used,
        folder=None,
    )


def _begin(repository: OwnRepository) -> None:
    git(repository.folder, "init", "--quiet")
    git(repository.folder, *FIRST_COMMIT, "--allow-empty", "--message", "Begin")
    repository.need("init")
    repository.need("project", "new", "trial", "--type", "quick")


def _version(executor: Executor, path: str, folder: Path) -> str | None:
    if AGENT_CLIS[executor.config.type].questions is None:
        return None  # a program of the user's own might do anything
    found = VERSION.search(ask((path, "--version"), os.environ, folder).text)
    return found[0] if found else None


def _show(promise: PromiseView) -> None:
    seconds = f" ({promise.seconds:.0f} s)" if promise.seconds else ""
    click.echo(f"{promise.promise:<6}  {promise.result:<9}  {promise.reason}{seconds}")


def _sum(promises: list[PromiseView], used: CostSum) -> str:
    held = sum(promise.result == Result.HELD for promise in promises)
    tokens = used.tokens
    count = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write
    cost = f", ${used.cost_usd:.4f}" if used.cost_usd is not None else ""
    return f"{held} of {len(promises)} promises held; {count:,} tokens{cost}."
