"""The entries of a log, found in its lines.

Owns what counts as one: an entry of today's form, known by the id in its first
line; and whatever an older sow or a person wrote, frontmatter and text. Where
two branches were merged by `merge=union`, two frontmatters may stand one upon
the other, above a text that both entries have: each is read with that text.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sow.clock import format_time
from sow.state.log_writing import BEGINNING, ENDING, FENCE, SEAM, LogEntry, id_in
from sow.yamlfile import YamlProblem, read_yaml

if TYPE_CHECKING:
    from sow.schema.log_entry import FreeFrontmatter

KEYS = frozenset(
    ("timestamp", "agent", "action", "result", "files", "id", "role", "event", "job", "attempt")
)
"""Those of `LogFrontmatter`, which is imported for the entries that are read."""
EVENT_KEY = "event: "


class Reading(NamedTuple):
    """What was made of a piece of a log that has the form of an entry."""

    first: int
    """The number of its first line, from 0."""
    entry: LogEntry | None
    """None where it cannot be read."""
    line: int = 0
    """Where that is seen, from 0."""
    fault: str = ""


class Head(NamedTuple):
    """The frontmatter of an entry: the number of its first line and of the one after it."""

    first: int
    after: int
    id: str
    keys: Sequence[str]
    keys_from: int
    """The number of the first line of `keys`."""


def entries_in(lines: Sequence[str], path: Path, *, with_events: bool = True) -> list[LogEntry]:
    """Return the whole entries in some lines of a log, in their order, each id once.

    Of an entry that stands there twice the later one counts. What is no entry is passed over, and
    without `with_events` what tells of a change.
    """
    found: dict[object, Reading] = {}
    for reading in readings_in(lines, path, with_events=with_events):
        if reading.entry is not None:
            found[reading.entry.id or (reading.first, reading.entry)] = reading
    in_order = sorted(found.values(), key=lambda reading: reading.first)
    return [reading.entry for reading in in_order if reading.entry is not None]


def readings_in(lines: Sequence[str], path: Path, *, with_events: bool = True) -> Iterator[Reading]:
    """Yield what is read of a log's lines, and what has an entry's form and cannot be read.

    Without `with_events` no entry is that tells of a change: those of sow are most of a log.
    """
    heads = heads_in(lines)
    ends = endings_in(lines)
    form = {number for head in heads for number in range(head.first, head.after)}
    rest = set(range(len(lines))) - form
    for head in heads:
        until = range(head.after, ends.get(head.id, head.after - 1) + 1)
        rest.difference_update(until)
        if not with_events and _tells_of_change(head.keys):
            continue
        text = [lines[number] for number in until if number not in form]
        yield _with_id(head, [line for line in text if not id_in(line, ENDING)], path)
    for run in _runs(sorted(rest)):
        for reading in _without_ids(lines[run.start : run.stop], path):
            yield reading._replace(first=run.start + reading.first, line=run.start + reading.line)


def _tells_of_change(keys: Sequence[str]) -> bool:
    """Whether an entry has an event, as the lines of its keys say without YAML.

    Where the word is none of a text (`null`, say), there is no entry that could be read.
    """
    events = (line.removeprefix(EVENT_KEY) for line in keys if line.startswith(EVENT_KEY))
    return any(event[:1].isalpha() for event in events)


def endings_in(lines: Sequence[str]) -> dict[str, int]:
    """Return by an entry's id the number of the line at which its text ends."""
    return {end: at for at, line in enumerate(lines) if (end := id_in(line, ENDING))}


def heads_in(lines: Sequence[str]) -> list[Head]:
    """Return the frontmatters that begin with an id, with the fences that belong to them.

    One that was torn has no seam after its last keys; it is none.
    """
    heads = []
    for number, line in enumerate(lines):
        if (found := id_in(line, BEGINNING)) and (last := _last_seam(lines, number, found)):
            is_opened = number > 0 and lines[number - 1].rstrip() == FENCE
            is_closed = last + 1 < len(lines) and lines[last + 1].rstrip() == FENCE
            keys = lines[number + 1 : last]
            first, after = number - is_opened, last + 1 + is_closed
            heads.append(Head(first, after, found, keys, number + 1))
    return heads


