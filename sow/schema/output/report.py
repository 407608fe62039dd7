"""A report with `--json`: what ran when, what waited for what, and what came of it.

The page and the text for a terminal are made of the same object. Moments within it are seconds
after its `began_at`, so that lengths need no parsing of times.
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.costs import CostSum
from sow.schema.output.fields import about

Moment = Annotated[float, about("seconds after the report's `began_at`")]


class SpanKind(StrEnum):
    """What a task did, or waited for, during a part of its time."""

    WORK = "work"
    """An agent works on it."""
    REVIEW = "review"
    """An agent judges it."""
    STEP = "step"
    """sow works on it: a check, an update or a merge."""
    OPEN = "open"
    """A person has its session open on a terminal."""
    DEPENDENCY = "dependency"
    """It waits for other tasks."""
    SLOT = "slot"
    """It waits for a free slot, or for its turn in a batch."""
    WORKER = "worker"
    """It waits, and no worker runs anything."""
    LIMIT = "limit"
    """It waits for a usage limit or a budget."""
    RETRY = "retry"
    """It waits until it is tried again after a fault."""
    PERSON = "person"
    """It waits for a person: an answer, a verdict, a word."""
    PLACING = "placing"
    """sow places a job, starts or ends an agent."""


WORKING: frozenset[str] = frozenset({SpanKind.WORK, SpanKind.REVIEW, SpanKind.STEP, SpanKind.OPEN})
"""In the others nobody works on the task."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one task's time."""

    begin: Moment
    end: Moment
    kind: Annotated[
        str,
        about(
            "work, review, step, open, dependency, slot, worker, limit, retry, person or"
            " placing (docs/report.md)"
        ),
    ]
    why: Annotated[str, about("the same in words")]
    job: Annotated[int | None, about("the job's number; null between two jobs")] = None
    attempt: Annotated[
        int | None, about("the attempt's number within its job; null if none runs")
    ] = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, as the timeline shows it."""

    task: fields.JobsTask
    job: fields.JobKey
    attempt: Annotated[int, about("the attempt's number within its job")]
    verb: Annotated[str, about("what the attempt did: spawn, resume, check, …")]
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    worker: fields.WorkerKey
    host: Annotated[
        str | None, about("the host that ran it, if hosts share the queue; null without hosts")
    ]
    lane: Annotated[
        int, about("its row in the timeline, from 0; attempts in one row do not overlap")
    ]
    begin: Moment
    end: Moment
    outcome: Annotated[
        str, about("running, well (reported or passed), ended (on request), or failed")
    ]
    cause: fields.Cause
    reason: fields.Reason
    cost_usd: fields.CostUsd


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the timeline: what one slot of a worker, or of several in turn, did."""

    workers: Annotated[tuple[str, ...], about("the workers, in the order of their runs")]
    busy_seconds: Annotated[float, about("how long attempts ran in this row")]


