"""Whether the repository's own command lines could have their sandboxes here.

Owns what is said of checks and `clones.setup` that ask for one: a line, where any does.
"""

from collections.abc import Iterator, Sequence

from sow.config.checks import CheckCommand
from sow.config.clones import SETUP, setup_commands
from sow.config.command_sandbox import refuse_without_sandbox
from sow.config.configuration import Configuration
from sow.findings import Finding, Level
from sow.sandbox.probe import SandboxUnavailable


def examine_command_lines(configuration: Configuration) -> Iterator[Finding]:
    """Yield whether their sandboxes can be made; nothing where none asks for one.

    Without that of `clones.setup` no agent begins in a new clone: that is an error.
    """
    clones = configuration.clones
    setup = setup_commands(clones) if clones.setup is not None else ()
    every = (*setup, *configuration.checks.commands.values())
    fenced = [command for command in every if command.is_sandboxed]
    if not fenced:
        return
    broken, error = _broken(fenced)
    if error is None:
        yield _finding(Level.OK, fenced, "can have their sandboxes here")
        return
    level = Level.ERROR if SETUP in (command.name for command in broken) else Level.WARNING
    words = f"the {error.what} does not work here: {error.reason}. sow does not run them without it"
    yield _finding(level, broken, words, remedy=error.hint)


def _broken(
    commands: Sequence[CheckCommand],
) -> tuple[Sequence[CheckCommand], SandboxUnavailable | None]:
    """Return the command lines whose sandbox cannot be made, and why that is: it is one reason."""
    broken, first = [], None
    for command in commands:
        try:
            refuse_without_sandbox((command,))
        except SandboxUnavailable as error:
            broken.append(command)
            first = first or error
    return broken, first


def _finding(
    level: Level, commands: Sequence[CheckCommand], words: str, remedy: str = ""
) -> Finding:
    names = [command.name for command in commands]
    return Finding(
        check="command_sandbox",
        level=level,
        text=f"{', '.join(names)}: {words}",
        remedy=remedy,
        facts={"commands": names, "works": level is Level.OK},
    )
