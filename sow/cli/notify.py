"""`sow notify list` and `test`: what was sent, and a try with an event that never was."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.arguments import here, this_caller
from sow.cli.output import COUNT, echo_json, echo_list, json_option
from sow.cli.queue_until_end import queue_until_end
from sow.clock import Times, format_time, utc_now
from sow.config.notify import NotifyCommand
from sow.errors import ConfigurationError, ExitCode
from sow.jobs import notifications
from sow.paths import display_path
from sow.schema.notification import Delivery, DeliveryState, NoticeResult, NotifyEvent

HEADER = ("CHANGE", "EVENT", "TASK", "JOB", "STATE", "WHEN", "WHY")


@click.command("list")
@click.option("-n", "--limit", default=20, show_default=True, type=COUNT, help="At most this many.")
@json_option
def list_notifications(limit: int, as_json: bool) -> None:
    """List the notifications of your commands, the newest first.

    Each event is sent at most once. If the worker died while the command ran,
    the result is unknown, and the state is `uncertain`.
    """
    database = queue_until_end(here())
    found = notifications.recent(database, limit) if database is not None else []
    none = "No notifications yet. `sow notify test` runs your commands."
    echo_list([_record(each) for each in found], HEADER, _row, none=none, as_json=as_json)


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


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    began = Times(utc_now()).of_record(record["began_at"])
    task, job = record["task"] or "-", str(record["job"] or "-")
    event, reason = record["event"], record["reason"]
    return (str(record["seq"]), event, task, job, record["state"], began, reason)


@click.command()
@click.argument("event", required=False, type=click.Choice([event.value for event in NotifyEvent]))
@json_option
def test(event: str | None, as_json: bool) -> int:
    """Run the command of EVENT, or each of your commands, with a test event.

    The JSON on their standard input has `test: true`. Nothing is recorded.
    Exit code 1: a command has failed.
    """
    caller = this_caller()
    commands = _meant(caller, event)
    results = [_try(caller, name, command, as_json) for name, command in commands.items()]
    is_good = all(result.state is DeliveryState.DELIVERED for result in results)
    return ExitCode.OK if is_good else ExitCode.FAILED


def _meant(caller: Caller, event: str | None) -> Mapping[NotifyEvent, NotifyCommand]:
    configuration = caller.load_configuration()
    meant = {
        name: command
        for name, command in configuration.notify.items()
        if event is None or name == event
    }
    if not meant:
        path = display_path(configuration.path)
        what = f"notify.{event} is not set" if event else "no command is set under notify"
        raise ConfigurationError(
            f"{what} in {path}",
            hint="Set one with `sow config edit`: under `notify`, an event and a command line."
            " docs/notify.md has recipes.",
        )
    return meant


def _try(caller: Caller, event: NotifyEvent, command: NotifyCommand, as_json: bool) -> NoticeResult:
    # The list needs none of it.
    from sow.calls.notice import deliver
    from sow.reports.notices import example_of

    example = example_of(caller.workspace, event, now=caller.now())
    name = f"notify-test.{os.getpid()}"
    result = deliver(caller.workspace, command, example, caller.environ, name=name)
    if as_json:
        echo_json(_tried(event, result))
    else:
        _echo(event, result)
    return result


def _tried(event: NotifyEvent, result: NoticeResult) -> dict[str, Any]:
    facts = msgspec.to_builtins(result)
    return {"event": event.value, "last_lines": facts.pop("output"), **facts}


def _echo(event: NotifyEvent, result: NoticeResult) -> None:
    why = f": {result.reason}" if result.reason else ""
    click.echo(f"{event}: {result.state} after {result.seconds:.1f} s{why}")
    for line in result.output.splitlines():
        click.echo(f"  {line}")
