"""A click group that imports a command's module only when that command runs.

Every group of ours is one, for this is also where each call of an agent is
asked for its right (`guarding`). Owns nothing else. Importing every
command would cost each `sow agent log` of an agent the import of the queue,
the tables and the configuration.
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sow import own_variables
from sow.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyCommand:
    """Where a command lies (`target`: `package.module:attribute`) and its line in the help."""

    def __init__(self, target: str, help: str) -> None:
        self.target = target
        self.help = help


class UnknownCommand(UsageError):
    """A group has no command of this name."""

    def __init__(self, ctx: click.Context, name: str, nearest: Sequence[str]) -> None:
        path = ctx.command_path
        guess = " or ".join(f"`{path} {word}`" for word in nearest)
        super().__init__(
            f"no such command: {path} {name}",
            hint=f"{f'Did you mean {guess}? ' if guess else ''}See `{path} --help`.",
        )


class LazyGroup(click.Group):
    """A group whose commands are named in a literal table."""

    def __init__(
        self, *args: Any, lazy_commands: Mapping[str, LazyCommand] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy: dict[str, LazyCommand] = dict(lazy_commands or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's own order, which is the order of use."""
        return [*self._lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command called `cmd_name`."""
        lazy = self._lazy.get(cmd_name)
        if lazy is None:
            return super().get_command(ctx, cmd_name)
        module, attribute = lazy.target.split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` name; for an agent, one that asks for its right first."""
        named = bool(args) and not args[0].startswith("-") and not ctx.resilient_parsing
        if named and self.get_command(ctx, args[0]) is None:
            self._refuse(ctx, args[0])
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and own_variables.JOB_ID in os.environ and not ctx.resilient_parsing:
            from sow.cli.guarding import guarded

            command = guarded(command, (*_words_of(ctx), name or ""))
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is named; click does not say whose an option without a value is."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name and error.ctx is None else None
            if command is not None:
                error.ctx = click.Context(command, info_name=name, parent=ctx)
            raise

    def _refuse(self, ctx: click.Context, name: str) -> NoReturn:
        from difflib import get_close_matches

        raise UnknownCommand(ctx, name, get_close_matches(name, self.list_commands(ctx), n=2))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the names and options that begin so, without importing any command."""
        from click.shell_completion import CompletionItem

        eager = {name: command for name, command in self.commands.items() if not command.hidden}
        helps = {name: command.get_short_help_str() for name, command in eager.items()}
        helps |= {name: lazy.help for name, lazy in self._lazy.items()}
        names = [name for name in self.list_commands(ctx) if name in helps]
        commands = [
            CompletionItem(name, help=helps[name]) for name in names if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any of them."""
        rows = [(name, lazy.help) for name, lazy in self._lazy.items()]
        for name in super().list_commands(ctx):
            command = super().get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(limit=90)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _words_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the words that lead to a group, without `sow` itself."""
    words: list[str] = []
    step: click.Context | None = ctx
    while step is not None and step.parent is not None:
        words.insert(0, step.info_name or "")
        step = step.parent
    return tuple(words)
