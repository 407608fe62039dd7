"""The root command of click's, and how click reads a command line of ours.

Owns what click refuses, in the form of all our errors. `sow.cli.root` comes here with every line
that is not a usual one.
"""

import re
from collections.abc import Sequence

import click

from sow.cli.completing import VARIABLE
from sow.cli.failure import show_failure
from sow.cli.lazy import LazyGroup
from sow.errors import ExitCode

PLAIN_WORDS = {
    r"is not in the range (\S+)<=x<=(\S+)$": r"is not between \1 and \2",
    r"is not in the range x>=(\S+)$": r"is less than \1",
    r"is not a valid integer( range)?\.?$": "is not a whole number",
}
"""What click says in the words of a programmer, and what we say for it."""


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        # For this option alone.
        from sow.cli.version import this_version

        click.echo(this_version())
        ctx.exit()


@click.group(
    cls=LazyGroup,
    words="",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first run: sow init, sow project new NAME --type quick, "
    "sow task add NAME --agent implementer, sow agent spawn implementer 010. "
    "Then, and at any time: sow next.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Run coding-agent CLIs as queued jobs.

    A call survives its caller, an agent survives its worker, a result
    survives both.
    """


def run_by_click(line: Sequence[str], *, as_json: bool) -> object:
    """Have click read and run one command line; return what the command does."""
    try:
        return root.main(args=list(line), prog_name="sow", standalone_mode=False)
    except click.Abort:
        return int(ExitCode.INTERRUPTED)
    except click.ClickException as error:
        return _show_usage(error, as_json=as_json)


def complete() -> int:
    """Answer a shell that completes a word; it would print an error into the command line."""
    try:
        root.main(args=[], prog_name="sow", complete_var=VARIABLE)
    except SystemExit as answered:
        return int(answered.code or 0)
    except Exception:  # the same boundary as in `sow.cli.root`, where nothing may be said
        return int(ExitCode.FAILED)
    return int(ExitCode.OK)


def _show_usage(error: click.ClickException, *, as_json: bool) -> int:
    """Show click's own complaint in the form of all our errors."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # not in click 8.1
        click.echo(error.format_message())
        return 0
    message = " ".join(error.format_message().split())
    for unclear, plain in PLAIN_WORDS.items():
        message = re.sub(unclear, plain, message)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "sow"
    message = message[:1].lower() + message[1:].rstrip(".")
    show_failure(message, f"See `{command} --help`.", ExitCode.USAGE, as_json=as_json)
    return int(ExitCode.USAGE)
