"""`sow watch`: all that is at work and waits, live on one screen.

The command imports what it needs by itself: Textual is heavy, and help and completion need none
of it.
"""

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from sow.cli.arguments import working_folder
from sow.cli.confirming import is_somebody_there
from sow.cli.output import echo_json, json_option
from sow.errors import UsageError

if TYPE_CHECKING:
    from sow.calls.caller import Caller


@click.command()
@json_option
def watch(as_json: bool) -> None:
    """Show live what all agents do, on one screen that you leave open.

    Tasks and jobs stand below their batch or phase: what each agent does now,
    since when, why it waits and until when, what it has used. Keys follow an
    agent, answer, resume, accept, cancel, retry, open its session and pause the
    queue; each shows the command that it runs, and `?` shows all of them.

    With --json what the screen would show, once.
    """
    from sow.calls.caller import find_caller

    if not (as_json or (is_somebody_there() and sys.stdout.isatty())):
        raise UsageError(
            "the live view needs a terminal",
            hint="`sow status` and `sow changes --follow` tell the same in lines.",
        )
    caller = find_caller(os.environ, working_folder())
    if as_json:
        _print_look(caller)
    else:
        _show(caller)


def _show(caller: "Caller") -> None:
    from sow.cli.colour import COLOURS
    from sow.watching.app import WatchApp
    from sow.watching.palette import styles_of

    WatchApp(caller, styles_of(COLOURS)).run()


def _print_look(caller: "Caller") -> None:
    from sow.watching.looking import Looks
    from sow.watching.view import watched

    with closing(Looks(caller.workspace, caller.clock)) as looks:
        looks.look()
        live = [row.job for row in looks.last.rows if row.job is not None and row.is_live]
        echo_json(watched(looks.last, looks.doing(live) or {}, caller.now()))
