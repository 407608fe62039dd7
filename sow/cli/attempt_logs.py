"""What the agents of one job have said and done, printed from where it stopped.

Owns the forms: lines for people, events for programs, bytes as they are. Which jobs
and how long is `job_logs`'s; what an event means is `sow.reports.agent_events`.
"""

import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from sow.cli import late_click as click
from sow.cli.output import echo_json, echo_json_lines, shown_state
from sow.clock import clock_time, format_time, utc_now
from sow.config.clones import SETUP
from sow.executors import base
from sow.executors.base import EventKind
from sow.files import open_regular, unreadable
from sow.paths import AttemptPaths
from sow.reports.agent_events import Event, Kind, OutputReader
from sow.schema.amounts import dollars
from sow.schema.job import Job
from sow.terminal_text import without_steering

CHUNK_BYTES = 1 << 18
"""How much is read, and held, at once."""
KEPT = "\n\t"
MARKS = {
    Kind.TEXT: "  ",
    Kind.TOOL: "> ",
    Kind.TOOL_RESULT: "< ",
    Kind.ERROR: "! ",
    Kind.RETRY: "! ",
    Kind.RESULT: "= ",
    Kind.NOTE: "- ",
}
COLOURS = {Kind.TOOL: "running", Kind.RETRY: "warning", Kind.RESULT: "completed"}
"""As which state each kind is coloured, where it is."""
Paint = Callable[[str, str], str]
"""Returns a text in the colour of a state, given the state's word."""
MANY = 20
"""Of so many first events one tells its time, where an output tells times at all."""


def chunks_of(path: Path, position: int) -> Iterator[bytes]:
    """Yield what a file holds from `position` on; nothing where there is none. Raises NotAFile."""
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        while chunk := os.pread(descriptor, CHUNK_BYTES, position):
            position += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class LogOptions:
    """What is printed of the agents' output, and in which form."""

    follow: bool
    raw: bool
    errors: bool
    as_json: bool
    attempt: int | None
    since: float | None = None

    @property
    def is_bytes(self) -> bool:
        """Whether it is printed as it is."""
        return self.raw or self.errors


class StepReader:
    """Prints the logs of a job's attempts from where it stopped."""

    def __init__(self, job: Job, options: LogOptions, prefix: str) -> None:
        """`prefix` stands before each line; what is no line yet is printed by `print_rest`."""
        self.job = job
        self.options = options
        self.prefix = prefix
        self._positions: dict[Path, int] = {}
        self._decoders = {}  # type: ignore[var-annotated] # codecs' decoders have no name
        self._begun: dict[Path, tuple[int, str, str]] = {}

    def print_new(self, number: int, paths: AttemptPaths, *, heading: bool) -> None:
        """Print what an attempt's logs have gained."""
        for name, path in self._files(paths):
            self.print_file(number, name, path, heading=heading)
        sys.stdout.flush()

    def print_file(self, number: int, name: str, path: Path, *, heading: bool) -> None:
        """Print what one log of an attempt has gained.

        Nothing of a log that was last written before `since`: its lines have no times.
        """
        if self.options.since is not None and _is_older(path, self.options.since):
            return
        for chunk in chunks_of(path, self._positions.get(path, 0)):
            if (
                path not in self._positions
                and name
                and not (self.options.as_json or self.options.is_bytes)
            ):
                attempt = f" (attempt {number})" if heading and number > 1 else ""
                click.echo(f"{self.prefix}==> {name}{attempt} <==")
            self._positions[path] = self._positions.get(path, 0) + len(chunk)
            self._print(number, name, path, chunk)

    def _files(self, paths: AttemptPaths) -> Iterator[tuple[str, Path]]:
        if self.options.errors:  # of the program itself, not of its commands
            yield "", paths.stderr
        elif self.job.check_names:
            yield from ((name, paths.check_log(name)) for name in self.job.check_names)
        else:
            logs = paths.folder.glob(paths.check_log("*").name)
            yield from ((_name_of(path), path) for path in sorted(logs, key=_turn))

    def _print(self, number: int, name: str, path: Path, chunk: bytes) -> None:
        if self.options.is_bytes:
            sys.stdout.buffer.write(chunk)
            return
        if path not in self._decoders:
            self._decoders[path] = getincrementaldecoder("utf-8")("replace")
        text = _printable(self._decoders[path].decode(chunk))
        if not (self.options.as_json or self.prefix):
            click.echo(text, nl=False)
            return
        *lines, rest = (self._begun.get(path, (0, "", ""))[2] + text).split("\n")
        self._begun[path] = (number, name, rest)
        for line in lines:
            self._print_line(number, name, line)

    def print_rest(self) -> None:
        """Print the lines that nobody has ended: no more is to come."""
        for number, name, rest in self._begun.values():
            if rest:
                self._print_line(number, name, rest)
        self._begun.clear()

    def _print_line(self, number: int, name: str, line: str) -> None:
        if self.options.as_json:
            facts = {"job": self.job.id, "attempt": number}
            echo_json({**facts, "kind": "text", "text": line, "tool": name})
        else:
            click.echo(f"{self.prefix}{line}")


def _is_older(path: Path, since: float) -> bool:
    try:
        return path.stat().st_mtime < since
    except OSError:
        return False


def _name_of(log: Path) -> str:
    return log.stem.removeprefix("check-")


def _turn(log: Path) -> tuple[bool, str]:
    """Return what sorts the logs of a merge: its checkout is made ready before the check."""
    return _name_of(log) != SETUP, log.name


