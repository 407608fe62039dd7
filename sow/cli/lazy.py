"""A click group that imports a command's module only when that command runs.

Every group of ours is one, for this is also where each call of an agent is
asked for its right, before the command acts. Which commands there are is `sow.commands`.
Importing every command would cost each `sow agent log` of an agent the import
of the queue, the tables and the configuration.
"""

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sow import env_vars
from sow.cli.late_click import Declared
from sow.cli.this_call import this_call
from sow.commands import COMMANDS, rows_in
from sow.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_OF_THE_NAME = 3
"""So many commands of other groups are named for a word that is not one of this group."""


class LazyGroup(click.Group):
    """The group of commands whose rows in `sow.commands` begin with `words`."""

    def __init__(
        self, *args: Any, words: str, callback: Callable[..., Any] | None = None, **kwargs: Any
    ) -> None:
        alone = _unless_one_is_named(callback) if callback is not None else None
        super().__init__(*args, callback=alone, **kwargs)
        self._words = words

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [row.path[-1] for row in rows_in(self._words)]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command called `cmd_name`."""
        row = COMMANDS.get(self._words_of(cmd_name))
        if row is None:
            return None
        if not row.code:
            about = f"{row.help}\n\n{row.about}" if row.about else row.help
            return LazyGroup(name=cmd_name, words=row.words, help=about)
        module, name = row.code.split(":")
        command = getattr(import_module(f"sow.cli.{module}"), name)
        assert isinstance(command, Declared)  # noqa: S101 - the table is ours
        return command.for_click

    def _words_of(self, name: str) -> str:
        return f"{self._words} {name}".lstrip()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` name; for an agent, one that asks for its right first."""
        named = bool(args) and not args[0].startswith("-") and not ctx.resilient_parsing
        if named and self.get_command(ctx, args[0]) is None:
            self._refuse(ctx, args[0])
        name, command, rest = super().resolve_command(ctx, args)
        this_call().words = self._words_of(name or "")
        if command is not None and env_vars.JOB_ID in os.environ and not ctx.resilient_parsing:
            command = _guarded(command, tuple(self._words_of(name or "").split()))
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

        path, program = ctx.command_path, ctx.find_root().command_path
        same = [f"{program} {row.words}" for row in COMMANDS.values() if row.path[-1] == name]
        near = get_close_matches(name, self.list_commands(ctx), n=2)
        meant = same if 1 <= len(same) <= MOST_OF_THE_NAME else [f"{path} {word}" for word in near]
        guess = " or ".join(f"`{words}`" for words in meant)
        raise UsageError(
            f"no such command: {path} {name}",
            hint=f"{f'Did you mean {guess}? ' if guess else ''}See `{path} --help`.",
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the names and options that begin so, without importing any command."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(row.path[-1], help=row.help)
            for row in rows_in(self._words)
            if row.path[-1].startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their sections, without importing any of them."""
        rows = rows_in(self._words)
        names = [row.path[-1] for row in rows]
        for heading in dict.fromkeys(row.section for row in rows):
            lines = [
                (name.ljust(max(map(len, names))), row.help)
                for name, row in zip(names, rows, strict=True)
                if row.section == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(lines)


def _unless_one_is_named(act: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a group does itself, so that it does nothing where one of its commands is run."""

    @wraps(act)
    def alone(*arguments: Any, **parameters: Any) -> Any:
        if click.get_current_context().invoked_subcommand is None:
            return act(*arguments, **parameters)
        return None

    return alone


def _guarded(command: click.Command, words: tuple[str, ...]) -> click.Command:
    """Return `command` so that it asks for the calling agent's right before it does anything."""
    # Only a call of an agent needs it.
    from copy import copy

    from sow.cli.asking_right import ask_right

    act = command.callback
    if act is None:
        return command

    @wraps(act)
    def asked_first(*arguments: Any, **parameters: Any) -> Any:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            ask_right(words, context.params)
        return act(*arguments, **parameters)

    guard = copy(command)
    guard.callback = asked_first
    return guard
