"""Every `sow` command that a string of our own code names exists: hints, help, prompts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from repository.sources import nodes_in, text_of

import sow
from sow.cli.named_commands import Named, commands_of, fault_of
from sow.cli.tree import root
from sow.commands import COMMANDS

ROOT = Path(sow.__file__).parents[1]
FILES = [path for package in ("sow", "worker") for path in sorted((ROOT / package).rglob("*.py"))]
FIELD = re.compile(r"\{[a-z_.0-9]*\}")
"""What `str.format` fills in."""


class Found(NamedTuple):
    """A command in a string: where the string begins, and the words after `sow`."""

    line: int
    words: tuple[str, ...]


def commands_in(source: str) -> Iterator[Found]:
    """Yield every command that a program's strings name; what is filled in is `…`."""
    nodes = nodes_in(source)
    parts = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in nodes:
        if id(node) in parts or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = FIELD.sub("…", _text(node))
        begins = re.match(r"sow ([a-z]+)\b.*\Z", text)
        if begins and begins[1] in COMMANDS:
            text = f"`{text}`" if "`" not in text else text
        for named in commands_of(text):
            words = ("…" if "…" in word or "[^" in word else word for word in named.words)
            yield Found(node.lineno, tuple(words))


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
    )


@pytest.mark.slow
def test_every_command_in_a_string_exists() -> None:
    found_in = [(file, found) for file in FILES for found in commands_in(text_of(file))]
    assert len(found_in) > 500, "otherwise this shows nothing"
    faults = [
        f"{file}:{found.line}: sow {' '.join(found.words)}: {fault}"
        for file, found in found_in
        if (fault := fault_of(Named(found.words, found.line, in_block=False), root))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('hint = "Run `sow task lisst`."', [("task", "lisst")]),
        ('hint = f"`sow agent wait {task} --al`"', [("agent", "wait", "…", "--al")]),
        ('hint = "`sow merge {id}`".format(id=1)', [("merge", "…")]),
        ('command = f"sow agent resume {task} --feedbak"', [("agent", "resume", "…", "--feedbak")]),
        ('def f():\n    """Do as `sow nothing` does."""', [("nothing",)]),
        ('words = "sow chooses the folder"', []),
    ],
)
def test_the_search_finds_commands_in_all_kinds_of_strings(
    source: str, words: list[tuple[str, ...]]
) -> None:
    assert [found.words for found in commands_in(source)] == words
