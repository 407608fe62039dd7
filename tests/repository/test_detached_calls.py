"""Every command with `--detach` stands in the table on calls, which says when it exits with 0."""

import re
from pathlib import Path

from command_tree import COMMANDS

PAGE = Path(__file__).parents[2] / "docs/howto/spawn.md"


def test_the_table_names_each_command_that_detaches() -> None:
    table = PAGE.read_text().split("| command with `--detach` |")[1].split("\n\n")[0]
    detaching = {
        " ".join(words)
        for words, command in COMMANDS.items()
        if any("--detach" in parameter.opts for parameter in command.params)
    }
    assert set(re.findall(r"`sow ([a-z ]+)`", table)) == detaching
