"""One attempt that runs: everything the monitor holds of it, its output first of all.

The output is read as it grows, a bounded while at a time: an agent may print faster than anybody
can read. What it tells of the attempt's use goes on record at each look that has seen more, and at
the end; written twice it is the same, for the output and the earlier runs say all of it. Owns
nothing on disk; what must survive the worker is in the records and in the attempt's folder.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from sow.agent_clis.description import Metering
from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.retry import doubled
from sow.attempts.run_usage import usage_of
from sow.config.prices import read_prices
from sow.errors import StateError
from sow.evidence import KEY, is_of
from sow.executors.base import Ending, EventKind, Executor, Observation, Verdict
from sow.executors.lines import WholeLines
from sow.executors.metering import Meter
from sow.files import NotAFile, open_regular, read_regular, read_tail
from sow.jobs import jobs, leases, spending
from sow.jobs.database import Database
from sow.paths import AttemptPaths
from sow.schema.amounts import Amounts
from sow.schema.cause_table import WITHOUT_AGENT
from sow.schema.causes import Cause
from sow.schema.job import Attempt, Job, Lease
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.schema.usage import NOTHING, RunUsage
from worker.context import WorkerContext, tell
from worker.gathering import Gathering

CHUNK_BYTES = 1 << 16
"""How much is read between two looks at the clock: some milliseconds of the costliest lines."""
LONGEST_BACKLOG_BYTES = 4 << 30
"""What an attempt that has ended left unread beyond this is skipped: its last lines tell its end,
and a file may claim to hold a million times as much."""


class OutputReader:
    """Reads the lines that a file has gained since the last look."""

    def __init__(
        self,
        path: Path,
        executor: Executor | None,
        session_id: str | None = None,
        is_others: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`executor` reads the lines; without one they tell nothing.

        `session_id` is the session that its CLI was asked for; `is_others` says of one that it
        tells of whether it is another task's, which is never taken for its own.
        """
        self.path = path
        self._is_others = is_others
        self._own: str | None = None
        """The session of its own that it has told of."""
        self.executor = executor
        self._asked_for = None
        if executor is not None and session_id is not None:
            keeps_ids = AGENT_CLIS[executor.config.type].keeps_ids
            self._asked_for = session_id if keeps_ids else None
        self.seen = Observation()
        self.steps = 0
        """How often it has told something of the work, which a failed request is not."""
        self.open_tools = 0
        """How many tools were called and have not answered, of a CLI that tells answers."""
        self.offset = 0
        self.is_behind = False
        """Whether the last look ended before what there is to read did."""
        self._lines = WholeLines()
        self._end: int | None = None

    def read_for(self, seconds: float) -> None:
        """Take in the lines that are complete by now, for `seconds` and the rest of a chunk."""
        deadline = time.monotonic() + seconds
        self.is_behind = False
        if not self._step():
            return
        try:
            descriptor = open_regular(self.path)
        except (OSError, StateError):  # not there yet, or no regular file: there is nothing to read
            return
        try:
            while chunk := os.pread(descriptor, self._step(), self.offset):
                self.offset += len(chunk)
                self._fold(self._lines.feed(chunk))
                if time.monotonic() >= deadline:
                    self.is_behind = self._step() > 0 and (
                        self.offset < os.fstat(descriptor).st_size
                    )
                    return
        finally:
            os.close(descriptor)

    def read_new(self, *, last: bool = False) -> None:
        """Take in all the lines that are complete by now (`last`: the unfinished one as well)."""
        self.read_for(math.inf)
        if last:
            self._fold(self._lines.take_rest())

    def ends_here(self) -> None:
        """Read no further than the file reaches now: what writes on is not the attempt."""
        if self._end is not None:
            return
        self._end = self.offset
        with suppress(OSError):
            self._end = max(self.offset, self.path.stat().st_size)
        if self._end - self.offset > LONGEST_BACKLOG_BYTES:
            self._lines.skip_line()
            self.offset = self._end - LONGEST_BACKLOG_BYTES

    def _step(self) -> int:
        """Return how much to read next, in bytes."""
        if self._end is None:
            return CHUNK_BYTES
        return min(CHUNK_BYTES, max(0, self._end - self.offset))

    def _fold(self, lines: bytes) -> None:
        if self.executor is None:
            return
        for event in self.executor.skim(lines):
            self.seen = self.seen.after(event)
            if self._asked_for is None and self.seen.session_id != self._own:
                self._own = self._own_of(self.seen.session_id)
                self.seen = replace(self.seen, session_id=self._own)
            if event.kind in STEPS:
                self.steps += 1
                # A resume may begin with the answer of a tool that a killed run has called.
                self.open_tools = max(0, self.open_tools + OPENS.get(event.kind, 0))
        if self._asked_for is not None:
            self.seen = self.seen.asked_for(self._asked_for)

    def _own_of(self, session_id: str | None) -> str | None:
        """Return a session that was told of, or the one before where it is another task's."""
        is_others = session_id is not None and self._is_others(session_id)
        return self._own if is_others else session_id


