"""`sow stats`: how the jobs of agents went, in figures that outlive their records."""

import click

from sow.cli.arguments import here
from sow.cli.cost import time_of
from sow.cli.output import echo_json, echo_table, json_option
from sow.clock import format_duration, utc_now
from sow.jobs import stats as sums
from sow.jobs.database import open_existing_queue
from sow.jobs.stats import StatsBy
from sow.schema.output.stats import Stats, StatsSum
from sow.timeline.figures import stats_of
from sow.timeline.words import money, percent, tokens

HEADER = (
    "JOBS",
    "WELL",
    "FAILED",
    "SUCCESS",
    "ITER",
    "RETRIES",
    "WORK",
    "WAITED",
    "TOKENS",
    "COST",
)
SPARE = ("TOKENS", "WAITED", "FAILED", "ITER")
"""What a narrow terminal goes without."""
WAITING = ("queued", "backoff", "parked", "held")


@click.command()
@click.option(
    "--since", metavar="TIME", help="Only jobs that ended since: 12h or 7d ago, or 2026-01-31."
)
@click.option(
    "--by",
    type=click.Choice([by.value for by in StatsBy]),
    default=StatsBy.ROLE.value,
    show_default=True,
    help="What to group by.",
)
@json_option
def stats(since: str | None, by: str, as_json: bool) -> None:
    """Show how the jobs of agents went: success, iterations, retries, time, tokens, cost.

    Of all projects of this checkout, those that have ended too. All of this is kept
    when the records of old jobs are pruned.
    """
    now = utc_now()
    workspace = here()
    begin = None if since is None else time_of(since, now)
    database = open_existing_queue(workspace)
    found = stats_of(
        StatsBy(by),
        sums.success_rates(database, StatsBy(by), now=now, since=begin or 0.0) if database else (),
        sums.success_rates(database, None, now=now, since=begin or 0.0) if database else (),
        since=begin,
    )
    if as_json:
        echo_json(found)
    elif not found.groups:
        click.echo("No agent has had a job" + (" since then." if since else " yet."), err=True)
    else:
        _print(found)


def _print(found: Stats) -> None:
    rows = [(group.key or "-", *_cells(group)) for group in found.groups]
    if len(rows) > 1:
        rows.append(("all", *_cells(found.total)))
    echo_table((found.by.upper(), *HEADER), rows, (), SPARE)
    total = found.total
    if total.retries_by_cause:
        words = ", ".join(f"{count} × {cause}" for cause, count in total.retries_by_cause.items())
        click.echo(f"Tried again: {words}")
    states = ", ".join(
        f"{state} {format_duration(seconds)}" for state, seconds in total.seconds_in.items()
    )
    click.echo(f"Time in each state: {states or 'none'}")


def _cells(group: StatsSum) -> tuple[str, ...]:
    judged = group.well + group.failed
    waited = sum(group.seconds_in.get(state, 0.0) for state in WAITING)
    return (
        str(group.job_count),
        str(group.well),
        str(group.failed),
        percent(group.well, judged) if judged else "-",
        "-" if group.iterations is None else f"{group.iterations:.1f}",
        str(sum(group.retries_by_cause.values())),
        format_duration(group.used.seconds),
        format_duration(waited),
        tokens(group.used),
        money(group.used),
    )
