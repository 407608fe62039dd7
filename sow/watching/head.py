"""The lines around the list.

Above it stand the project with what it has used, and the workers with their slots; below, the keys.
"""

from collections.abc import Iterator

from rich.style import Style
from rich.text import Text

from sow.clock import local_time, parse_time
from sow.jobs.hosts import node_of
from sow.terminal_text import printable
from sow.watching.drawing import BAD, BOLD, NOTE
from sow.watching.keys import commands_for, queue_argv
from sow.watching.lines import count_words, money_words
from sow.watching.snapshot import Crew, Row, Snapshot


def title_text(found: Snapshot) -> Text:
    """Return the project, where it stands, and what all its jobs have used."""
    text = Text(found.title, BOLD)
    used = [
        f"{count_words(found.tokens)} tokens" if found.tokens else "",
        money_words(found.usd, is_estimate=found.is_estimate),
    ]
    return text.append(f"  {', '.join(filter(None, used))}", Style(bold=False))


def crew_text(found: Snapshot) -> Text:
    """Return the workers, their slots, and what keeps them."""
    text = Text()
    for words, style in _crew_parts(found.crew):
        text.append(f"{'  ' if text else ''}{words}", style)
    return text


def _crew_parts(crew: Crew) -> Iterator[tuple[str, Style | str]]:
    if crew.workers:
        workers = "1 worker" if crew.workers == 1 else f"{crew.workers} workers"
        workers += f" on {crew.hosts} host{'s' * (crew.hosts != 1)}" if crew.hosts else ""
        checks = f", {crew.checks} checks" if crew.checks else ""
        yield f"{workers}, {crew.taken} of {crew.slots} slots taken{checks}", ""
    else:
        yield "no worker runs", NOTE
    if crew.paused_since:
        yield "the queue is paused", NOTE
    if crew.short_of:
        yield f"sow starts no jobs now: {crew.short_of}", BAD
    for host in crew.silent:
        since = local_time(parse_time(host.silent_since))
        yield f"{printable(node_of(host.host))} is not heard since {since}", BAD


def keys_text(row: Row | None, crew: Crew) -> Text:
    """Return the keys that fit a row, each with its word."""
    text = Text()
    words = [("enter", "follow"), *((command.key, command.name) for command in commands_for(row))]
    queue = queue_argv(crew)[1]
    for key, name in [*words, ("p", f"{queue} queue"), ("/", "filter"), ("?", "help")]:
        text.append(f"{key} ", BOLD)
        text.append(f"{name}  ")
    return text