def _printable(text: str) -> str:
    whole = without_steering(text)
    return "".join(letter for letter in whole if letter.isprintable() or letter in KEPT)


def lines_of(event: Event, paint: Paint = lambda _, text: text) -> Iterator[str]:
    """Yield an event's lines; of what a tool has answered well the first, and how many more."""
    mark = MARKS[event.kind]
    word = "error" if event.failed and event.kind is not Kind.RETRY else COLOURS.get(event.kind, "")
    for number, line in enumerate(_texts(event)):
        shown = f"{' ' * len(mark) if number else mark}{line}".rstrip()
        yield paint(word, shown) if word and shown else shown


def _texts(event: Event) -> list[str]:
    lines = event.body.split("\n") if event.body else []
    if event.kind is Kind.TOOL_RESULT and not event.failed and len(lines) > 1:
        more = len(lines) - 1
        return [f"{event.title} (+{more} line{'s' if more > 1 else ''})"]
    if event.kind is Kind.RETRY and lines:
        return [f"{event.title}: {lines[0]}", *lines[1:]]
    if event.kind is Kind.RESULT and lines:
        return [f"{event.title.partition(': ')[0]}: {lines[0]}", *lines[1:]]
    return lines or [event.title]


class AttemptLogs:
    """Prints the files of a job's attempts from where it stopped."""

    def __init__(self, job: Job, options: LogOptions, prefix: str = "") -> None:
        """`prefix` stands before each line for people: whose it is, where several are shown."""
        self.job = job
        self.options = options
        self.prefix = prefix
        self.steps = StepReader(job, options, prefix)
        self._begun: set[int] = set()
        self._readers: dict[int, OutputReader] = {}
        self._timed: set[int] = set()

    def print_new(self, number: int, paths: AttemptPaths, *, heading: bool, live: bool) -> None:
        """Print what an attempt's files have gained. `live`: it came just now."""
        if self.job.executor is None:
            self.steps.print_new(number, paths, heading=heading)
            return
        if not self.options.is_bytes:
            self.steps.print_file(number, SETUP, paths.setup_log, heading=heading)
        if heading and not self.options.as_json and number not in self._begun:
            click.echo(f"{self.prefix}==> attempt {number} <==")
        self._begun.add(number)
        if self.options.is_bytes:
            path = paths.stderr if self.options.errors else paths.output
            self.steps.print_file(number, "", path, heading=heading)
        else:
            self._print_events(number, paths, live=live)
        sys.stdout.flush()

    def name_host(self, number: int, host: str) -> None:
        """Say once, on standard error, that an attempt's files are on another host."""
        if number not in self._begun:
            self._begun.add(number)
            words = f"attempt {number} of job {self.job.id} is on {host}, and so is its output"
            click.echo(f"Note: {words}", err=True)

    def print_rest(self) -> None:
        """Print what a line tells that nobody has ended: no more is to come."""
        self.steps.print_rest()
        for number, reader in self._readers.items():
            if self.options.as_json:
                self._print_records(number, reader.found_in_rest())
            else:
                self._print_lines(number, reader.read_rest(), live=False)
        sys.stdout.flush()

    def _print_events(self, number: int, paths: AttemptPaths, *, live: bool) -> None:
        since = None if number in self._readers else self.options.since
        if number not in self._readers:
            self._readers[number] = OutputReader(paths.output, self.job.agents_executor)
        reader = self._readers[number]
        if self.options.as_json:
            self._print_records(number, reader.found(since))
        else:
            self._print_lines(number, reader.read(since=since), live=live)

    def _print_records(self, number: int, events: Iterator[base.Event]) -> None:
        wanted = (event for event in events if event.kind is not EventKind.USAGE)
        echo_json_lines(event_record(self.job, number, event) for event in wanted)

    def _print_lines(self, number: int, events: Iterator[Event], *, live: bool) -> None:
        first = list(islice(events, MANY))
        if live or any(event.at is not None for event in first):
            self._timed.add(number)
        for event in chain(first, events):
            clock = self._clock(number, event, live=live)
            for line in lines_of(event, shown_state):
                click.echo(f"{self.prefix}{clock}{line}".rstrip())
                clock = " " * len(clock)

    def _clock(self, number: int, event: Event, *, live: bool) -> str:
        """Return when an event was, in the width of all times; nothing where none is told."""
        if number not in self._timed:
            return ""
        now = utc_now()
        at = now if event.at is None and live else event.at
        return f"{clock_time(at, now) if at is not None else '':8}  "


def event_record(job: Job, attempt: int, event: base.Event) -> dict[str, Any]:
    """Return an event as one object; what its kind does not tell is left out."""
    record = {
        "job": job.id,
        "attempt": attempt,
        "kind": event.kind.value,
        "at": format_time(event.at) if event.at is not None else None,
        "text": _words_for_programs(event),
        "session_id": event.session_id,
        "tool": event.tool,
        "is_error": event.is_error or None,
        "http_status": event.status,
        "resets_at": format_time(event.resets_at) if event.resets_at else None,
        "cost_usd": dollars(event.cost_usd),
        "count": event.count if event.kind is EventKind.BACKGROUND else None,
    }
    return {name: value for name, value in record.items() if value is not None}


def _words_for_programs(event: base.Event) -> str | None:
    """Return an event's words; what a tool has answered well is left to `--raw`: it is long."""
    answered_well = event.kind is EventKind.TOOL_RESULT and not event.is_error
    return None if answered_well else event.text or None