def output_reader(
    context: WorkerContext,
    job: Job,
    path: Path,
    executor: Executor | None,
    session_id: str | None,
) -> OutputReader:
    """Return what reads the output of a job's attempt; `session_id` was asked for."""

    def is_others(session_id: str) -> bool:
        is_so = jobs.is_session_of_another(context.database, session_id, job)
        if is_so:
            tell(job, f"its CLI reported session {session_id} of another task; sow ignores it")
        return is_so

    return OutputReader(path, executor, session_id, is_others)


STEPS = frozenset(
    {
        *(EventKind.SESSION, EventKind.TEXT, EventKind.RESULT),
        *(EventKind.TOOL_USE, EventKind.TOOL_RESULT),
    }
)
OPENS = {EventKind.TOOL_USE: 1, EventKind.TOOL_RESULT: -1}

T = TypeVar("T")

RECORD_LIMIT = 1 << 16
"""The largest record of a supervisor that is read, in bytes; it writes some 200."""
FIRST_POSTPONEMENT_SECONDS = 0.25
NOTHING_USED = RunUsage(tokens=NOTHING, usd=0.0)
BEGINNING_BYTES = 16 << 20
"""How much of a transcript is looked at."""


Number = Annotated[int, Meta(ge=-(2**62), le=2**62)]
"""A whole number that the records can hold."""


class Exit(msgspec.Struct, frozen=True):
    """What the supervisor wrote in `exit.json`."""

    attempt: str = ""
    code: Number | None = None
    signal: Number | None = None
    cpu_seconds: float | None = None
    max_rss_kb: Number | None = None
    ended_at: float | None = None
    limit: str = ""
    limit_seen: float = 0.0


def read_record(path: Path, type: type[T], *, limit: int = RECORD_LIMIT) -> T | None:
    """Return what a supervisor or a step wrote in a file; None where there is anything else."""
    try:
        return msgspec.json.decode(read_regular(path, limit), type=type)
    except (FileNotFoundError, NotAFile, ValueError):  # msgspec's own errors are ValueErrors
        return None


@dataclass(frozen=True)
class Signs:
    """What an agent has done so far, as far as it can be seen from outside."""

    taken_at: float
    """On the monotonic clock."""
    output_bytes: int
    stderr_bytes: int
    transcript_bytes: int
    cpu_seconds: float | None = None
    """Of all that runs in its tree now; None where nobody has asked."""

    @property
    def written(self) -> tuple[int, int, int]:
        """What has been written so far, everywhere."""
        return self.output_bytes, self.stderr_bytes, self.transcript_bytes


