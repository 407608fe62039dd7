"""`sow job logs` and `sow task output`: what jobs' agents said and did."""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import wraps
from typing import Any, TypeVar, cast

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here, task_argument
from sow.cli.attempt_logs import AttemptLogs, LogOptions
from sow.cli.job_record import find_job, open_job, outcome_is_shown
from sow.cli.log import moment_of
from sow.cli.output import COUNT, json_option
from sow.cli.streams import wait_for_more
from sow.cli.this_call import usage_error
from sow.clock import utc_now
from sow.errors import UsageError
from sow.ids import TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.paths import Workspace
from sow.reports.outcome import line_of
from sow.reports.views import outcome_of
from sow.schema.job import Job

LOOK_SECONDS = 0.2
F = TypeVar("F", bound=Callable[..., Any])


def _log_options(function: F) -> F:
    """Give a command the options of `sow job logs`, passed to it as `options`."""

    @wraps(function)
    def with_options(
        *,
        follow: bool,
        raw: bool,
        errors: bool,
        as_json: bool,
        attempt: int | None,
        since: str | None,
        **others: Any,
    ) -> Any:
        if as_json and (raw or errors):
            raise usage_error("--json prints events; --raw and --stderr print bytes")
        if since and (raw or errors):
            raise usage_error("--since selects events; --raw and --stderr print bytes")
        moment = moment_of(since, utc_now()) if since else None
        options = LogOptions(follow, raw, errors, as_json, attempt, moment)
        return function(options=options, **others)

    decorators = (
        click.option("-f", "--follow", is_flag=True, help="Follow until every job has ended."),
        click.option(
            "--since",
            metavar="D",
            help="Only events since then, if the output has times: 30m, 2h, or a time.",
        ),
        click.option("--raw", is_flag=True, help="The CLI's own output, byte for byte."),
        click.option("--stderr", "errors", is_flag=True, help="What it wrote to standard error."),
        json_option,
        click.option("--attempt", type=COUNT, help="Only this attempt."),
    )
    command: Any = with_options
    for decorator in reversed(decorators):
        command = decorator(command)
    return cast("F", command)


@click.command()
@click.argument(
    "job_ids", metavar="JOB...", nargs=-1, required=True, shell_complete=completing.jobs
)
@_log_options
def logs(job_ids: tuple[str, ...], options: LogOptions) -> None:
    """Print what the agent of each JOB said and did, attempt by attempt.

    Each event has a mark: `>` a tool call, `<` its result (only the first line if
    it succeeded), `!` something stops the agent, `=` its last message, `-` a
    message of its CLI. Text of the agent itself has no mark. A time comes first
    if the CLI reports times, and while you follow. With several jobs each line
    starts with the job's number and its task.

    The output of `clones.setup` comes first. At the end, standard error says how
    each job ended, if it has, with its warnings.
    """
    if len(job_ids) > 1 and (options.raw or options.errors):
        raise usage_error("--raw and --stderr do not show which job printed what: give one JOB")
    workspace = here()
    first, *others = dict.fromkeys(job_ids)
    database, job = open_job(workspace, first)
    found = [job, *(find_job(database, job_id) for job_id in others)]
    _print_logs(workspace, database, found, options)


@click.command()
@task_argument
@_log_options
def output(task_id: TaskId, options: LogOptions) -> None:
    """Print what the agent of TASK said and did in its last job, attempt by attempt.

    The last lines, on standard error, say how the job ended, with its warnings.
    `sow job logs` does the same for a job by its number.
    """
    # Of tasks alone: it asks for agents that no record names.
    from sow.calls.last_job import open_last_job

    workspace = here()
    database, job = open_last_job(workspace, task_id)
    with closing(database):
        _print_logs(workspace, database, [job], options)


def _print_logs(
    workspace: Workspace, database: Database, found: Sequence[Job], options: LogOptions
) -> None:
    """Print what jobs' agents said and did, and how each job ended, if it has.

    Raises UsageError for an attempt that a job has not had.
    """
    for job in found:
        _refuse_no_attempt(database, job, options)
    prefixes = _prefixes(found) if len(found) > 1 else [""]
    logs = [AttemptLogs(job, options, prefix) for job, prefix in zip(found, prefixes, strict=True)]
    _print_all(workspace, database, logs, live=False)
    while options.follow and logs:
        wait_for_more(LOOK_SECONDS)
        active = jobs.active_among(database, [each.job.id for each in logs])
        _print_all(workspace, database, logs, live=True)
        _print_ends(workspace, database, [each for each in logs if each.job.id not in active])
        logs = [each for each in logs if each.job.id in active]
    _print_ends(workspace, database, logs)


def _prefixes(found: Sequence[Job]) -> list[str]:
    """Return what stands before the lines of each job: its number and its task, aligned."""
    width = max(len(str(job.id)) for job in found)
    names = [f"{job.id:<{width}} {job.task_id or 'project'}" for job in found]
    width = max(map(len, names))
    return [f"{name:<{width}}  " for name in names]


def _refuse_no_attempt(database: Database, job: Job, options: LogOptions) -> None:
    """Say that there is no such attempt, unless it is followed and may still begin."""
    count = len(jobs.attempts(database, job.id))
    if not options.attempt or options.attempt <= count:
        return
    if options.follow and not job.state.is_final:
        return
    raise UsageError(
        f"job {job.id} has no attempt {options.attempt}: it has had {count}",
        hint=f"`sow job show {job.id}` lists its attempts.",
    )


def _print_all(
    workspace: Workspace, database: Database, logs: Sequence[AttemptLogs], *, live: bool
) -> None:
    for each in logs:
        wanted = each.options.attempt
        for attempt in jobs.attempts(database, each.job.id):
            if wanted not in (None, attempt.number):
                continue
            if database.is_shared and database.is_elsewhere(attempt.worker_id):
                # Few queues are shared.
                from sow.jobs.hosts import name_of

                host = name_of(database, attempt.worker_id) or "another host"
                each.name_host(attempt.number, host)
            else:
                paths = workspace.attempt(each.job.id, attempt.number)
                each.print_new(attempt.number, paths, heading=not wanted or live, live=live)


def _print_ends(workspace: Workspace, database: Database, logs: Sequence[AttemptLogs]) -> None:
    """Print how jobs ended, of those that have, on stderr; stdout is the agents' own."""
    for each in logs:
        job = jobs.get_job(database, each.job.id)
        if not job.state.is_final:
            continue
        each.print_rest()
        outcome = outcome_of(job, jobs.attempts(database, job.id))
        click.echo(line_of(outcome, now=utc_now()), err=True)
        for warning in outcome.warnings:
            click.echo(f"Warning: {warning}", err=True)
        outcome_is_shown(workspace, database, job)
