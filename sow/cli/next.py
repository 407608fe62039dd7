"""`sow next`: what to do next, as commands."""

import click

from sow.cli.output import echo_json_lines, json_option
from sow.cli.situated import look_here, steps_here
from sow.situation.step import in_a_line
from sow.terminal_text import printable


@click.command("next")
@json_option
def show_next(as_json: bool) -> None:
    """Print what to do next, one command a line, the most sensible first.

    Each is right at this moment: run the first, then ask again. What stands in
    <…> is yours to fill in; what follows # says why. A line that begins with #
    is for a person: ask one to run its command in a terminal.
    """
    steps = steps_here(look_here())
    if as_json:
        # A person's lines need no forms.
        from sow.situation.view import step_view

        echo_json_lines(map(step_view, steps))
        return
    for step in steps:
        click.echo(printable(in_a_line(step)))
