"""`sow job prune`."""

from collections.abc import Callable
from contextlib import closing

from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.output import echo_result, json_option
from sow.config.units import parse_duration, parse_size, round_size
from sow.errors import SowError, UsageError
from sow.jobs.database import Database, open_existing_queue
from sow.jobs.pruning import Limits, Pruned, find_prunable
from sow.jobs.pruning import prune as prune_now


@click.command()
@click.option("--keep-for", metavar="TIME", help="Keep jobs that ended within this time (30d).")
@click.option("--keep-size", metavar="SIZE", help="Keep no more output than this (2GB).")
@click.option("--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@json_option
def prune(keep_for: str | None, keep_size: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove the records and output of old jobs, and old logs of workers.

    Jobs of tasks that are neither completed nor abandoned are kept, and so are
    results that a call has waited for and no command has shown. Defaults come
    from the settings worker.keep_for and worker.keep_size. Sessions and task
    states are never removed. In a shared queue, the refs of old jobs that this
    checkout has queued are removed from the remote, too.
    """
    caller = this_caller()
    limits = _limits(caller, keep_for, keep_size)
    database = open_existing_queue(caller.workspace)
    if database is None:
        gone = Pruned((), (), 0)
    else:
        with closing(database):
            if database.is_shared and not dry_run:
                _remove_refs(caller, database, limits)
            act = find_prunable if dry_run else prune_now
            gone = act(caller.workspace, database, limits, now=caller.now())
    view = {
        "jobs": list(gone.jobs),
        "files": [str(path) for path in gone.logs],
        "bytes": gone.size,
        "change_rows": gone.changes,
        "dry_run": dry_run,
    }
    echo_result(view, _summary(gone, dry_run=dry_run), as_json=as_json)


def _remove_refs(caller: Caller, database: Database, limits: Limits) -> None:
    """Remove the refs of old jobs before their records: those name them. It is no reason to stop.

    Nothing of it is in the result: a remote is not this machine's disk.
    """
    # Few queues are shared.
    from sow.travel.old_refs import remove_old_refs

    remote, oldest = caller.load_configuration().queue_remote, caller.now() - limits.seconds
    try:
        refs = remove_old_refs(caller.workspace, database, remote, oldest=oldest)
    except SowError as error:
        click.echo(f"Warning: the refs of old jobs stay: {error.message}", err=True)
    else:
        if refs:
            count = f"{len(refs)} refs" if len(refs) != 1 else refs[0]
            click.echo(f"Note: {count} of old jobs removed from the remote {remote}", err=True)


def _limits(caller: Caller, keep_for: str | None, keep_size: str | None) -> Limits:
    settings = caller.load_configuration().worker
    seconds = _parsed(parse_duration, keep_for) if keep_for else settings.keep_for_seconds
    size = int(_parsed(parse_size, keep_size)) if keep_size else settings.keep_bytes
    return Limits(seconds, size)


def _parsed(parse: Callable[[str], float], text: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(str(error), hint="For example: --keep-for 7d --keep-size 500MB") from None


def _summary(gone: Pruned, *, dry_run: bool) -> str:
    did = "would go" if dry_run else "pruned"
    if not gone.jobs and not gone.logs:
        lines = f"{gone.changes} lines of the record of changes {did}."
        return lines if gone.changes else "Nothing to prune."
    jobs = f"{len(gone.jobs)} jobs" if len(gone.jobs) != 1 else f"job {gone.jobs[0]}"
    files = f" and {len(gone.logs)} old logs" if gone.logs else ""
    return f"{jobs}{files} {did}, {round_size(gone.size)}"
