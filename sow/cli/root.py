"""`sow`: the root command, and the one place where errors become exit codes."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click

from sow.cli import completing
from sow.cli.failure import show_failure, wants_json
from sow.cli.lazy import LazyGroup
from sow.cli.streams import have_streams, silence_stdout
from sow.errors import ExitCode, SowError
from sow.faults import OUT_OF_MEMORY, words_of_bug

PLAIN_WORDS = {
    r"is not in the range (\S+)<=x<=(\S+)$": r"is not between \1 and \2",
    r"is not in the range x>=(\S+)$": r"is less than \1",
    r"is not a valid integer( range)?\.?$": "is not a whole number",
}
"""What click says in the words of a programmer, and what we say for it."""

LACKS_MEMORY = (
    "End the programs that use it, then run the same command again. sow's records are intact."
)


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


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are shown on stderr."""
    have_streams()
    if completing.VARIABLE in os.environ:
        return _complete()
    # The answer to a shell that completes a word needs none of it.
    from sow.state.kept import keeper_hooks

    with keeper_hooks.answering(_live_job_label, _tell):
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    as_json = wants_json(arguments)
    about: set[str] = set()
    try:
        result = _main(arguments, about, as_json=as_json)
    except SowError as error:
        show_failure(error.message, error.hint, error.exit_code, as_json=as_json, about=about)
        return int(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return int(ExitCode.INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # click turns the one into the other
        silence_stdout()
        return int(ExitCode.INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            return _show_file(error, as_json=as_json)
        message = f"cannot write to standard output: {error.strerror}"
        show_failure(message, "The command's changes were kept.", ExitCode.FAILED, as_json=False)
        return int(ExitCode.FAILED)
    except MemoryError:
        show_failure(OUT_OF_MEMORY, LACKS_MEMORY, ExitCode.FAILED, as_json=as_json, about=about)
        return int(ExitCode.FAILED)
    except Exception as error:  # the boundary: the rest are bugs
        return _show_bug(error, as_json=as_json)
    return result if isinstance(result, int) else 0


def _main(arguments: Sequence[str], about: set[str], *, as_json: bool) -> object:
    """Run one command line; it leaves in `about` the tasks that it names."""
    try:
        return root.main(args=list(arguments), prog_name="sow", standalone_mode=False, obj=about)
    except click.ClickException as error:
        return _show_usage(error, as_json=as_json)


def _live_job_label(root_folder: Path, project_id: str) -> str:
    # It reads the queue, and is asked only where git took something.
    from sow.calls.state_witness import live_job_label

    return live_job_label(root_folder, project_id)


def _tell(words: str) -> None:
    click.echo(f"Note: {words}", err=True)


def _complete() -> int:
    """Answer a shell that completes a word; it would print an error into the command line."""
    try:
        root.main(args=[], prog_name="sow", complete_var=completing.VARIABLE)
    except SystemExit as answered:
        return int(answered.code or 0)
    except Exception:  # the same boundary, where nothing may be said
        return int(ExitCode.FAILED)
    return int(ExitCode.OK)


def _show_usage(error: click.ClickException, *, as_json: bool) -> int:
    """Show click's own complaint in the form of all our errors."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        return 0
    message = " ".join(error.format_message().split())
    for unclear, plain in PLAIN_WORDS.items():
        message = re.sub(unclear, plain, message)
    command = context.command_path if context is not None else "sow"
    message = message[:1].lower() + message[1:].rstrip(".")
    show_failure(message, f"See `{command} --help`.", ExitCode.USAGE, as_json=as_json)
    return int(ExitCode.USAGE)


def _show_file(error: OSError, *, as_json: bool) -> int:
    """Show what the system says of a file or folder that no command expects to be so."""
    show_failure(
        f"{error.filename} cannot be used: {(error.strerror or str(error)).lower()}",
        "Make it readable and writable. `sow doctor` shows other problems.",
        ExitCode.STATE,
        as_json=as_json,
    )
    return int(ExitCode.STATE)


def _show_bug(error: Exception, *, as_json: bool) -> int:
    # Heavy, and for bugs alone.
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="sow-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(error, file=file)
    show_failure(
        words_of_bug(error),
        f"This is a bug. Details are in {file.name}",
        ExitCode.FAILED,
        as_json=as_json,
    )
    return int(ExitCode.FAILED)
