"""`sow`: the root command, and the one place where errors become exit codes."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click

from sow.cli import completing
from sow.cli.failure import show_failure, wants_json
from sow.cli.lazy import LazyCommand, LazyGroup
from sow.cli.streams import have_streams, silence_stdout
from sow.errors import ExitCode, SowError
from sow.faults import OUT_OF_MEMORY, words_of_bug

COMMANDS = {
    "init": LazyCommand("sow.cli.init:init", "Make a .sow folder here."),
    "project": LazyCommand("sow.cli.project:project", "Begin a project and see where it stands."),
    "task": LazyCommand("sow.cli.task:task", "Add, list, show and change tasks."),
    "agent": LazyCommand("sow.cli.agent:agent", "Spawn agents, resume them, wait, log."),
    "review": LazyCommand("sow.cli.review:review", "Accept a task's work, or ask for corrections."),
    "merge": LazyCommand("sow.cli.merge:merge", "Merge tasks into the project's branch."),
    "batch": LazyCommand("sow.cli.batch:batch", "Have many tasks done while nobody sits there."),
    "worker": LazyCommand("sow.cli.worker:worker", "Run the queue's worker; list, stop workers."),
    "job": LazyCommand("sow.cli.job:job", "See what was queued, run, and how it ended."),
    "clone": LazyCommand("sow.cli.clone:clone", "See and remove the clones that tasks have."),
    "refs": LazyCommand("sow.cli.refs:refs", "Link outside repositories for agents to read."),
    "knowledge": LazyCommand(
        "sow.cli.knowledge:knowledge", "Read what earlier projects have left behind."
    ),
    "pr": LazyCommand("sow.cli.pr:pr", "Ask on GitHub that a finished project is taken in."),
    "cost": LazyCommand("sow.cli.cost:cost", "See what agents used: tokens, money, time."),
    "report": LazyCommand("sow.cli.report:report", "See what ran when and where time went."),
    "stats": LazyCommand("sow.cli.stats:stats", "See success, retries, time, cost in figures."),
    "start": LazyCommand("sow.cli.start:start", "Begin an orchestrator's session here."),
    "status": LazyCommand("sow.cli.status:status", "See where the project stands, on one screen."),
    "watch": LazyCommand("sow.cli.watch:watch", "See live what all agents do, and act on it."),
    "next": LazyCommand("sow.cli.next:show_next", "Print what to do next, as commands."),
    "advance": LazyCommand("sow.cli.advance:advance", "Take the project to its next state."),
    "approve": LazyCommand("sow.cli.approve:approve", "Approve the plan, documents, work units."),
    "phase": LazyCommand("sow.cli.phase:phase", "See the phases; finish those that people lead."),
    "input": LazyCommand("sow.cli.artifacts:inputs", "List the files that the project takes in."),
    "output": LazyCommand("sow.cli.artifacts:outputs", "List the files that it brings forth."),
    "feedback": LazyCommand("sow.cli.feedback:feedback", "Keep what is to be changed of it."),
    "log": LazyCommand("sow.cli.log:show_log", "Read what was done, in all logs as one story."),
    "changes": LazyCommand("sow.cli.changes:changes", "See what has changed, and go on seeing it."),
    "notify": LazyCommand("sow.cli.notify:notify", "See and try what tells you of events."),
    "queue": LazyCommand("sow.cli.queue:queue", "See, pause and resume the queue as a whole."),
    "prompt": LazyCommand(
        "sow.cli.prompt:prompt", "Print what you need to know now, or any guidance."
    ),
    "config": LazyCommand("sow.cli.config:config", "Choose which CLI plays which role."),
    "trust": LazyCommand("sow.cli.trust:trust", "Accept the command lines of this repository."),
    "validate": LazyCommand(
        "sow.cli.validate:validate", "Check all files of .sow; mend what has one right answer."
    ),
    "doctor": LazyCommand("sow.cli.doctor:doctor", "Check what agents need to run here."),
    "install": LazyCommand(
        "sow.cli.install:install", "Bring sow into the agent CLI you lead from."
    ),
    "uninstall": LazyCommand("sow.cli.install:uninstall", "Take out what `sow install` brought."),
    "news": LazyCommand("sow.cli.news:news", "Print what has ended, or waits, since last asked."),
    "mcp": LazyCommand("sow.cli.mcp:mcp", "Serve these commands as tools to an MCP client."),
    "schema": LazyCommand("sow.cli.schema:schema", "Print the JSON Schema of a file or an output."),
    "completion": LazyCommand(
        "sow.cli.completion:completion", "Print the script that completes words in your shell."
    ),
    "demo": LazyCommand("sow.cli.demo:demo", "Run the main job once, end to end, visibly."),
}

PLAIN_WORDS = {
    re.compile(r"is not in the range (\S+)<=x<=(\S+)$"): r"is not between \1 and \2",
    re.compile(r"is not in the range x>=(\S+)$"): r"is less than \1",
    re.compile(r"is not a valid integer( range)?\.?$"): "is not a whole number",
}
"""What click says in the words of a programmer, and what we say for it."""

LACKS_MEMORY = "End what takes it, then run the same again: what sow has written down stands."


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        # For this option alone.
        from sow.cli.version import this_version

        click.echo(this_version())
        ctx.exit()


@click.group(
    cls=LazyGroup,
    lazy_commands=COMMANDS,
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

    keeper_hooks.install(_who_lives, _tell)
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
        show_failure(message, "What was done stands.", ExitCode.FAILED, as_json=False)
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


def _who_lives(root_folder: Path, project_id: str) -> str:
    # It reads the queue, and is asked only where git took something.
    from sow.calls.state_witness import who_lives

    return who_lives(root_folder, project_id)


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
        message = unclear.sub(plain, message)
    command = context.command_path if context is not None else "sow"
    message = message[:1].lower() + message[1:].rstrip(".")
    show_failure(message, f"See `{command} --help`.", ExitCode.USAGE, as_json=as_json)
    return int(ExitCode.USAGE)


def _show_file(error: OSError, *, as_json: bool) -> int:
    """Show what the system says of a file or folder that no command expects to be so."""
    show_failure(
        f"{error.filename} cannot be used: {(error.strerror or str(error)).lower()}",
        "Make it what it should be, readable and writable; `sow doctor` shows what else is odd.",
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
        f"This is a bug. The whole story is in {file.name}",
        ExitCode.FAILED,
        as_json=as_json,
    )
    return int(ExitCode.FAILED)
