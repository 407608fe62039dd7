"""`sow trust`: a person's word that the repository's command lines may run."""

import os
from contextlib import closing

from sow.calls.caller import Caller
from sow.calls.held_jobs import release_accepted
from sow.cli import late_click as click
from sow.cli.arguments import this_caller
from sow.cli.confirming import confirm
from sow.cli.output import echo_json, echo_table, json_option
from sow.cli.releasing import ensure_worker
from sow.config.checks import checks_of, read_repository
from sow.ids import JobId
from sow.jobs import workers
from sow.jobs.database import open_existing_queue
from sow.schema.output.settings import Trusted, TrustedLine
from sow.terminal_text import printable
from sow.trust.accepted import CommandLine, accept, command_lines, is_accepted, text_of

QUESTION = "Let sow run these command lines?"
WITHOUT_TERMINAL = (
    "A person decides that: in a terminal, with `sow trust`. Add --yes only if a person has"
    " told you to accept these lines."
)


@click.command()
@click.option("--yes", is_flag=True, help="Accept them without a question.")
@json_option
def trust(yes: bool, as_json: bool) -> int:
    """Show the command lines in .sow/config.yaml that sow would run, and accept them.

    They run as you: with your files, your keys, your network. sow runs a command
    line only after you have accepted its exact text here; jobs that need it are
    held until then. sow does not check what an accepted command itself runs, such
    as a Makefile.

    Exit: 0 accepted or nothing to accept, 1 declined.
    """
    caller = this_caller()
    source = read_repository(caller.workspace.repository_config)
    checks_of(source)  # what cannot be used is told before it is accepted
    lines = command_lines(source.content)
    text = text_of(lines)
    was_accepted = is_accepted(caller.workspace, text, caller.environ)
    if not as_json:
        _show(caller, lines)
    if not was_accepted:
        if not yes and not confirm(QUESTION, option="--yes", without=WITHOUT_TERMINAL):
            click.echo("Nothing was accepted; jobs that need them stay held.", err=True)
            return 1
        accept(caller.workspace, lines, caller.environ)
    released = _release(caller)
    if as_json:
        shown = tuple(TrustedLine(key=line.key, run=line.run, fence=line.fence) for line in lines)
        echo_json(Trusted(commands=shown, was_accepted=was_accepted, released=tuple(released)))
        return 0
    if lines:
        click.echo("They were accepted before." if was_accepted else "Accepted.")
    if released:
        click.echo(f"Continues: job {', '.join(map(str, released))}")
    return 0


def _show(caller: Caller, lines: tuple[CommandLine, ...]) -> None:
    path = os.path.relpath(caller.workspace.repository_config)
    if not lines:
        click.echo(f"There is nothing to accept: {path} has no command line.")
        return
    click.echo(f"{path} has these command lines, which run as you:")
    echo_table(("SETTING", "COMMAND"), [(line.key, _shown(line)) for line in lines])


def _shown(line: CommandLine) -> str:
    return printable(line.run) + (f"  ({line.fence})" if line.fence else "")


def _release(caller: Caller) -> list[JobId]:
    """Let the jobs go on that were held, and see to a worker for them; return which."""
    database = open_existing_queue(caller.workspace)
    if database is None:
        return []
    with closing(database):
        released = release_accepted(caller.workspace, database, caller.environ, now=caller.now())
        if released:
            workers.wake(caller.workspace)
            ensure_worker(caller, database)
        return released
