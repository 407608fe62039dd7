"""What the pane shows of one row, tab by tab: read here, drawn in `pane`.

Owns which texts a tab is made of. Bounded in size; whatever an agent, a file or a name holds,
what is returned steers no terminal, and what cannot be read is told in words.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import UNSET, Struct

from sow.clock import local_time, parse_time
from sow.errors import SowError
from sow.files import read_inside
from sow.paths import Workspace
from sow.schema.task import FeedbackStatus, Task
from sow.state.log_writing import LogEntry
from sow.state.places import DESCRIPTION_LIMIT, find_task
from sow.state.task_log import last_entries
from sow.state.tasks import read_task
from sow.state.verdicts import feedback_in
from sow.terminal_text import printable, printable_lines, without_sequences
from sow.watching.commands import run_command

LAST_ENTRIES = 200
MOST_LETTERS = 50_000
"""Of a text; a person reads no more of it in a pane."""


MOST_LINES = 1500
"""Of a difference."""


class Tab(StrEnum):
    """The tabs of the pane, in their order."""

    AGENT = "agent"
    TASK = "task"
    LOG = "log"
    FEEDBACK = "feedback"
    DIFF = "diff"


class Look(StrEnum):
    """How a piece of text is shown."""

    WORDS = "words"
    """Markdown."""
    PLAIN = "plain"
    HEADING = "heading"
    TOOL = "tool"
    GOOD = "good"
    BAD = "bad"
    NOTE = "note"


class Piece(Struct, frozen=True):
    """A part of a tab."""

    look: Look
    text: str
    more: str = ""
    """What is folded away below it."""


def tab_command(tab: Tab, task: str, job: int | None) -> Sequence[str]:
    """Return the command that tells the same as a tab; none where there is nothing to tell."""
    if tab is Tab.AGENT:
        return () if job is None else ("job", "logs", str(job), "--follow")
    if not task:
        return ()
    return {
        Tab.TASK: ("task", "show", task),
        Tab.LOG: ("task", "log", task),
        Tab.FEEDBACK: ("review", "show", task),
        Tab.DIFF: ("task", "diff", task),
    }[tab]


def read_tab(
    workspace: Workspace, tab: Tab, task: str, environ: Mapping[str, str]
) -> Sequence[Piece]:
    """Return what a tab of a task holds, all but the one of its agent. Raises nothing."""
    readers: Mapping[Tab, Callable[[], Iterator[Piece]]] = {
        Tab.TASK: lambda: _task(workspace, task),
        Tab.LOG: lambda: _log(workspace, task),
        Tab.FEEDBACK: lambda: _feedback(workspace, task),
        Tab.DIFF: lambda: _diff(workspace, task, environ),
    }
    try:
        return list(readers[tab]())
    except SowError as error:
        hint = f"\n{printable(error.hint)}" if error.hint else ""
        return [Piece(Look.BAD, f"{printable(error.message)}{hint}")]
    except OSError as error:
        return [Piece(Look.BAD, printable(str(error)))]


def harmless(text: str) -> str:
    """Return a text of any lines with nothing in it that steers a terminal, and bounded."""
    whole = without_sequences(text[:MOST_LETTERS]).expandtabs(4)
    shown = "\n".join(printable_lines(whole))
    return f"{shown}\n…" if len(text) > MOST_LETTERS else shown


def _task(workspace: Workspace, task_id: str) -> Iterator[Piece]:
    task = read_task(workspace, task_id)
    yield Piece(Look.HEADING, f"{task.id}  {printable(task.name)}")
    yield Piece(Look.NOTE, "\n".join(_facts(task)))
    text = _text(find_task(workspace, task_id).description, workspace)
    yield Piece(Look.WORDS, text) if text else Piece(Look.NOTE, "It has no description.")


def _facts(task: Task) -> Iterator[str]:
    yield f"{task.status}, iteration {task.iteration}, phase {task.phase}, {task.assigned_agent}"
    if task.depends_on:
        yield f"depends on {', '.join(task.depends_on)}"
    if task.review is not UNSET:
        summary = printable(task.review.summary)
        yield f"{task.review.verdict} by {printable(task.review.by)}: {summary}"


def _text(path: Path, workspace: Workspace) -> str:
    try:
        data = read_inside(path, workspace.root, DESCRIPTION_LIMIT)
    except FileNotFoundError:
        return ""
    return harmless(data.decode("utf-8", "replace"))


def _log(workspace: Workspace, task_id: str) -> Iterator[Piece]:
    entries = last_entries(find_task(workspace, task_id).log, LAST_ENTRIES)
    if not entries:
        yield Piece(Look.NOTE, "Nothing is in its log yet.")
    for entry in entries:
        yield Piece(Look.HEADING, _head_line(entry))
        if entry.text:
            yield Piece(Look.WORDS, harmless(entry.text))
        if entry.files:
            yield Piece(Look.NOTE, f"files: {', '.join(map(printable, entry.files))}")


def _head_line(entry: LogEntry) -> str:
    try:
        at = local_time(parse_time(entry.timestamp))
    except (ValueError, OverflowError, OSError):  # no time, or a year that no calendar has
        at = printable(entry.timestamp)
    result = f" ({printable(entry.result)})" if entry.result else ""
    return f"{at}  {printable(entry.agent)}  {printable(entry.action)}{result}"


def _feedback(workspace: Workspace, task_id: str) -> Iterator[Piece]:
    task = read_task(workspace, task_id)
    found = [
        (name, status, words)
        for status in FeedbackStatus
        for name, words in feedback_in(workspace, task, status)
    ]
    if not found:
        yield Piece(Look.NOTE, "Nobody has asked for corrections.")
    for name, status, words in sorted(found, reverse=True):
        yield Piece(Look.HEADING, f"feedback/{printable(name)} ({status})")
        yield Piece(Look.WORDS, harmless(words))


def _diff(workspace: Workspace, task_id: str, environ: Mapping[str, str]) -> Iterator[Piece]:
    ran = run_command(("task", "diff", task_id), workspace.root, environ)
    if not ran.lines:
        yield Piece(Look.NOTE, "Nothing differs.")
    for line in ran.lines[:MOST_LINES]:
        yield Piece(Look.BAD if ran.code else _look_of(line), line)
    if ran.is_cut or len(ran.lines) > MOST_LINES:
        yield Piece(Look.NOTE, "… and more: the command shows all of it.")


def _look_of(line: str) -> Look:
    """Return how a line of a patch is shown."""
    if line.startswith(("diff ", "+++", "---", "index ")):
        return Look.HEADING
    if line.startswith("@@"):
        return Look.TOOL
    return {"+": Look.GOOD, "-": Look.BAD}.get(line[:1], Look.PLAIN)