class LogNote(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a task's log."""

    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    agent: Annotated[str, about("who wrote it: a role, person, or sow")]
    action: Annotated[str, about("what was done")]
    result: Annotated[str, about("its result, in a word; may be empty")]
    text: Annotated[str, about("its text in Markdown, shortened if it is long")]


class TaskStory(msgspec.Struct, frozen=True, kw_only=True):
    """One task: its time, cost, problems, changes and log."""

    task: Annotated[str, about("the task's id; empty for the project as a whole")]
    name: Annotated[str, about("its name; empty if its file cannot be read")]
    phase: Annotated[str, about("its phase")]
    status: Annotated[str | None, about("its present status; null if its file cannot be read")]
    agent: fields.JobsAgent
    iteration: Annotated[int | None, about("its iteration; null if its file cannot be read")]
    depends_on: Annotated[tuple[str, ...], about("the tasks that it depends on")]
    waiting_for: Annotated[str, about("what it waits for now, in words; empty if for nothing")]
    job_count: Annotated[int, about("how many jobs it had")]
    attempt_count: Annotated[int, about("how many attempts these jobs had")]
    hosts: Annotated[
        tuple[str, ...],
        about("the hosts that ran them, in that order; empty unless hosts share the queue"),
    ]
    retries_by_cause: Annotated[
        dict[str, int], about("how often its jobs were tried again, by cause")
    ]
    begin: Moment
    end: Moment
    spans: Annotated[
        tuple[Span, ...],
        about("the parts of its time from `begin` to `end`, without a gap or overlap"),
    ]
    seconds_in: Annotated[dict[str, float], about("the length of its spans by kind")]
    used: Annotated[CostSum | None, about("what its agents used; null if nothing")]
    denied_tools: Annotated[tuple[str, ...], about("the tools that were denied to its agents")]
    faults: Annotated[tuple[str, ...], about("why its attempts failed, one sentence each")]
    diff_stat: Annotated[
        str | None, about("its changes, one line per file; null if it has no clone or no changes")
    ]
    log: Annotated[tuple[LogNote, ...], about("the last entries of its log")]
    log_left_out: Annotated[int, about("how many earlier entries were left out")]


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the critical path. If it had been shorter, the project would have ended earlier."""

    task: Annotated[str, about("the task's id; empty for the project as a whole")]
    begin: Moment
    end: Moment
    kind: Annotated[str, about("one of the kinds of a span")]
    why: Annotated[str, about("the same in words")]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of the report."""

    task_count: Annotated[int, about("how many tasks there are, without the project as a whole")]
    by_status: Annotated[dict[str, int], about("how many tasks have each status")]
    job_count: Annotated[int, about("how many jobs the report has")]
    attempt_count: Annotated[int, about("how many attempts the report has")]
    failed_attempts: Annotated[int, about("how many of them failed")]
    retries_by_cause: Annotated[dict[str, int], about("how often a job was tried again, by cause")]
    attempts_by_host: Annotated[
        dict[str, int],
        about("how many attempts ran on each host; empty unless hosts share the queue"),
    ]
    lane_count: Annotated[int, about("the largest number of attempts that ran at once")]
    seconds: Annotated[float, about("the time from the first moment to the last")]
    working_seconds: Annotated[float, about("how long attempts ran, added up")]
    waited_seconds: Annotated[dict[str, float], about("how long tasks waited, added up, by kind")]
    path_seconds: Annotated[dict[str, float], about("the length of the critical path by kind")]
    unlimited_seconds: Annotated[
        float,
        about(
            "the length of the longest chain of dependent tasks: about how long everything"
            " would have taken with a slot for each task"
        ),
    ]
    used: Annotated[CostSum | None, about("what agents used; null if nothing")]
    denials_by_tool: Annotated[
        dict[str, int], about("for each tool, in how many jobs it was denied")
    ]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow report` prints."""

    project: fields.ProjectKey
    name: Annotated[str, about("the project's name; empty if it cannot be read")]
    batch: Annotated[int | None, about("the batch's number; null for the whole project")]
    batch_name: Annotated[str, about("the batch's name; empty if it has none")]
    made_at: Annotated[str, about("when the report was made: UTC, ISO 8601")]
    began_at: Annotated[
        str,
        about("the beginning of the timeline; other moments are seconds after it: UTC, ISO 8601"),
    ]
    ended_at: Annotated[
        str | None, about("when the last job ended; null while a job has not ended")
    ]
    totals: Annotated[Totals, about("totals of the report")]
    critical_path: Annotated[
        tuple[PathStep, ...],
        about("the critical path from the beginning to the end, without a gap"),
    ]
    lanes: Annotated[tuple[Lane, ...], about("the rows of the timeline")]
    runs: Annotated[tuple[Run, ...], about("all attempts, in the order in which they began")]
    tasks: Annotated[tuple[TaskStory, ...], about("all tasks, in the order of their ids")]
    notes: Annotated[tuple[str, ...], about("what the report does not contain, one sentence each")]


class ReportWritten(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow report --html FILE` prints."""

    file: Annotated[str, about("the absolute path of the page")]
    bytes: Annotated[int, about("its size in bytes")]
    opened: Annotated[bool, about("whether a browser was started to show it")]
