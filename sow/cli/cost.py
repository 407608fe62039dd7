"""`sow cost`: what the project's agents have used, and what nobody can tell."""

import re
from collections.abc import Sequence

import click

from sow.cli.arguments import here
from sow.cli.output import echo_json, echo_table, json_option
from sow.clock import format_duration, utc_now
from sow.config.units import parse_duration
from sow.errors import UsageError
from sow.ids import ProjectId
from sow.jobs import spending
from sow.jobs.database import open_existing_queue
from sow.reports.costs import costs_of, notes_on
from sow.schema.output.costs import Costs, CostSum
from sow.schema.spending import NOTHING_USED, By, Used
from sow.state.kept.store import project_id_at

HEADER = ("RUNS", "TIME", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITTEN", "COST")
SPARE = ("TIME", "CACHE WRITTEN", "CACHE READ")
"""What a narrow terminal goes without."""


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
    begin = None if since is None else time_of(since, now)
    database = open_existing_queue(workspace)
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
        words = "There is no project here, whose use this would be: `sow job list` has all jobs."
        click.echo(words, err=True)
    elif not costs.groups:
        click.echo("No agent has used anything" + (" since then." if since else " yet."), err=True)
    else:
        _print(costs)


def _print(costs: Costs) -> None:
    header = (costs.by.upper(), *HEADER)
    rows = [(group.key or "-", *_cells(group)) for group in costs.groups]
    if len(rows) > 1:
        rows.append(("all", *_cells(costs.total)))
    echo_table(header, rows, (), SPARE)
    for note in notes_on(costs.total):
        click.echo(f"Note: {note}", err=True)


def _cells(total: CostSum) -> tuple[str, ...]:
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


def time_of(text: str, now: float) -> float:
    """Return the moment that --since names. Raises UsageError."""
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
            from datetime import datetime  # only where a day was given

            return datetime.fromisoformat(text).timestamp()
        return now - parse_duration(text)
    except (ValueError, OverflowError, OSError):
        words = "Give how long ago (12h, 7d) or a day (2026-01-31)."
        raise UsageError(f"not a time: {text!r}", hint=words) from None
