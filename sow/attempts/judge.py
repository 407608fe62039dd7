"""Why an attempt ended: the task's state first, then how the process went.

Owns the order in which causes are tested. Pure; what follows from a cause is
`retry`, how each CLI words its failures is `executors`.
"""

from dataclasses import dataclass

from sow.errors import StateError
from sow.executors.base import Ending, Executor, Observation, Verdict
from sow.schema.cause_table import CAUSES
from sow.schema.causes import LIMIT_CAUSES, Cause
from sow.schema.job import Job
from sow.schema.kinds import kind_of
from sow.schema.task import Task
from sow.state.transitions import NO_REPORTS
from sow.state.verdicts import given_by

SANDBOX_WORDS = ("bwrap: ", "the proxy of network: allow ")
"""How bubblewrap's last words begin, and those of what opens the way to a proxy."""
REASON_LIMIT = 400
CANCELLED = Verdict(Cause.CANCELLED, "cancelled")


@dataclass(frozen=True)
class Evidence:
    """All that is known of an attempt that has ended."""

    job: Job
    task: Task | StateError
    """The task as it stands on disk, or why it cannot be read."""
    ending: Ending | None
    """How the process ended; None when nobody saw it end."""
    seen: Observation
    ended_for: Verdict | None = None
    """Why the worker itself had the attempt ended, where it did."""


def judge(evidence: Evidence, executor: Executor) -> Verdict:
    """Return why the attempt ended."""
    if evidence.job.cancel_requested_at is not None:
        return CANCELLED
    if isinstance(evidence.task, StateError):
        return Verdict(Cause.STATE_UNREADABLE, evidence.task.message)
    report = report_of(evidence.job, evidence.task)
    if report is not None:
        return Verdict(Cause.REPORTED, report)
    if evidence.seen.other_session is not None:
        return session_lost(evidence.seen.other_session)
    if evidence.ended_for is not None:
        return evidence.ended_for
    if evidence.ending is None:
        return Verdict(Cause.WORKER_DIED, CAUSES[Cause.WORKER_DIED].words)
    if (reached := limit_reached(evidence.job, evidence.ending)) is not None:
        return reached
    if (words := sandbox_fault(evidence.job, evidence.ending, evidence.seen)) is not None:
        return Verdict(Cause.SANDBOX_FAILED, words)
    verdict = executor.classify(evidence.ending, evidence.seen)
    gives_verdict = evidence.task.judges_whole or not kind_of(evidence.job).reports_status
    if verdict.cause is Cause.NO_STATUS and gives_verdict:
        return Verdict(Cause.NO_VERDICT, CAUSES[Cause.NO_VERDICT].words)
    return verdict


def limit_reached(job: Job, ending: Ending) -> Verdict | None:
    """Return the verdict on an attempt that a limit of its executor has ended, if one has."""
    cause = LIMIT_CAUSES.get(ending.limit)
    if cause is None or job.executor is None or job.executor.limits is None:
        return None
    # Few attempts have limits.
    from sow.attempts.limit_words import words_of_limit

    words = words_of_limit(job.executor.limits, ending.limit, ending.limit_seen)
    key = f"agents.executors.{job.executor_name}.limits.{ending.limit}"
    return Verdict(cause, f"{words} ({key})")


def sandbox_fault(job: Job, ending: Ending, seen: Observation) -> str | None:
    """Return the last words where the sandbox could not be made; None where the agent ran.

    bubblewrap ends with 1 then, like many an agent (measured, 0.8.0). An agent that imitates it
    fails its own job alone.
    """
    is_fenced = job.executor is not None and job.executor.is_sandboxed
    if not is_fenced or ending.code != 1 or ending.output_tail.strip():
        return None
    last = ending.stderr_tail.strip().rpartition("\n")[2]  # what made the clone may have spoken
    is_bwraps = last.startswith(SANDBOX_WORDS) and not seen.tool_uses
    return last[:REASON_LIMIT] if is_bwraps else None


def session_lost(other: str) -> Verdict:
    """Return the verdict on a run that goes on in a session which was not asked for."""
    return Verdict(Cause.SESSION_LOST, f"its CLI began another session ({other})")


def report_of(job: Job, task: Task) -> str | None:
    """Return in words what the agent of a job has left as its report; None as long as it has none.

    That is a status of its task, and of a reviewer its verdict.
    """
    if kind_of(job).reports_status:
        return None if task.status in NO_REPORTS else f"the agent left {task.status}"
    review = given_by(task, job)
    return None if review is None else f"its verdict is {review.verdict}"
