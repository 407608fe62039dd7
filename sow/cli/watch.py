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
from sow.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sow.calls.caller import Caller

SCREENLESS = ("", "dumb", "unknown")
"""The values of TERM that say that nothing can be drawn."""


@click.command()
@click.option("--plain", is_flag=True, help="A line for each change that matters, until Ctrl-C.")
@click.option(
    "--since", metavar="CURSOR", help="Print only changes after this cursor; 0 is the beginning."
)
@click.option(
    "--wait",
    metavar="TIME",
    help="Lines for at most this long (90s, 9m); then exit 75 while a job lives. Also SOW_WAIT.",
)
@json_option
def watch(plain: bool, since: str | None, wait: str | None, as_json: bool) -> int:
    """Show live what all agents do, on one screen that you leave open.

    Tasks and jobs stand below their batch or phase: what each agent does now,
    since when, why it waits and until when, what it has used. Keys follow an
    agent, answer, resume, accept, cancel, retry, open its session and pause the
    queue; each shows the command that it runs, and `?` shows all of them.

    With --plain or --wait, and where there is no terminal, or a dumb one: how each job at work
    stands, then a line with its time for each change that matters, until a
    signal ends it or the time is up; then the last line is the command that
    goes on, with --since. With --json what the screen would show, once.
    """
    from sow.calls.caller import find_caller

    lines = [name for name, given in (("plain", plain), ("since", since), ("wait", wait)) if given]
    if lines and as_json:
        raise UsageError(f"--{lines[0]} is for people, --json for programs: give one of them")
    caller = find_caller(os.environ, working_folder())
    if as_json:
        _print_look(caller)
    elif lines or not _has_screen():
        from sow.cli.plain_watch import watch_in_lines

        return watch_in_lines(caller, since, wait)
    else:
        return _show(caller)
    return int(ExitCode.OK)


def _has_screen() -> bool:
    """Whether somebody sits at a terminal that can show a screen, which is drawn on stderr."""
    can_draw = os.environ.get("TERM", "") not in SCREENLESS
    return can_draw and is_somebody_there() and sys.stdout.isatty() and sys.stderr.isatty()


def _show(caller: "Caller") -> int:
    """Show the screen until it is left; return the exit code. Raises what has ended it."""
    from sow.cli.output import COLOURS
    from sow.watching.app import WatchApp
    from sow.watching.palette import styles_of

    app = WatchApp(caller, styles_of(COLOURS))
    app.run()
    match app.failure:
        case None:
            pass
        case OSError(filename=None) as error:  # not of standard output, which is not written to
            raise RuntimeError(f"the view: {error}") from error
        case error:
            raise error
    return app.return_code or int(ExitCode.OK)


def _print_look(caller: "Caller") -> None:
    from sow.watching.looking import Looks
    from sow.watching.view import watched

    with closing(Looks(caller.workspace, caller.clock)) as looks:
        looks.look()
        live = [row.job for row in looks.last.rows if row.job is not None and row.is_live]
        echo_json(watched(looks.last, looks.doing(live) or {}, caller.now()))
