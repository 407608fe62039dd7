"""`sow status`: one screen that tells where the project stands, and what to do next."""

import sys

import click

from sow.cli.output import echo_json, json_option, shown_state, terminal_size
from sow.cli.situated import look_here, steps_here
from sow.cli.status_screen import Room, screen
from sow.clock import utc_now
from sow.situation.view import status_of


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show where the project stands, what runs, what waits for whom, and what to do next.

    On a terminal as much as fits on it; `sow task list`, `sow job list` and `sow next`
    have the rest. What cannot be read is named, and the rest is shown.
    """
    now, at = look_here(closely=True), utc_now()
    found = status_of(now, steps_here(now), at=at)
    if as_json:
        echo_json(found)
        return
    for line in screen(found, _room(), at=at, paint=shown_state):
        click.echo(line)


def _room() -> Room:
    """Return how much fits on the terminal; what is no terminal has room for all."""
    size = terminal_size(sys.stdout)
    return Room(columns=size.columns or None, lines=size.lines or None)
