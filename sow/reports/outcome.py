"""What a caller is told of a job's end: the exit code and the words. The facts are `views`.

Pure: a job record and its attempts come in.
"""

from collections.abc import Callable, Sequence

from sow.clock import Times, format_duration
from sow.errors import ExitCode
from sow.schema.causes import WITHOUT_CALL, Cause
from sow.schema.job import Attempt, Job, JobState, Verb
from sow.schema.kinds import KINDS, kind_of
from sow.schema.output.outcome import Outcome
from sow.schema.task import TaskStatus

GOOD = frozenset({TaskStatus.NEEDS_REVIEW, TaskStatus.PAUSED, TaskStatus.COMPLETED})


def exit_code_of(job: Job) -> ExitCode:
    """Return the exit code that tells how a job stands."""
    match job.state:
        case JobState.DONE:
            is_good = job.outcome_status in GOOD or not kind_of(job).reports_status
            return ExitCode.OK if is_good else ExitCode.FAILED
        case JobState.CANCELLED:
            return ExitCode.CANCELLED
        case JobState.FAILED:
            from sow.schema.cause_table import CAUSES  # of failures alone

            return CAUSES[job.cause or Cause.INTERNAL].exit_code
        case _:
            return ExitCode.STILL_RUNNING


def warnings_of(job: Job, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return what a person should look at, however the job ended."""
    empty = [
        f"attempt {attempt.number}: {WITHOUT_CALL}" for attempt in attempts if is_empty(attempt)
    ]
    warnings = [*job.warnings, *empty]
    if job.denied_tools and job.state is JobState.DONE:
        from sow.executors.registry import make_executor  # for these few jobs alone

        remedy = make_executor(job.agents_executor).remedy
        warnings.append(f"tools were denied: {', '.join(job.denied_tools)}. {remedy}")
    return tuple(warnings)


def is_empty(attempt: Attempt) -> bool:
    """Whether an attempt "succeeded" without a single tool call, and left no status."""
    return attempt.cause is Cause.NO_STATUS and attempt.tool_uses == 0


def line_of(outcome: Outcome, *, now: float, paint: Callable[[str], str] = str) -> str:
    """Return an outcome as one line for people; `paint` gives the word of its state a colour."""
    is_done = outcome.state == JobState.DONE
    if not JobState(outcome.state).is_final:
        how = f"still {paint(outcome.state)}"
    elif outcome.verdict is not None:
        how = paint(outcome.verdict)
    elif outcome.state == JobState.FAILED and KINDS[Verb(outcome.verb)].judges:
        how = "not reviewed"  # the task stands as it stood
    elif outcome.agent is None:
        how = paint(KINDS[Verb(outcome.verb)].well_ended if is_done else outcome.state)
    elif outcome.state == JobState.CANCELLED:
        left = f", left {paint(outcome.status)}" if outcome.status else ""
        how = f"cancelled{left}"
    elif outcome.cause == Cause.CLOSED:
        how = f"closed, left {paint(str(outcome.status))}"
    else:
        how = paint(outcome.status or outcome.state)
    ran = outcome.run_seconds
    took = f", {format_duration(ran)}" if ran is not None else ""
    tries = f", {outcome.attempt_count} attempts" if outcome.attempt_count > 1 else ""
    asked = [outcome.verb, outcome.agent, *outcome.checks]
    words = " ".join(word for word in asked if word)
    by = f" by {outcome.executor}" if outcome.executor else ""
    about = ", ".join(outcome.tasks) or "project"
    line = f"{about} {how} ({words}{by}, job {outcome.job}{tries}{took})"
    if outcome.owed:
        anew = f"; `{outcome.anew_with}` runs it anew" if outcome.anew_with else ""
        ended = Times(now).of_record(outcome.ended_at or "")
        line = f"outcome of job {outcome.job}, which ended at {ended}{anew}: {line}"
    if outcome.standing:
        line = f"{line}: {outcome.standing}"
    elif outcome.reason and (
        outcome.state == JobState.FAILED or (is_done and outcome.agent is None)
    ):
        line = f"{line}: {outcome.reason.strip().splitlines()[0]}"
    return line


def combined_exit_code(codes: Sequence[int], refusals: Sequence[int] = ()) -> int:
    """Return the exit code of several outcomes: running, then failed, then cancelled, then done.

    `refusals` are the codes of the tasks that were refused. Where nothing runs
    and nothing has failed, theirs is the code: a refusal is no failure of an
    agent. Refusals for several reasons are 1.
    """
    code = _combined(codes)
    if not refusals or code not in (ExitCode.OK, ExitCode.CANCELLED):
        return code
    return refusals[0] if len(set(refusals)) == 1 else int(ExitCode.FAILED)


def _combined(codes: Sequence[int]) -> int:
    if len(codes) == 1:
        return codes[0]
    if ExitCode.STILL_RUNNING in codes:
        return int(ExitCode.STILL_RUNNING)
    if any(code not in (ExitCode.OK, ExitCode.CANCELLED) for code in codes):
        return int(ExitCode.FAILED)
    return int(ExitCode.CANCELLED if ExitCode.CANCELLED in codes else ExitCode.OK)
