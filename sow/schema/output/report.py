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
    """What becomes of a task's time."""

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
    """A stretch of one task's time."""

    begin: Moment
    end: Moment
    kind: Annotated[
        str,
        about(
            "work, review, step (check, update, merge), open (on a terminal); or what"
            " is waited for: dependency, slot, worker, limit, retry, person, placing"
        ),
    ]
    why: Annotated[str, about("the same in words")]
    job: Annotated[int | None, about("the job; null between two jobs")] = None
    attempt: Annotated[
        int | None, about("the attempt's number within its job; null while none runs")
    ] = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, on a lane of its worker."""

    task: fields.JobsTask
    job: fields.JobKey
    attempt: Annotated[int, about("the attempt's number within its job")]
    verb: Annotated[str, about("what the attempt was to do: spawn, resume, check, …")]
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    worker: fields.WorkerKey
    lane: Annotated[int, about("the lane, from 0: no two runs of one overlap")]
    begin: Moment
    end: Moment
    outcome: Annotated[str, about("running, well (reported, passed), ended (asked for), or failed")]
    cause: fields.Cause
    reason: fields.Reason
    cost_usd: fields.CostUsd


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the timeline: what one slot of a worker did. Workers after each other share rows."""

    workers: Annotated[tuple[str, ...], about("the workers, in the order of their runs")]
    busy_seconds: Annotated[float, about("how long something ran on it")]


class LogNote(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a task's log."""

    at: Annotated[str, about("when: UTC, ISO 8601")]
    agent: Annotated[str, about("who wrote it: a role, person, or sow")]
    action: Annotated[str, about("what was done")]
    result: Annotated[str, about("what came of it; may be empty")]
    text: Annotated[str, about("its Markdown, cut where it is long")]


class TaskStory(msgspec.Struct, frozen=True, kw_only=True):
    """One task: how its time went, what it cost, and what was said."""

    task: Annotated[str, about("the task's id; empty: the project as a whole")]
    name: Annotated[str, about("its name; empty where its file cannot be read")]
    phase: Annotated[str, about("its phase")]
    status: Annotated[str | None, about("its status now; null where its file cannot be read")]
    agent: fields.JobsAgent
    iteration: Annotated[int | None, about("its iteration; null likewise")]
    depends_on: Annotated[tuple[str, ...], about("the tasks that it depends on")]
    waiting_for: Annotated[str, about("what it waits for now, in words; empty where for nothing")]
    job_count: Annotated[int, about("how many jobs it had")]
    attempt_count: Annotated[int, about("how many attempts these were")]
    retries_by_cause: Annotated[
        dict[str, int], about("how often it was tried again, by the cause for which it was")
    ]
    begin: Moment
    end: Moment
    spans: Annotated[
        tuple[Span, ...], about("its time from `begin` to `end`, without gap or overlap")
    ]
    seconds_in: Annotated[dict[str, float], about("the length of its spans, by their kind")]
    used: Annotated[CostSum | None, about("what its agents used; null for nothing")]
    denied_tools: Annotated[
        tuple[str, ...], about("the tools that its agents asked for and did not get")
    ]
    faults: Annotated[tuple[str, ...], about("why attempts of it went wrong, a sentence each")]
    diff_stat: Annotated[
        str | None, about("its change, a line for each file; null where it has no clone, or none")
    ]
    log: Annotated[tuple[LogNote, ...], about("the last entries of its log")]
    log_left_out: Annotated[int, about("how many earlier entries there are")]


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the critical path: had it been shorter, all would have ended earlier."""

    task: Annotated[str, about("the task; empty: the project as a whole")]
    begin: Moment
    end: Moment
    kind: Annotated[str, about("as that of the task's span")]
    why: Annotated[str, about("the same in words")]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """All of it in figures."""

    task_count: Annotated[int, about("how many tasks there are; the project as a whole is none")]
    by_status: Annotated[dict[str, int], about("how many of them stand how")]
    job_count: Annotated[int, about("how many jobs are told of")]
    attempt_count: Annotated[int, about("how many attempts")]
    failed_attempts: Annotated[int, about("how many of them failed")]
    retries_by_cause: Annotated[
        dict[str, int], about("how often a job was tried again, by the cause for which it was")
    ]
    lane_count: Annotated[int, about("how many ran at once, at the most")]
    seconds: Annotated[float, about("from the first moment to the last")]
    working_seconds: Annotated[float, about("how long agents and steps ran, all together")]
    waited_seconds: Annotated[
        dict[str, float], about("how long tasks waited, all together, by the kind")
    ]
    path_seconds: Annotated[dict[str, float], about("the length of the critical path, by the kind")]
    unlimited_seconds: Annotated[
        float,
        about(
            "how long the longest chain of tasks that depend on each other takes by"
            " itself: about what all would have taken with a free slot for each task"
        ),
    ]
    used: Annotated[CostSum | None, about("what agents used; null for nothing")]
    denials_by_tool: Annotated[
        dict[str, int], about("in how many jobs a tool was asked for and refused")
    ]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow report` tells."""

    project: fields.ProjectKey
    name: Annotated[str, about("the project's name; empty where it cannot be read")]
    batch: Annotated[int | None, about("the batch; null for the whole project")]
    batch_name: Annotated[str, about("the batch's name; empty where it has none")]
    made_at: Annotated[str, about("when the report was made: UTC, ISO 8601")]
    began_at: Annotated[str, about("the moment from which all others count: UTC, ISO 8601")]
    ended_at: Annotated[str | None, about("when the last job ended; null while one lives")]
    totals: Annotated[Totals, about("all of it in figures")]
    critical_path: Annotated[
        tuple[PathStep, ...],
        about("what the end was waiting for, from the beginning on, without a gap"),
    ]
    lanes: Annotated[tuple[Lane, ...], about("the rows of the timeline")]
    runs: Annotated[tuple[Run, ...], about("every attempt, in the order of their begin")]
    tasks: Annotated[tuple[TaskStory, ...], about("every task, in the order of ids")]
    notes: Annotated[tuple[str, ...], about("what could not be told, a sentence each")]


class ReportWritten(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow report --html FILE` tells."""

    file: Annotated[str, about("where the page lies, absolute")]
    bytes: Annotated[int, about("how large it is")]
    opened: Annotated[bool, about("whether a program was asked to show it")]
