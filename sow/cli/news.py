"""`sow news`: what a session that leads has not been told yet. The plugin's hook runs it."""

import os
import sys
from typing import Any

from sow import env_vars
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.output import echo_json, json_option
from sow.errors import StateError, UsageError
from sow.paths import find_workspace
from sow.situation.session_cursors import is_name, read_cursor, signs_of, write_cursor

MOST_INPUT = 1 << 20
HEADING = "sow, in this repository:"
ENDING = "`sow next` prints what to do next, as commands; `sow status` shows all of it."
BEGINNING = "SessionStart"
"""The hook of a session that begins, goes on, or has forgotten what it knew."""


@click.command()
@click.option(
    "--session",
    default="terminal",
    help=("The name of the reading session: any name. Default: terminal."),
)
@click.option("--hook", is_flag=True, help="Read the session from a hook's JSON on standard input.")
@json_option
def news(session: str, hook: bool, as_json: bool) -> None:
    """Print what has ended, or waits for you, since the last call for this session.

    The first call prints all that waits. If nothing is new, it prints nothing.
    Inside an agent that sow has started it never prints anything.
    """
    begins = False
    if hook:
        session, begins = _from_hook()
    elif not is_name(session):
        raise UsageError(
            f"not a session's name: {session!r}",
            hint="A name has letters, digits, - and _, 64 at most: `sow news --session mine`.",
        )
    lines, cursor = ([], None) if _is_silent(session) else _look(session, begins=begins, hook=hook)
    if as_json:
        echo_json({"session_id": session, "lines": lines, "cursor": cursor})
    elif lines:
        click.echo("\n".join([HEADING, *(f"- {line}" for line in lines), ENDING]))


def _is_silent(session: str) -> bool:
    return bool(os.environ.get(env_vars.JOB_ID)) or not session


def _look(session: str, *, begins: bool, hook: bool) -> tuple[list[str], str | None]:
    """Return what is new, and up to where; remember it."""
    try:
        workspace = find_workspace(working_folder(), os.environ)
    except StateError:
        if hook:
            return [], None
        raise
    before, signs = read_cursor(workspace, session), signs_of(workspace)
    if before is not None and not begins and before[1] == signs:
        return [], before[0]
    # Only where something has happened: it reads the queue, and the project.
    from sow.calls.caller import find_caller
    from sow.situation.news import how_it_stands, since

    caller = find_caller(os.environ, working_folder())
    found = how_it_stands(caller) if begins or before is None else since(caller, before[0])
    if workspace.run.is_dir() or found.lines:
        write_cursor(workspace, session, found.cursor, signs)
    return list(found.lines), found.cursor


def _from_hook() -> tuple[str, bool]:
    """Return the session that a hook's input names, and whether it begins; no name for none."""
    # A person's call needs none of it.
    import json

    try:
        found: Any = json.loads(sys.stdin.buffer.read(MOST_INPUT))
        session, event = found["session_id"], found.get("hook_event_name")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "", False
    is_good = isinstance(session, str) and is_name(session)
    return (session if is_good else ""), event == BEGINNING
