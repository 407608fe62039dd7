"""What each key does with which row, and that it is a command that sow has."""

import click
import pytest
from watching.rows_cases import ended, live, resting

from sow.cli.tree import root
from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.watching.contents import Tab, tab_command
from sow.watching.keys import (
    KEY_COMMANDS,
    KeyCommand,
    command_line,
    command_of,
    commands_for,
    queue_argv,
)
from sow.watching.snapshot import Crew, Row

PENDING = resting(TaskStatus.PENDING)
PAUSED = ended(TaskStatus.PAUSED)
TO_JUDGE = ended(TaskStatus.NEEDS_REVIEW)
FAILED = ended(TaskStatus.FAILED, JobState.FAILED)
CANCELLED = ended(TaskStatus.PAUSED, JobState.CANCELLED)
OVER = ended(TaskStatus.COMPLETED)
RUNNING = live()
ELSEWHERE = live(key="job 17", task="", status=None)
"""A job of another project."""

KEYS: dict[str, tuple[Row, str]] = {
    "pending": (PENDING, "s"),
    "paused": (PAUSED, "ao"),
    "to judge": (TO_JUDGE, "ryo"),
    "failed": (FAILED, "rto"),
    "cancelled": (CANCELLED, "ato"),
    "completed": (OVER, ""),
    "running": (RUNNING, "c"),
    "queued": (live(JobState.QUEUED), "c"),
    "being judged": (live(status=TaskStatus.NEEDS_REVIEW), "c"),
    "elsewhere": (ELSEWHERE, "c"),
}


@pytest.mark.parametrize(("row", "keys"), KEYS.values(), ids=KEYS)
def test_a_row_has_the_keys_of_what_can_be_done_with_it(row: Row, keys: str) -> None:
    assert {command.key for command in commands_for(row)} == set(keys)


def test_nothing_is_done_where_no_row_is_chosen() -> None:
    assert list(commands_for(None)) == []
    assert command_of("c", None) is None


def is_understood(argv: tuple[str, ...]) -> bool:
    """Whether click takes a command line; nothing of it is run."""
    command: click.Command = root
    context = click.Context(root)
    words = list(argv)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        if found is None:
            return False
        command, context = found, click.Context(found, parent=context)
    try:
        command.make_context(command.name, words, parent=context.parent)
    except click.ClickException:
        return False
    return True


WORDS = "-v $(rm) 'a'"
"""What somebody may type: it begins like an option, and a shell would run it."""


@pytest.mark.parametrize("command", KEY_COMMANDS, ids=lambda command: command.name)
def test_each_key_runs_a_command_that_sow_has(command: KeyCommand) -> None:
    row = next(row for row, _ in KEYS.values() if command.fits(row))
    argv = command.argv(row, WORDS)
    assert is_understood(argv)
    assert not is_understood((*argv[:2], "--no-such-option", *argv[2:]))
    if command.asks_words:
        assert any(word.endswith(WORDS) for word in argv)


def test_only_what_cannot_be_undone_asks() -> None:
    assert [command.name for command in KEY_COMMANDS if command.asks] == ["cancel"]


def test_the_queue_is_paused_or_let_go_on() -> None:
    assert queue_argv(Crew()) == ("queue", "pause")
    assert queue_argv(Crew(paused_since="2026-01-31T12:00:00Z")) == ("queue", "resume")


@pytest.mark.parametrize("tab", Tab)
def test_each_tab_names_the_command_that_tells_the_same(tab: Tab) -> None:
    assert is_understood(tuple(tab_command(tab, "010", 17)))
    assert tab_command(tab, "", None) == ()


def test_a_command_is_shown_as_it_would_be_typed() -> None:
    assert command_line(("agent", "answer", "--", "it's")) == """sow agent answer -- 'it'"'"'s'"""
