"""What holds for every command there is."""

import click
from command_tree import COMMANDS


def test_there_are_commands() -> None:
    assert {("agent", "spawn"), ("task", "set"), ("worker",), ("config", "show")} <= set(COMMANDS)


def test_each_has_json_and_help() -> None:
    for words, command in COMMANDS.items():
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert "--json" in {word for option in options for word in option.opts}, words
        assert command.help, words
        assert all(option.help for option in options), words