@dataclass
class Running:
    """An attempt under watch."""

    lease: Lease
    job: Job
    attempt: Attempt
    task: Task | None
    """The task as it stood when the attempt was started or adopted."""
    paths: AttemptPaths
    executor: Executor | None
    """What drives its CLI; None of a program of ours."""
    output: OutputReader
    pidfd: int | None = None
    asked_to_end: bool = False
    pressed_since: float | None = None
    """When the first signal went to what a dead supervisor left, on the monotonic clock."""
    pressed_with: int | None = None
    left_behind: dict[int, str] = field(default_factory=dict)
    """The pids of what a dead supervisor left, as last seen, with their starts."""
    continued_at: list[float] = field(default_factory=list)
    """When its supervisor was found stopped lately, on the monotonic clock."""
    over_since: float | None = None
    """When its supervisor was seen to have left a record of the end; on the monotonic clock."""
    is_over: bool = False
    """Whether the last look has proved its end."""
    bugs: int = 0
    """How often a fault of ours has kept it from being settled since then."""
    session_at: float = 0.0
    """When to try to put its session on record, on the monotonic clock."""
    failures: int = 0
    """How often in a row it could not be looked at or settled."""
    not_before: float = 0.0
    """When to try again, on the monotonic clock."""
    ended_for: Verdict | None = None
    """Why the worker itself had it ended, where it did."""
    gathering: Gathering | None = None
    """What its agent has left in its task's clone, once that is being gathered."""
    verdict: Verdict | None = None
    """Why it ended, once that is on record: what follows may have to be tried again."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The agent's environment; never written anywhere."""
    ordered_at: float | None = None
    """A moment before its supervisor had its orders, on the monotonic clock; None of one that
    another worker may have started."""
    begun_at: float = field(default_factory=time.monotonic)
    alive_at: float = field(default_factory=time.monotonic)
    """When the last sign of life was seen; both on the monotonic clock."""
    concluded_at: float | None = None
    """When its result was seen as the last word, on the monotonic clock; None before that."""
    look_at: float = 0.0
    """When to look for signs of life again."""
    signs: Signs | None = None
    busy_seconds: float = 0.0
    """CPU time above idling since the last sign of life."""
    quiet_seconds: float = 0.0
    """For how long there was no sign of life, at the last look."""
    is_quiet: bool | None = None
    """Whether that was told; None before the first look."""

    share: Amounts | None = None
    """What it has reserved for itself, once that was looked up."""
    warns_at: float = 0.0
    """When to look again whether little is left of what limits it, on the monotonic clock."""
    steps: int = 0
    """How many steps of the work its output had told at the last look."""
    step_at: float = field(default_factory=time.monotonic)
    """When it was seen to tell the last of them, on the monotonic clock."""
    noted: Meter | None = None
    """What its output had told of its use when that was last put on record."""
    guest: WorkerContext | None = None
    """The surroundings of a job that is at home in another checkout; None for our own."""
    excuse: str = ""
    """Why its death, if it has died, was not its job's fault, as far as its adoption tells."""

    @property
    def session_id(self) -> str | None:
        """The session that it runs in, by its output where that tells it."""
        return self.output.seen.session_id or self.attempt.session_id

    @property
    def awaits_model(self) -> bool:
        """Whether it waits for nothing but an answer of its model, as far as its output tells."""
        seen = self.output.seen
        is_busy = self.output.open_tools > 0 or self.output.is_behind
        return not (is_busy or seen.concluded or seen.background)

    @property
    def transcripts(self) -> Iterable[Path]:
        """The files in which its CLI keeps the session now."""
        if self.executor is None or not self.session_id:
            return ()
        return self.executor.transcripts(self.session_id, self.environ)

    @property
    def has_transcript(self) -> bool:
        """Whether its CLI keeps the session in a file that holds something of it."""
        for path in self.transcripts:
            with suppress(OSError):
                if path.is_file() and self.agents_executor.holds_conversation(_beginning(path)):
                    return True
        return False

    @property
    def agents_executor(self) -> Executor:
        """What drives the CLI of an agent's attempt. Other attempts are never asked."""
        if self.executor is None:
            raise AssertionError(f"attempt {self.attempt.id} is no agent's")
        return self.executor

    def owns(self, attempt_id: str) -> bool:
        """Whether a record that bears this id is its own; those of an older sow bear none."""
        return is_of({KEY: attempt_id}, self.attempt.id)

    def read_exit(self) -> Exit | None:
        """Return how the agent ended, or None when nobody was there to write it down."""
        record = read_record(self.paths.exit, Exit)
        return record if record is not None and self.owns(record.attempt) else None

    def ended_at(self, exit_facts: Exit | None, *, now: float) -> float:
        """Return when it has ended, being over: as its supervisor tells, else now.

        No earlier than it began and no later than now, whatever the record tells: the agent may
        have written one itself, and the clock may have been set meanwhile.
        """
        noted_at = exit_facts.ended_at if exit_facts is not None else None
        began_at = self.attempt.started_at or self.attempt.created_at
        return max(began_at, now if noted_at is None else min(noted_at, now))

    def ending(self, exit_facts: Exit | None) -> Ending | None:
        """Return an exit together with the last words of the process."""
        if exit_facts is None:
            return None
        return Ending(
            code=exit_facts.code,
            signal=exit_facts.signal,
            stderr_tail=read_tail(self.paths.stderr),
            output_tail=read_tail(self.paths.output),
            limit=exit_facts.limit,
            limit_seen=exit_facts.limit_seen,
        )

    def usage(self, database: Database, *, ended: bool) -> RunUsage:
        """Return what it has used, as far as its output has been read."""
        job, meter = self.job, self.output.seen.meter
        if not meter.is_told:  # neither earlier runs nor prices say anything of it
            return usage_of(meter, (), {}, ended=ended)
        return usage_of(
            meter,
            spending.totals_before(database, self.attempt, self.session_id),
            read_prices(Path(job.config_file)) if job.config_file else {},
            model=job.agents_executor.model or "",
            ended=ended,
        )

    def note_usage_so_far(self, database: Database) -> None:
        """Write what it has used, if its output has told more. Raises Fenced."""
        meter = self.output.seen.meter
        if self.executor is None or meter is self.noted or not meter.is_told:
            return
        with leases.under(database, self.lease):
            self._note_usage(database, self.usage(database, ended=False))
        self.noted = meter

    def note_last_usage(self, database: Database, cause: Cause | None, *, ended_at: float) -> None:
        """Write what it has used once it has ended; in the transaction that records its end.

        `cause` is None where why it ended is still to be judged: then this is written once more.
        """
        if not kind_of(self.job).is_agents:
            return
        is_empty = not self.output.seen.meter.is_told and self._no_agent_ran(cause)
        run = NOTHING_USED if is_empty else self.usage(database, ended=True)
        self._note_usage(database, run, ended_at=ended_at)

    def _no_agent_ran(self, cause: Cause | None) -> bool:
        """Whether it has made no request: its CLI says how it begins before its first one."""
        speaks_first = AGENT_CLIS[self.job.agents_executor.type].metering is Metering.AT_ONCE
        return cause in WITHOUT_AGENT or (speaks_first and not self.output.offset)

    def _note_usage(self, database: Database, run: RunUsage, **more: Any) -> None:
        totals = self.output.seen.meter.totals
        spending.note(
            database, self.job, self.attempt, run, totals, session_id=self.session_id, **more
        )

    @property
    def is_postponed(self) -> bool:
        """Whether its settling has failed so lately that it is left alone."""
        return time.monotonic() < self.not_before

    def postpone(self, longest: float) -> None:
        """Leave it alone for a while, longer each time, at most `longest` seconds."""
        self.failures += 1
        wait = doubled(FIRST_POSTPONEMENT_SECONDS, self.failures, longest=longest)
        self.not_before = time.monotonic() + wait


def _beginning(path: Path) -> bytes:
    """Return the first part of a file: it holds the prompt, which may be long, several times."""
    with path.open("rb") as file:
        return file.read(BEGINNING_BYTES)
