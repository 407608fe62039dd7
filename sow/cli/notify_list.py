"""`sow notify list`."""

from typing import Any

import click

from sow.cli.arguments import here
from sow.cli.output import COUNT, echo_json_lines, echo_table, json_option
from sow.clock import Times, format_time, utc_now
from sow.jobs import notifications
from sow.jobs.database import open_existing_queue
from sow.schema.notification import Delivery

HEADER = ("CHANGE", "EVENT", "TASK", "JOB", "STATE", "WHEN", "WHY")


@click.command("list")
@click.option("-n", "--limit", default=20, show_default=True, type=COUNT, help="At most this many.")
@json_option
def list_notifications(limit: int, as_json: bool) -> None:
    """List the notifications of your commands, the newest first.

    Each event is sent at most once. If the worker died while the command ran,
    the result is unknown, and the state is `uncertain`.
    """
    database = open_existing_queue(here())
    found = notifications.recent(database, limit) if database is not None else []
    if as_json:
        echo_json_lines(_record(each) for each in found)
    elif found:
        times = Times(utc_now())
        echo_table(HEADER, [_row(each, times) for each in found])
    else:
        click.echo("Nothing was told. `sow notify test` tries your commands.", err=True)


def _record(delivery: Delivery) -> dict[str, Any]:
    ended_at = delivery.ended_at
    return {
        "seq": delivery.seq,
        "event": delivery.event.value,
        "project": delivery.project or None,
        "task": delivery.task or None,
        "job": delivery.job,
        "worker": delivery.worker_id,
        "state": delivery.state.value,
        "reason": delivery.reason,
        "began_at": format_time(delivery.began_at),
        "ended_at": format_time(ended_at) if ended_at is not None else None,
    }


def _row(delivery: Delivery, times: Times) -> tuple[str, ...]:
    return (
        str(delivery.seq),
        delivery.event.value,
        delivery.task or "-",
        str(delivery.job or "-"),
        delivery.state.value,
        times.of_record(format_time(delivery.began_at)),
        delivery.reason,
    )
