"""Where the project stands and what comes next, with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output import fields
from sow.schema.output.fields import about


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """A command that takes the project on."""

    command: Annotated[str, about("the command; `<…>` in it is the reader's to fill in")]
    why: Annotated[str, about("what it is for, in a few words")]
    by: Annotated[str, about("you; or person: the reader may not, and asks one to, in a terminal")]


class PhaseNow(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of the project, and how many of its tasks stand where."""

    phase: Annotated[str, about("its name")]
    led_by: Annotated[str, about("people, or agents")]
    is_finished: Annotated[bool, about("whether it was marked as finished")]
    tasks_by_status: Annotated[dict[str, int], about("how many of its tasks have each status")]


class ApprovalNow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is to be approved, or was."""

    what: Annotated[str, about("plan, whole, a file, or a work unit's id")]
    is_approved: Annotated[bool, about("whether it is, as it stands now")]
    by: Annotated[str | None, about("who has approved it last: a role, or `person`; else null")]
    at: Annotated[str | None, about("when that was: UTC, ISO 8601; null before")]


class GuardNow(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of the next event that is not met."""

    guard: Annotated[str, about("its name")]
    sentence: Annotated[str, about("what must be true")]
    missing: Annotated[tuple[str, ...], about("what is missing, a line for each thing")]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A job that has been begun, or is about to be."""

    job: fields.JobKey
    tasks: Annotated[tuple[str, ...], about("the tasks that it is about; often one")]
    verb: fields.Verb
    agent: fields.JobsAgent
    executor: fields.JobsExecutor
    state: Annotated[str, about("the state of the job")]
    doing: Annotated[str, about("what its agent was last seen to do; often empty")]
    seconds: Annotated[float, about("how long ago it began, or was queued")]
    quiet_seconds: Annotated[
        float | None, about("how long ago its agent printed anything; null before")
    ]


class BatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that goes on."""

    batch: Annotated[int, about("its number")]
    name: Annotated[str, about("its name; often empty")]
    state: Annotated[str, about("running or paused")]
    reason: Annotated[str, about("why it is paused; empty while it is not")]
    rests: Annotated[bool, about("whether nothing of it goes on by itself")]
    counts: Annotated[dict[str, int], about("how many of its tasks stand where")]


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Something that waits, and for whom or what."""

    on: Annotated[
        str,
        about(
            "you (the reader, or whoever leads), person, trust, dependency, slot,"
            " budget, limit (it resets by itself), time, worker, machine or queue"
        ),
    ]
    what: Annotated[str, about("what waits: a task's id, `job 12`, `batch 3`, plan")]
    why: Annotated[str, about("what it waits for, in a line")]


class FaultNow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read; the rest was."""

    message: Annotated[str, about("what is wrong, with the file")]
    hint: Annotated[str, about("what to do about it")]


class EndedProject(msgspec.Struct, frozen=True, kw_only=True):
    """The project that ended last here."""

    name: Annotated[str, about("what it was called")]
    how: Annotated[str, about("finished or abandoned")]
    at: Annotated[str, about("when: UTC, ISO 8601")]
    folder: Annotated[str, about("where it is archived, from the workspace's root")]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where the project stands, what runs, what waits for whom, and what to do next."""

    root: Annotated[str | None, about("the folder that holds .sow; null without one")]
    branch: Annotated[str | None, about("what is checked out; null without git")]
    project: Annotated[str | None, about("its id, a UUID; null without a project")]
    name: Annotated[str | None, about("what it is called; null without a project")]
    description: Annotated[str | None, about("what it is for; null if nobody said")]
    type: Annotated[str | None, about("standard, exploration, design or breakdown; else null")]
    state: Annotated[str | None, about("where it stands in its type's lifecycle; else null")]
    states: Annotated[tuple[str, ...], about("all states of its type, in order")]
    iteration: Annotated[int | None, about("how often it was planned, from 1")]
    end_asked_for: Annotated[
        str | None, about("finished or abandoned, where its end was asked for; else null")
    ]
    phases: Annotated[tuple[PhaseNow, ...], about("its phases, in order")]
    tasks_by_status: Annotated[
        dict[str, int], about("how many of all tasks have each status (`ready` besides)")
    ]
    approvals: Annotated[tuple[ApprovalNow, ...], about("what is, or has to be, approved")]
    event: Annotated[
        str | None, about("the event that it is on its way to; null where there is none")
    ]
    target: Annotated[str | None, about("the state that this event leads to; else null")]
    unmet: Annotated[
        tuple[GuardNow, ...], about("what that event needs and is not so; empty: it may")
    ]
    open_feedback: Annotated[
        tuple[str, ...], about("the numbers of the feedback that is not settled")
    ]
    runs: Annotated[tuple[Run, ...], about("the jobs that are at work")]
    batches: Annotated[tuple[BatchRun, ...], about("the batches that go on")]
    waits: Annotated[tuple[Wait, ...], about("what waits, persons' matters first")]
    next: Annotated[
        tuple[StepView, ...],
        about("the commands that come next, the most sensible first, as `sow next`"),
    ]
    faults: Annotated[tuple[FaultNow, ...], about("what could not be read")]
    last_project: Annotated[
        EndedProject | None, about("without a project: the last one; else null")
    ]
