"""What a caller is told of a job: the facts, the exit code, the words.

Pure: a job record, its attempts and its task come in.
"""

import shlex
from collections.abc import Sequence

import msgspec

from sow.clock import format_duration, format_time
from sow.errors import ExitCode
from sow.executors.registry import make_executor
from sow.schema.causes import CAUSES, WITHOUT_CALL, Cause
from sow.schema.job import Attempt, Job, JobState
from sow.schema.task import TaskStatus

GOOD = frozenset({TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.COMPLETED})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one job, as `--json` prints it. Times are ISO 8601."""

    task: str
    job: int
    verb: str
    agent: str
    executor: str
    state: str
    status: str | None
    cause: str | None
    reason: str
    exit_code: int
    attempts: int
    session_id: str | None
    seconds: float | None
    started_at: str | None
    ended_at: str | None
    cost_usd: float | None
    denied_tools: tuple[str, ...]
    warnings: tuple[str, ...]
    owed: bool = False
    """Whether an earlier call placed the job and went away before it ended."""
    continue_with: str | None = None
    """The command that goes on waiting, where the job still runs, for all tasks of the call."""
    anew_with: str | None = None
    """The option that makes the same call run it anew, where the outcome is an owed one."""


def exit_code_of(job: Job) -> ExitCode:
    """Return the exit code that tells how a job stands."""
    match job.state:
        case JobState.DONE:
            return ExitCode.OK if job.outcome_status in GOOD else ExitCode.FAILED
        case JobState.CANCELLED:
            return ExitCode.CANCELLED
        case JobState.FAILED:
            return CAUSES[job.cause or Cause.INTERNAL].exit_code
        case _:
            return ExitCode.STILL_RUNNING


def outcome_of(
    job: Job,
    attempts: Sequence[Attempt],
    *,
    owed: bool = False,
    anew_with: str | None = None,
    continue_with: str | None = None,
) -> Outcome:
    """Return all that is known of a job.

    `anew_with` is the option that would run an owed one anew, if the call has
    such an option. `continue_with` is the command that goes on waiting; without
    one it is that for this job alone.
    """
    ended = job.ended_at
    status = job.outcome_status
    if not job.state.is_final:
        status = TaskStatus.IN_PROGRESS
    return Outcome(
        task=job.task_id,
        job=job.id,
        verb=job.verb.value,
        agent=job.agent,
        executor=job.executor.name,
        state=job.state.value,
        status=status.value if status else None,
        cause=job.cause.value if job.cause else None,
        reason=job.reason,
        exit_code=int(exit_code_of(job)),
        attempts=len(attempts),
        session_id=attempts[-1].session_id if attempts else None,
        seconds=round(ended - job.created_at, 3) if ended else None,
        started_at=format_time(job.started_at) if job.started_at else None,
        ended_at=format_time(ended) if ended else None,
        cost_usd=job.cost_usd,
        denied_tools=job.denied_tools,
        warnings=warnings_of(job, attempts),
        owed=owed,
        continue_with=None if job.state.is_final else continue_with or waiting_command(job.task_id),
        anew_with=anew_with if owed else None,
    )


def waiting_command(
    *task_ids: str, any_one: bool = False, wait: str | None = None, as_json: bool = False
) -> str:
    """Return the command that waits for these tasks, in the way that the call at hand does."""
    words = ["sow", "agent", "wait", *task_ids]
    words += ["--any"] if any_one else []
    words += ["--wait", wait] if wait else []
    words += ["--json"] if as_json else []
    return shlex.join(words)


def warnings_of(job: Job, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return what a person should look at, however the job ended."""
    empty = [f"attempt {one.number}: {WITHOUT_CALL}" for one in attempts if is_empty(one)]
    warnings = [*job.warnings, *empty]
    if job.denied_tools and job.state is JobState.DONE:
        remedy = make_executor(job.executor).remedy
        warnings.append(f"tools were denied: {', '.join(job.denied_tools)}. {remedy}")
    return tuple(warnings)


def is_empty(attempt: Attempt) -> bool:
    """Whether an attempt "succeeded" without a single tool call, and left no status."""
    return attempt.cause is Cause.NO_STATUS and attempt.tool_uses == 0


def line_of(outcome: Outcome) -> str:
    """Return an outcome as one line for people."""
    if not JobState(outcome.state).is_final:
        how = f"still {outcome.state}"
    elif outcome.state == JobState.CANCELLED:
        how = f"cancelled, left {outcome.status}"
    else:
        how = outcome.status or outcome.state
    took = f", {format_duration(outcome.seconds)}" if outcome.seconds is not None else ""
    tries = f", {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    line = (
        f"{outcome.task} {how} ({outcome.verb} {outcome.agent} by {outcome.executor}, "
        f"job {outcome.job}{tries}{took})"
    )
    if outcome.owed:
        anew = f"; `{outcome.anew_with}` runs it anew" if outcome.anew_with else ""
        line = f"outcome of job {outcome.job}, which ended {outcome.ended_at}{anew}: {line}"
    if outcome.reason and outcome.state == JobState.FAILED:
        line = f"{line}: {outcome.reason.strip().splitlines()[0]}"
    return line


def combined_exit_code(codes: Sequence[int]) -> int:
    """Return the exit code of several outcomes: running, then failed, then cancelled, then done."""
    if len(codes) == 1:
        return codes[0]
    if ExitCode.STILL_RUNNING in codes:
        return int(ExitCode.STILL_RUNNING)
    if any(code not in (ExitCode.OK, ExitCode.CANCELLED) for code in codes):
        return int(ExitCode.FAILED)
    return int(ExitCode.CANCELLED if ExitCode.CANCELLED in codes else ExitCode.OK)
