"""`sow changes`: the record of changes, as far as it goes and as it grows."""

import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import msgspec

from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.job_record import job_id_of
from sow.cli.output import MOST, echo_json, json_option, shown_state
from sow.cli.streams import wait_for_more
from sow.cli.this_call import usage_error
from sow.clock import clock_time, format_time, local_time, parse_time, utc_now
from sow.ids import ProjectId, parse_task_id
from sow.jobs.change_feed import ChangeFeed
from sow.jobs.changes import Cursor, Filter, parse_since
from sow.paths import Workspace
from sow.schema.change import Change, ChangeKind
from sow.state.kept.store import project_id_at

FOLLOW_SECONDS = 0.5
"""How often whoever follows asks for new rows: a query by number, a tenth of a millisecond."""
ROW = "{:<19}  {:<5}  {:<5}  {}"
NOTICES = (ChangeKind.PRUNED, ChangeKind.OTHER_QUEUE)

WITH_REASON: dict[str, str] = {
    ChangeKind.HELD: "held",
    ChangeKind.WARNING: ChangeKind.WARNING.value,
    ChangeKind.STALLED: "no sign of life",
    ChangeKind.SHORT: "sow starts no jobs now",
    ChangeKind.ROOMY: "sow starts jobs again; it was",
}


@click.command()
@click.option(
    "--since",
    metavar="CURSOR",
    help="Only changes after this cursor; 0 is the beginning.",
)
@click.option("-f", "--follow", is_flag=True, help="Follow until Ctrl-C.")
@click.option("--task", help="Only changes of this task.", shell_complete=completing.tasks)
@click.option("--job", help="Only changes of this job.", shell_complete=completing.jobs)
@click.option("-n", "--limit", type=click.IntRange(0, MOST), help="Only this many, the newest.")
@json_option
def changes(
    since: str | None,
    follow: bool,
    task: str | None,
    job: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what has changed: jobs, their attempts, and the statuses of tasks.

    The oldest comes first. With --json each line has a cursor. Give it to --since
    to continue from there: each change is printed exactly once. If changes were
    pruned meanwhile, or the queue file was replaced, a line says so. Changes are
    kept as long as old jobs are (worker.keep_for).
    """
    if since and limit is not None:
        raise usage_error("--limit counts from the end, --since from a cursor: give one")
    workspace = here()
    feed = ChangeFeed(
        workspace,
        parse_since(since) if since else None,
        _wanted(workspace, task, job),
        last=limit,
    )
    with closing(feed):
        count = _print(feed, as_json=as_json, heading=True)
        if not count and not follow and not as_json:
            click.echo(_none(since=since, task=task, job=job, limit=limit), err=True)
        while follow:
            wait_for_more(FOLLOW_SECONDS)
            count += _print(feed, as_json=as_json, heading=not count)


def _wanted(workspace: Workspace, task: str | None, job: str | None) -> Filter:
    """Return what the options ask for; a task is one of the project that is checked out."""
    project = ProjectId(project_id_at(workspace.root)) if task else None
    return Filter(
        project=project or None,
        task=parse_task_id(task) if task else None,
        job=job_id_of(job) if job else None,
    )


def _print(feed: ChangeFeed, *, as_json: bool, heading: bool) -> int:
    """Print what is new, and return how many lines that were."""
    lagging, damaged, count = feed.lagging, feed.damaged, 0
    for change in feed.read(now=utc_now()):
        if as_json:
            echo_json(change_record(change, feed.cursor))
        else:
            if heading and not count:
                click.echo(ROW.format("TIME", "TASK", "JOB", "WHAT"))
            print_row(change)
        count += 1
    if feed.lagging and feed.lagging != lagging:
        click.echo(f"Note: statuses may be missing for now: {feed.lagging}", err=True)
    if feed.damaged != damaged:
        click.echo(f"Note: a change cannot be shown: {feed.damaged}", err=True)
    if count:
        sys.stdout.flush()
    return count


def print_row(change: Change) -> None:
    """Print a change as a line for people; a notice goes to stderr."""
    if change.kind in NOTICES:
        click.echo(f"Note: {change.data.reason}", err=True)
        return
    job = str(change.job) if change.job is not None else "-"
    click.echo(
        ROW.format(local_time(change.at), change.task or "-", job, words_of(change, shown_state))
    )


def _none(*, since: str | None, task: str | None, job: str | None, limit: int | None) -> str:
    """Return what to say where nothing is shown: a filter is no sign that nothing has changed."""
    of = "".join(f" of {name} {value}" for name, value in (("task", task), ("job", job)) if value)
    if since:
        return f"No changes{of} since then."
    if limit == 0:
        return "No changes are shown, because --limit is 0."
    if of:
        return f"No changes{of} are on record. `sow changes` shows all."
    return "No changes. They are recorded from the first job on: sow agent spawn implementer 010"


def change_record(change: Change, cursor: Cursor | None) -> dict[str, Any]:
    """Return a change as one object; its stable keys are `sow schema changes`."""
    return {
        "cursor": str(cursor),
        "seq": change.seq,
        "at": format_time(change.at),
        "project": change.project or None,
        "task": change.task or None,
        "job": change.job,
        "batch": change.batch,
        "kind": change.kind,
        "data": msgspec.to_builtins(change.data),
    }


def words_of(change: Change, paint: Callable[[str], str] = str) -> str:
    """Return a change in words for people, on one line, with local times and painted states."""
    data, kind = change.data, change.kind
    reason = (data.reason or "").strip().partition("\n")[0]
    match kind:
        case ChangeKind.PLACED:
            who = f" {data.agent} on {data.executor}" if data.agent else ""
            return f"placed: {data.verb}{who}"
        case ChangeKind.CANCEL_ASKED:
            return "cancel asked"
        case ChangeKind.ADOPTED:
            return f"adopted by worker {data.worker}"
        case ChangeKind.ATTEMPT_BEGAN:
            return f"attempt {data.attempt} began ({data.verb})"
        case ChangeKind.ATTEMPT_ENDED:
            return _joined(f"attempt {data.attempt} ended: {data.cause}", reason)
        case ChangeKind.STATUS:
            before = f"{data.before} → " if data.before not in (None, data.status) else ""
            iteration = f" (iteration {data.iteration})" if (data.iteration or 1) > 1 else ""
            return f"status {before}{paint(data.status or '')}{iteration}"
        case ChangeKind.BACKOFF | ChangeKind.PARKED:
            return _joined(f"{kind} until {_until(change)}", reason or data.cause or "")
        case ChangeKind.QUEUED if data.before not in (None, "preparing"):
            return _joined("queued again", reason or data.cause or "")
        case _ if kind in WITH_REASON:
            return _joined(WITH_REASON[kind], reason)
        case ChangeKind.FAILED | ChangeKind.CANCELLED:
            return _joined(f"job {paint(kind)}", reason)
        case ChangeKind.DONE:
            return "job done"
        case _:
            return paint(kind) if change.kind not in OF_BATCHES else _of_batch(change, paint)


OF_BATCHES = (ChangeKind.BATCH, ChangeKind.ITEM, ChangeKind.VERDICT)


def _of_batch(change: Change, paint: Callable[[str], str]) -> str:
    """Return what has become of a batch, or of a task in it."""
    state = paint(change.data.status or "")
    if change.kind == ChangeKind.VERDICT:
        return f"reviewed; the status is {state}"
    reason = (change.data.reason or "").strip().partition("\n")[0]
    about = "batch" if change.kind == ChangeKind.BATCH else "item of batch"
    return _joined(f"{about} {change.batch}: {state}", reason)


def _until(change: Change) -> str:
    """Return when a job that waits goes on; its date only where it is not that of the change."""
    text = change.data.retry_at or ""
    with suppress(ValueError, OverflowError, OSError):  # beyond all calendars: as it stands
        return clock_time(parse_time(text), change.at)
    return text


def _joined(words: str, reason: str) -> str:
    return f"{words}: {reason}" if reason else words
