"""`sow notify test`: the user's own commands, run with an event that never was."""

import os
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from sow.calls.caller import Caller
from sow.calls.notice import deliver
from sow.cli.output import echo_json, json_option
from sow.cli.this_caller import this_caller
from sow.config.notify import NotifyCommand
from sow.errors import ConfigurationError, ExitCode
from sow.paths import display_path
from sow.reports.notices import example_of
from sow.schema.notification import DeliveryState, NoticeResult, NotifyEvent


@click.command()
@click.argument("event", required=False, type=click.Choice([event.value for event in NotifyEvent]))
@json_option
def test(event: str | None, as_json: bool) -> int:
    """Run the command of EVENT, or each of your commands, with an invented event.

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
    example = example_of(caller.workspace, event, now=caller.now())
    name = f"notify-test.{os.getpid()}"
    result = deliver(caller.workspace, command, example, caller.environ, name=name)
    if as_json:
        echo_json(_record(event, result))
    else:
        _echo(event, result)
    return result


def _record(event: NotifyEvent, result: NoticeResult) -> dict[str, Any]:
    facts = msgspec.to_builtins(result)
    return {"event": event.value, "last_lines": facts.pop("output"), **facts}


def _echo(event: NotifyEvent, result: NoticeResult) -> None:
    why = f": {result.reason}" if result.reason else ""
    click.echo(f"{event}: {result.state} after {result.seconds:.1f} s{why}")
    for line in result.output.splitlines():
        click.echo(f"  {line}")
