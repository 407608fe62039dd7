"""What holds for every command there is."""

import click
import pytest
from command_tree import COMMANDS


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
