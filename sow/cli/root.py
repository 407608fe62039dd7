"""One run of the command line, and the one place where errors become exit codes."""

import os
from collections.abc import Sequence
from pathlib import Path

from sow import env_vars
from sow.cli import completing
from sow.cli import late_click as click
from sow.cli.failure import show_failure, wants_json
from sow.cli.streams import have_streams, silence_stdout
from sow.cli.this_call import begin_call
from sow.errors import ExitCode, SowError
from sow.faults import OUT_OF_MEMORY, words_of_bug

HELP = frozenset({"--help", "-h"})
LACKS_MEMORY = (
    "End the programs that use it, then run the same command again. sow's records are intact."
)


def run(line: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are shown on stderr."""
    have_streams()
    if os.environ.get(completing.VARIABLE):
        # The answer to a shell is click's.
        from sow.cli.tree import complete

        return complete()
    # The answer to a shell that completes a word needs none of it.
    from sow.state.kept import keeper_hooks

    with keeper_hooks.answering(_live_job_label, _tell):
        return _run(line)


def _run(line: Sequence[str]) -> int:
    if env_vars.SECRETS in os.environ:
        # Only commands of an agent that was given secrets need it.
        from sow.cli.own_secrets import without_secrets

        line = without_secrets(line, os.environ)
    as_json = wants_json(line)
    about: set[str] = set()
    try:
        result = _run_command(line, about, as_json=as_json)
    except SowError as error:
        show_failure(error.message, error.hint, error.exit_code, as_json=as_json, about=about)
        return int(error.exit_code)
    except (KeyboardInterrupt, EOFError):
        click.echo(err=True)  # it ends the line in which a terminal shows ^C
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


def _run_command(line: Sequence[str], about: set[str], *, as_json: bool) -> object:
    """Run one command line; it leaves in `about` the tasks that it names."""
    with begin_call(about):
        if not HELP.intersection(line):
            # The help is click's.
            from sow.cli.usual_line import read_usual

            usual = read_usual(line)
            if usual is not None:
                return usual.run()
        # Whatever is no usual line is click's to read, and to refuse.
        from sow.cli.tree import run_by_click

        return run_by_click(line, as_json=as_json)


def _live_job_label(root_folder: Path, project_id: str) -> str:
    # It reads the queue, and is asked only where git took something.
    from sow.calls.state_witness import live_job_label

    return live_job_label(root_folder, project_id)


def _tell(words: str) -> None:
    click.echo(f"Note: {words}", err=True)


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
