"""Every command with `--json` says what it prints, and what each key means."""

from command_tree import COMMANDS

from sow.schema.catalogue import json_schema, outputs


def test_every_command_says_what_it_prints() -> None:
    with_json = {
        " ".join(words)
        for words, command in COMMANDS.items()
        if any("--json" in parameter.opts for parameter in command.params)
    }
    assert with_json == set(outputs())


def test_every_key_is_described() -> None:
    for name in (*outputs(), "error"):
        for title, shape in json_schema(name)["$defs"].items():
            for key, about in shape["properties"].items():
                assert "description" in about, f"{name}: {title}.{key}"
