"""A usual line is read without click, and as click reads it; any other is left to click."""

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from hypothesis import settings

from sow.cli.late_click import Declared
from sow.cli.tree import root
from sow.cli.usual_line import read_usual
from sow.commands import COMMANDS

FREQUENT = (
    "agent log",
    "agent spawn",
    "batch run",
    "batch show",
    "job list",
    "next",
    "status",
    "task list",
    "task set",
    "worker",
)
ODD = (
    "",
    "-",
    "--",
    "-x",
    "--id",
    "--id=010",
    "=",
    "1_000",
    " 5 ",
    "\u0663",
    "\udcff",
    "a\nb",
    "\x00",
    "True",
)
READ = [words for words, row in COMMANDS.items() if row.code]
EACH = 19 if settings.default.max_examples < 30 else 1
"""Which of the lines are tried: in the quick run each nineteenth."""
NAMES = ([], ["010"], ["010", "020"], ["010", "status", "needs_review"], ["a b"], [""])


def lines(words: str) -> Iterator[list[str]]:
    """Yield command lines of a command, those that it refuses among them."""
    command = _click_command(words.split())
    options = [
        [name] if option.is_flag else [name, value]
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
        for value in ("x", "5", "", "-x")
    ]
    pairs = [[], *options, *(a + b for a, b in itertools.pairwise(options))]
    for names, given in itertools.product(NAMES, pairs):
        yield [*words.split(), *names, *given]
        yield [*words.split(), *given, *names]


def _click_command(words: list[str]) -> click.Command:
    command: click.Command = root
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


def test_what_is_read_is_what_click_reads() -> None:
    for words in READ:
        command, read = _click_command(words.split()), 0
        for line in itertools.islice(lines(words), 0, None, EACH):
            usual = read_usual(line)
            if usual is None:
                continue
            context = command.make_context(words, line[len(words.split()) :])
            assert usual.row.words == words
            assert dict(usual.values) == context.params, line
            read += 1
        assert read or words not in FREQUENT, words


def test_what_is_read_of_odd_words_is_what_click_reads() -> None:
    for words in READ:
        command, drawn = _click_command(words.split()), random.Random(words)
        options = [name for option in command.params for name in option.opts if name[0] == "-"]
        pool = [*ODD, *options, *options, *(name[:-1] for name in options), "x", "010"]
        for _ in range(60 // EACH):
            rest = drawn.choices(pool, k=drawn.randint(1, 5))
            usual = read_usual([*words.split(), *rest])
            if usual is not None:
                context = command.make_context(words, [*rest])
                assert dict(usual.values) == context.params, rest


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["--help"],
        ["task"],
        ["task show"],
        ["task", "show", "--help"],
        ["task", "show", "-h"],
        ["task", "show", "--", "010"],
        ["task", "show", "--id=010"],
        ["task", "show", "--jso"],
        ["task", "shwo"],
        ["--version", "status"],
        ["job", "list", "--limit", "5"],
        ["job", "list", "--task"],
        ["job", "list", "--task", "--active"],
        ["agent", "log"],
        ["agent", "log", "a", "b"],
        ["worker", "--once"],
        ["agent", "spawn", "implementer", "010", "--no-clone"],
        ["agent", "spawn", "implementer", "010", "--cwd", "src"],
    ],
    ids=" ".join,
)
def test_any_other_line_is_left_to_click(line: list[str]) -> None:
    assert read_usual(line) is None


def test_every_command_is_declared_without_click() -> None:
    for row in COMMANDS.values():
        if row.code:
            module, name = row.code.split(":")
            found = getattr(import_module(f"sow.cli.{module}"), name)
            assert isinstance(found, Declared), row.words


@pytest.mark.slow
@pytest.mark.parametrize("words", FREQUENT)
def test_a_frequent_command_runs_without_click(words: str, tmp_path: Path) -> None:
    program = (
        "import sys; from sow.cli.usual_line import read_usual;"
        "assert read_usual(sys.argv[1:]); print('click' in sys.modules)"
    )
    values = {"agent log": ["Done"], "task set": ["010", "name", "A"]}.get(words, [])
    argv = [sys.executable, "-P", "-c", program, *words.split(), *values]
    done = subprocess.run(
        argv, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