def _last_seam(lines: Sequence[str], first: int, entry_id: str) -> int:
    """Return the number of an entry's last seam; 0 where it has none."""
    last = 0
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if id_in(line, SEAM) == entry_id:
            last = number
        elif id_in(line, BEGINNING) or line.partition(":")[0] not in KEYS:
            break
    return last


def _runs(numbers: Iterable[int]) -> Iterator[range]:
    """Yield the runs of numbers that follow each other."""
    run = range(0)
    for number in numbers:
        if number != run.stop or not run:
            if run:
                yield run
            run = range(number, number)
        run = range(run.start, number + 1)
    if run:
        yield run


def _without_ids(lines: Sequence[str], path: Path) -> Iterator[Reading]:
    """Yield the entries of an older sow, or of a person; and those that were meant to be some."""
    fences = [index for index, line in enumerate(lines) if line.rstrip() == FENCE]
    fences.append(len(lines))
    position = 0
    while position + 2 < len(fences):
        opening, closing, following = fences[position : position + 3]
        keys, body = lines[opening + 1 : closing], lines[closing + 1 : following]
        reading = _free(opening, keys, body, path)
        is_torn = bool(body) and body[0].startswith("timestamp:")
        if reading.entry is not None and is_torn:
            reading = Reading(opening, None, closing, "an entry is incomplete")
        if reading.entry is not None or (keys and _is_meant(keys)):
            yield reading
        position += 1 if reading.entry is None else 2
    yield from _torn_at_the_end(lines, fences, position)


def _torn_at_the_end(
    lines: Sequence[str], fences: Sequence[int], position: int
) -> Iterator[Reading]:
    """Yield an entry that was begun below the last line of dashes and never closed."""
    for opening in fences[position:-1]:
        following = next(fence for fence in fences if fence > opening)
        keys = lines[opening + 1 : following]
        if keys and following == len(lines) and _is_meant(keys):
            yield Reading(opening, None, opening, "an entry is incomplete")


def _is_meant(keys: Sequence[str]) -> bool:
    """Whether somebody has meant some lines for the beginning of an entry."""
    return keys[0].startswith(("timestamp:", "id:"))


def _free(opening: int, keys: Sequence[str], body: Sequence[str], path: Path) -> Reading:
    """Read an entry without an id, whatever other keys a person has given it."""
    from sow.schema.log_entry import FreeFrontmatter  # see KEYS

    try:
        head = read_yaml("\n".join(keys).encode(), FreeFrontmatter, path=path)
    except YamlProblem as problem:
        return _refused(opening, opening + 1, problem)
    return Reading(opening, _entry(head, body))


def _with_id(head: Head, body: Sequence[str], path: Path) -> Reading:
    from sow.schema.log_entry import LogFrontmatter  # see KEYS

    try:
        keys = read_yaml("\n".join(head.keys).encode(), LogFrontmatter, path=path)
    except YamlProblem as problem:
        return _refused(head.first, head.keys_from, problem)
    entry = _entry(keys, body)._replace(
        id=head.id, role=keys.role, job=keys.job, attempt=keys.attempt, event=keys.event
    )
    return Reading(head.first, entry)


def _refused(first: int, keys_from: int, problem: YamlProblem) -> Reading:
    fault = f"{problem.key}: {problem.reason}" if problem.key else problem.reason
    return Reading(first, None, keys_from + (problem.line or 1) - 1, fault)


def _entry(head: "FreeFrontmatter", body: Sequence[str]) -> LogEntry:
    return LogEntry(
        timestamp=format_time(head.timestamp.timestamp()),
        agent=head.agent,
        action=head.action,
        result=head.result,
        files=tuple(head.files),
        text="\n".join(body).strip("\n"),
    )
