"""`sow cost` and `sow stats`: what agents have used, and how their jobs went.

These figures outlive the records of jobs.
"""

import re
from collections.abc import Sequence

from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json, echo_table, json_option
from sow.cli.queue_until_end import queue_until_end
from sow.clock import format_duration, utc_now
from sow.config.units import parse_duration
from sow.errors import UsageError
from sow.ids import ProjectId
from sow.jobs import spending
from sow.jobs import stats as sums
from sow.jobs.stats import StatsBy
from sow.reports.costs import costs_of, notes_on
from sow.schema.output.costs import CostSum
from sow.schema.output.stats import Stats, StatsSum
from sow.schema.spending import NOTHING_USED, By, Used
from sow.state.kept.store import project_id_at
from sow.timeline.figures import stats_of
from sow.timeline.words import money, percent, tokens

COST_HEADER = ("RUNS", "TIME", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITTEN", "COST")
STATS_HEADER = (
    *("JOBS", "WELL", "FAILED", "SUCCESS", "ITER"),
    *("RETRIES", "WORK", "WAITED", "TOKENS", "COST"),
)
WAITING = ("queued", "backoff", "parked", "held")


@click.command()
@click.option(
    "--by",
    type=click.Choice([by.value for by in By]),
    default=By.TASK.value,
    show_default=True,
    help="What to sum up by.",
)
@click.option(
    "--since", metavar="TIME", help="Only attempts that ended since: 12h or 7d ago, or 2026-01-31."
)
@json_option
def cost(by: str, since: str | None, as_json: bool) -> None:
    """Show what the agents of this project have used: tokens, money, time.

    The money is what each agent's CLI reports. If it reports tokens and no
    price, the price table of your configuration (`prices:`) gives the price,
    and the sum is marked ~. Runs with unknown cost are listed below the table.
    These figures stay when the records of old jobs are pruned.
    """
    now = utc_now()
    workspace = here()
    begin = None if since is None else _time_of(since, now)
    database = queue_until_end(workspace)
    project = ProjectId(project_id_at(workspace.root))
    total: Used = NOTHING_USED
    groups: Sequence[Used] = ()
    if database is not None:
        total, groups = spending.used_in_project(
            database, project, By(by), now=now, since=begin or 0.0
        )
    costs = costs_of(total, groups, By(by), since=begin)
    if as_json:
        echo_json(costs)
    elif not costs.groups and not project:
        words = "There is no project here. `sow job list` shows all jobs."
        click.echo(words, err=True)
    elif not costs.groups:
        click.echo("No agent has used anything" + (" since then." if since else " yet."), err=True)
    else:
        rows = [(group.key or "-", *_cost_cells(group)) for group in costs.groups]
        spare = ("TIME", "CACHE WRITTEN", "CACHE READ")
        _echo_groups(costs.by, rows, _cost_cells(costs.total), COST_HEADER, spare)
        for note in notes_on(costs.total):
            click.echo(f"Note: {note}", err=True)


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

    It covers all projects of this checkout, also ended ones. These numbers are
    kept when the records of old jobs are pruned.
    """
    now = utc_now()
    workspace = here()
    begin = None if since is None else _time_of(since, now)
    database = queue_until_end(workspace)
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
        _print_stats(found)


def _echo_groups(
    by: str,
    rows: list[tuple[str, ...]],
    total: tuple[str, ...],
    header: Sequence[str],
    spare: Sequence[str],
) -> None:
    """Print a row for each group, and the total; `spare` is what a narrow terminal goes without."""
    if len(rows) > 1:
        rows.append(("all", *total))
    echo_table((by.upper(), *header), rows, (), spare)


def _cost_cells(total: CostSum) -> tuple[str, ...]:
    tokens = total.tokens
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    untold = total.runs_without_tokens == total.run_count
    return (
        str(total.run_count),
        format_duration(total.seconds),
        *("-" if untold else str(count) for count in counts),
        _money(total),
    )


def _money(total: CostSum) -> str:
    if total.cost_usd is None:
        return "unknown" if total.runs_without_cost else "-"
    mark = "~" if total.estimated_usd else ""
    return f"{mark}${total.cost_usd:.4f}" + (" and more" if total.runs_without_cost else "")


def _print_stats(found: Stats) -> None:
    total, spare = found.total, ("TOKENS", "WAITED", "FAILED", "ITER")
    rows = [(group.key or "-", *_stats_cells(group)) for group in found.groups]
    _echo_groups(found.by, rows, _stats_cells(total), STATS_HEADER, spare)
    if total.retries_by_cause:
        words = ", ".join(f"{count} × {cause}" for cause, count in total.retries_by_cause.items())
        click.echo(f"Tried again: {words}")
    states = ", ".join(
        f"{state} {format_duration(seconds)}" for state, seconds in total.seconds_in.items()
    )
    click.echo(f"Time in each state: {states or 'none'}")


def _stats_cells(group: StatsSum) -> tuple[str, ...]:
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


def _time_of(text: str, now: float) -> float:
    """Return the moment that --since names. Raises UsageError."""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
            from datetime import datetime  # only where a day was given

            return datetime.fromisoformat(text).timestamp()
        return now - parse_duration(text)
    except (ValueError, OverflowError, OSError):
        words = "Give how long ago (12h, 7d) or a day (2026-01-31)."
        raise UsageError(f"not a time: {text!r}", hint=words) from None
