"""What a job's agent says and does, as it goes on: the events of its newest attempt.

Owns where in its output the pane stands. Of an output of any size only the end is read first,
then what is new in it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sow.clock import clock_time
from sow.errors import SowError
from sow.paths import Workspace
from sow.reports.agent_events import Event, Kind, OutputReader
from sow.schema.job import Job
from sow.terminal_text import printable
from sow.watching.contents import Look, Piece

LAST_EVENTS = 200
LATEST_BYTES, LATEST_EVENTS = 1 << 18, 50
"""Of what an agent has printed between two looks no more is read, and shown."""
LOOKS = {
    Kind.TEXT: Look.WORDS,
    Kind.TOOL: Look.TOOL,
    Kind.TOOL_RESULT: Look.PLAIN,
    Kind.ERROR: Look.BAD,
    Kind.RETRY: Look.BAD,
    Kind.RESULT: Look.HEADING,
    Kind.NOTE: Look.NOTE,
}
MARKS = {Kind.TOOL: "> ", Kind.TOOL_RESULT: "< ", Kind.RETRY: "! ", Kind.ERROR: "! "}


class Following:
    """Reads on in a job's output, from its end, attempt after attempt."""

    def __init__(self, workspace: Workspace, job: Job) -> None:
        self.job = job
        self._workspace = workspace
        self._attempt = 0
        self._readers: dict[Path, OutputReader] = {}

    def read(self, now: float) -> Sequence[Piece]:
        """Return what has come since the last time. Raises nothing."""
        try:
            return list(self._new(now))
        except SowError as error:
            return [Piece(Look.BAD, printable(error.message))]

    def _new(self, now: float) -> Iterator[Piece]:
        newest = self._newest_attempt()
        if newest > self._attempt:
            self._attempt, self._readers = newest, {}
            yield Piece(Look.HEADING, f"job {self.job.id}, attempt {newest}")
        for path in self._files():
            reader = self._readers.get(path)
            if reader is None:
                reader = self._readers[path] = OutputReader(path, self.job.executor)
                events = reader.read_end(LAST_EVENTS)
                if self.job.executor is None:
                    yield Piece(Look.HEADING, printable(path.stem))
            else:
                found = list(reader.read(latest=LATEST_BYTES))
                events = found[-LATEST_EVENTS:]
                if reader.passed_over or found != events:
                    yield Piece(Look.NOTE, "… more than anybody can read was passed over")
            for event in events:
                yield piece_of(event, now)

    def _newest_attempt(self) -> int:
        try:
            names = [path.name for path in self._workspace.job(self.job.id).iterdir()]
        except OSError:
            return 0
        return max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)

    def _files(self) -> Sequence[Path]:
        """Return what the attempt writes: its agent's output, or the logs of its commands."""
        if not self._attempt:
            return ()
        paths = self._workspace.attempt(self.job.id, self._attempt)
        if self.job.executor is not None:
            return (paths.output,)
        return sorted(paths.folder.glob(paths.check_log("*").name))


def piece_of(event: Event, now: float) -> Piece:
    """Return an event as the pane shows it: words whole, tools folded."""
    look = Look.BAD if event.failed else LOOKS[event.kind]
    if event.kind is Kind.TEXT:
        return Piece(look, event.body)
    at = f"{clock_time(event.at, now)}  " if event.at is not None else ""
    return Piece(look, f"{at}{MARKS.get(event.kind, '')}{event.title}", event.body)
