"""What each key does: the command of sow's that it runs, and what is asked before.

Pure. Owns which key fits which row, and the command line as it would be typed. Whether a command
is refused is the command's own to say, in its own words.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from sow.schema.job import JobState
from sow.schema.task import TaskStatus
from sow.watching.snapshot import Crew, Row

Words = tuple[str, ...]
MOVES = (
    ("↑ ↓", "Choose a row; PgUp, PgDn, Home and End go further."),
    ("Enter", "Follow the agent of the chosen row in a pane below; again: close the pane."),
    ("1 … 5", "The pane's tabs; ← and → go to the next one."),
    ("Tab", "Go from the list to the pane, where you can scroll, and back."),
    ("v", "Show or hide the input and output of tools."),
    ("/", "Show only rows with these words; Esc shows all again."),
)
"""The keys that run no command."""


class KeyCommand(Struct, frozen=True, kw_only=True):
    """A command that a key runs for a row."""

    key: str
    name: str
    """One word for the line of keys."""
    about: str
    """A sentence for the help."""
    fits: Callable[[Row], bool]
    argv: Callable[[Row, str], Words]
    """The command for a row, and for the words that somebody has typed."""
    asks_words: str = ""
    """What is to be typed; empty where nothing is."""
    asks: str = ""
    """What cannot be undone, as a question; empty where it can be."""
    takes_terminal: bool = False
    """Whether the command needs the terminal for itself."""
    for_person: bool = False
    """Whether it is a person's word: it sees the terminal, and reads nothing from it."""


def command_line(argv: Sequence[str]) -> str:
    """Return a command as it would be typed."""
    return shlex.join(("sow", *argv))


def commands_for(row: Row | None) -> Sequence[KeyCommand]:
    """Return what can be done with a row."""
    return [] if row is None else [command for command in KEY_COMMANDS if command.fits(row)]


def command_of(key: str, row: Row | None) -> KeyCommand | None:
    """Return what a key does with a row; None where it does nothing."""
    return next((command for command in commands_for(row) if command.key == key), None)


def queue_argv(crew: Crew) -> Words:
    """Return the command that pauses the queue, or lets it go on."""
    return ("queue", "resume" if crew.paused_since else "pause")


def _rests(row: Row) -> bool:
    return bool(row.task) and not row.is_live


def _asks(row: Row) -> bool:
    return _rests(row) and row.status is TaskStatus.PAUSED


def _can_go_on(row: Row) -> bool:
    had_agent = row.job is not None or row.status is not TaskStatus.PENDING
    return _rests(row) and had_agent and row.status not in (TaskStatus.PAUSED, *OVER)


OVER = (TaskStatus.COMPLETED, TaskStatus.ABANDONED)


def _is_to_judge(row: Row) -> bool:
    return _rests(row) and row.status is TaskStatus.NEEDS_REVIEW


def _has_ended_badly(row: Row) -> bool:
    return row.job is not None and row.job_state in (JobState.FAILED, JobState.CANCELLED)


KEY_COMMANDS: Sequence[KeyCommand] = (
    KeyCommand(
        key="s",
        name="start",
        about="Start a pending task.",
        fits=lambda row: _rests(row) and row.status is TaskStatus.PENDING and bool(row.who),
        argv=lambda row, _: ("agent", "spawn", row.who, row.task, "--detach"),
    ),
    KeyCommand(
        key="a",
        name="answer",
        about="Answer the question of a paused task.",
        fits=_asks,
        asks_words="Your answer",
        argv=lambda row, words: ("agent", "answer", "--id", row.task, "--detach", "--", words),
    ),
    KeyCommand(
        key="r",
        name="resume",
        about="Resume a task's agent with your words.",
        fits=_can_go_on,
        asks_words="What its agent should do next",
        argv=lambda row, words: ("agent", "resume", "--id", row.task, "--detach", "--", words),
    ),
    KeyCommand(
        key="y",
        name="accept",
        about="Accept a task's work and complete it.",
        fits=_is_to_judge,
        asks_words="What you think of the work",
        argv=lambda row, words: (
            *("review", "accept", row.task, "--complete"),
            f"--summary={words}",
        ),
        for_person=True,
    ),
    KeyCommand(
        key="c",
        name="cancel",
        about="Cancel the job, and end all processes of its agent.",
        fits=lambda row: row.is_live,
        asks="Cancel it? Unsaved work of its agent is lost.",
        argv=lambda row, _: ("job", "cancel", str(row.job)),
    ),
    KeyCommand(
        key="t",
        name="retry",
        about="Repeat a job that failed or was cancelled.",
        fits=_has_ended_badly,
        argv=lambda row, _: ("job", "retry", str(row.job), "--detach"),
    ),
    KeyCommand(
        key="o",
        name="open",
        about="Open the agent's session on this terminal, and come back.",
        fits=lambda row: _rests(row) and row.has_agent and row.status not in OVER,
        argv=lambda row, _: ("agent", "open", row.task),
        takes_terminal=True,
    ),
)
"""In the order of the help and of the line of keys."""


def help_lines(row: Row | None, crew: Crew) -> Iterator[tuple[str, str, str]]:
    """Yield each key, what it does, and the command that it would run now, if any."""
    for key, about in MOVES:
        yield key, about, ""
    for command in KEY_COMMANDS:
        fits = row is not None and command.fits(row)
        words = command_line(command.argv(row, "…")) if row and fits else ""
        yield command.key, command.about, words
    yield "p", "Pause the queue, or continue it.", command_line(queue_argv(crew))
    yield "q", "Leave. Agents, workers and commands go on.", ""
