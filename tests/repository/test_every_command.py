"""What holds for every command there is."""

from collections.abc import Iterator

import click
import pytest

from sow.cli.root import root


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that can be called, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)


COMMANDS = dict(commands(root))


def test_there_are_commands() -> None:
    assert {("agent", "spawn"), ("task", "set"), ("worker",), ("config", "show")} <= set(COMMANDS)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_has_json_and_help(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    options = {word for parameter in command.params for word in parameter.opts}
    assert "--json" in options
    assert command.help
    assert all(
        parameter.help for parameter in command.params if isinstance(parameter, click.Option)
    )
