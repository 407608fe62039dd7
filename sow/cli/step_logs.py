"""What a job without an agent has printed: the logs of its commands, for `sow job logs`."""

import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path

import click

from sow.cli.chunks import chunks_of
from sow.cli.output import echo_json
from sow.config.merge_check import SETUP
from sow.paths import AttemptPaths
from sow.schema.job import Job
from sow.terminal_text import without_steering

KEPT = "\n\t"


class StepReader:
    """Prints the logs of a job's attempts from where it stopped."""

    def __init__(
        self, job: Job, *, raw: bool, errors: bool, as_json: bool, prefix: str = ""
    ) -> None:
        """`errors`: what the program itself has said on standard error, not its commands.

        `prefix` stands before each line; what is no line yet is printed by `print_rest`.
        """
        self.job = job
        self.prefix = prefix
        self.raw = raw
        self.errors = errors
        self.as_json = as_json
        self._positions: dict[Path, int] = {}
        self._decoders = {}  # type: ignore[var-annotated] # codecs' decoders have no name
        self._begun: dict[Path, tuple[int, str, str]] = {}

    def print_new(
        self, number: int, paths: AttemptPaths, *, heading: bool, since: float | None = None
    ) -> None:
        """Print what an attempt's logs have gained."""
        for name, path in self._files(paths):
            self.print_file(number, name, path, heading=heading, since=since)
        sys.stdout.flush()

    def print_file(
        self, number: int, name: str, path: Path, *, heading: bool, since: float | None = None
    ) -> None:
        """Print what one log of an attempt has gained.

        `since`: nothing of a log that was last written before; its lines have no times.
        """
        if since is not None and _is_older(path, since):
            return
        for chunk in chunks_of(path, self._positions.get(path, 0)):
            if path not in self._positions and name and not (self.as_json or self.raw):
                attempt = f" (attempt {number})" if heading and number > 1 else ""
                click.echo(f"{self.prefix}==> {name}{attempt} <==")
            self._positions[path] = self._positions.get(path, 0) + len(chunk)
            self._print(number, name, path, chunk)

    def _files(self, paths: AttemptPaths) -> Iterator[tuple[str, Path]]:
        if self.errors:
            yield "", paths.stderr
        elif self.job.check_names:
            yield from ((name, paths.check_log(name)) for name in self.job.check_names)
        else:
            logs = paths.folder.glob(paths.check_log("*").name)
            yield from ((_name_of(path), path) for path in sorted(logs, key=_turn))

    def _print(self, number: int, name: str, path: Path, chunk: bytes) -> None:
        if self.raw:
            sys.stdout.buffer.write(chunk)
            return
        if path not in self._decoders:
            self._decoders[path] = getincrementaldecoder("utf-8")("replace")
        text = _printable(self._decoders[path].decode(chunk))
        if not (self.as_json or self.prefix):
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
        if self.as_json:
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
