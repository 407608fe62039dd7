"""Where the project stands and what comes next, with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.output.hosts import SilentHost


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """A command to run next."""

    command: Annotated[str, about("the command; replace each `<…>` in it")]
    why: Annotated[str, about("the reason, in a few words")]
    by: Annotated[
        str, about("`you`, or `person`: you may not run it; ask a person to run it in a terminal")
    ]


class PhaseNow(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of the project, with counts of its tasks."""

    phase: Annotated[str, about("its name")]
    led_by: Annotated[str, about("who leads it: people or agents")]
    is_finished: Annotated[bool, about("whether it was marked as finished")]
    tasks_by_status: Annotated[dict[str, int], about("how many of its tasks have each status")]


class ApprovalNow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is approved or needs approval."""

    what: Annotated[str, about("plan, whole (the project), a file, or a work unit's id")]
    is_approved: Annotated[bool, about("whether its present form is approved")]
    by: Annotated[
        str | None, about("who approved it last: a role, or `person`; null if nobody did")
    ]
    at: Annotated[str | None, about("when that was: UTC, ISO 8601; null if nobody did")]


class GuardNow(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of the next event that is not met."""

    guard: Annotated[str, about("its name")]
    sentence: Annotated[str, about("what must be true")]
    missing: Annotated[tuple[str, ...], about("what is missing, one line each")]


class RunningJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that runs or is about to run."""

    job: fields.JobKey
    tasks: Annotated[tuple[str, ...], about("the tasks that it is about")]
    verb: fields.Verb
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    state: Annotated[str, about("the state of the job")]
    doing: Annotated[str, about("what its agent did last; often empty")]
    seconds: Annotated[float, about("seconds since its first start; 0 before that")]
    quiet_seconds: Annotated[
        float | None, about("seconds since its agent printed anything; null if it has not yet")
    ]
    host: Annotated[
        str | None, about("the host that runs it, if hosts share the queue; null without hosts")
    ]


class BatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that has not ended."""

    batch: Annotated[int, about("its number")]
    name: Annotated[str, about("its name; often empty")]
    state: Annotated[str, about("running or paused")]
    reason: Annotated[str, about("why it is paused; empty if it is not")]
    rests: Annotated[bool, about("whether nothing continues before a person does something")]
    counts: Annotated[dict[str, int], about("how many of its tasks are in each state")]


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Something that waits, and what it waits for."""

    on: Annotated[
        str,
        about(
            "you (the caller, or the orchestrator), person, trust, dependency, slot,"
            " budget, limit (a usage limit, which resets by itself), time, worker, machine,"
            " host (of a queue that several share) or queue"
        ),
    ]
    what: Annotated[str, about("what waits: a task's id, `job 12`, `batch 3` or plan")]
    why: Annotated[str, about("what it waits for, in one line")]


class FaultNow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read."""

    message: Annotated[str, about("what is wrong, with the file")]
    hint: Annotated[str, about("what to do about it")]


class EndedProject(msgspec.Struct, frozen=True, kw_only=True):
    """The last project that ended here."""

    name: Annotated[str, about("its name")]
    how: Annotated[str, about("finished or abandoned")]
    at: Annotated[str, about("when that was: UTC, ISO 8601")]
    folder: Annotated[str, about("the folder of its archive, relative to the folder with .sow")]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The project's state, what runs, what waits, and what to do next."""

    root: Annotated[str | None, about("the folder with .sow; null if there is none")]
    branch: Annotated[str | None, about("the branch that is checked out; null without git")]
    project: Annotated[str | None, about("the project's id, a UUID; null without a project")]
    name: Annotated[str | None, about("its name; null without a project")]
    description: Annotated[str | None, about("its purpose; null if it was not given")]
    type: Annotated[
        str | None,
        about("standard, exploration, design, breakdown or quick; null without a project"),
    ]
    state: Annotated[str | None, about("its state (docs/lifecycle.md); null without a project")]
    states: Annotated[tuple[str, ...], about("all states of its type, in order")]
    iteration: Annotated[int | None, about("its iteration, from 1: how often it was planned")]
    end_asked_for: Annotated[
        str | None, about("finished or abandoned, if somebody has asked to end it; else null")
    ]
    phases: Annotated[tuple[PhaseNow, ...], about("its phases, in order")]
    tasks_by_status: Annotated[
        dict[str, int],
        about("how many tasks have each status; `ready` counts the pending tasks that can start"),
    ]
    approvals: Annotated[tuple[ApprovalNow, ...], about("what is approved or needs approval")]
    event: Annotated[str | None, about("the next event; null if there is none")]
    target: Annotated[str | None, about("the state after that event; else null")]
    unmet: Annotated[
        tuple[GuardNow, ...],
        about("the conditions of that event that are not met; empty if it is possible now"),
    ]
    open_feedback: Annotated[
        tuple[str, ...], about("the numbers of the open feedback on the project")
    ]
    runs: Annotated[tuple[RunningJob, ...], about("the jobs that run")]
    batches: Annotated[tuple[BatchRun, ...], about("the batches that have not ended")]
    waits: Annotated[tuple[Wait, ...], about("what waits; first what waits for people")]
    silent_hosts: Annotated[
        tuple[SilentHost, ...],
        about("the hosts that are not heard any more; empty unless hosts share the queue"),
    ]
    next: Annotated[
        tuple[StepView, ...],
        about("the same commands as `sow next`"),
    ]
    faults: Annotated[tuple[FaultNow, ...], about("what could not be read; the rest is complete")]
    last_project: Annotated[
        EndedProject | None, about("if there is no project now: the last one; else null")
    ]
