"""The end of a job whose attempt is over, and that a bug of ours keeps from being settled.

Owns that such a job fails for that reason, instead of being tried again for ever while it holds
its task. It judges nothing, and reads neither output nor results: what fails may be any of these.
"""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import UNSET

from sow.errors import QueueError, StateError
from sow.executors.base import Verdict
from sow.faults import passing_fault, words_of_bug
from sow.jobs import jobs, leases
from sow.jobs.spending import close_attempt
from sow.schema.causes import Cause
from sow.schema.job import NOT_BROUGHT_BACK, Job
from sow.schema.kinds import kind_of
from sow.terminal_text import readable
from worker.attempt_processes import end_supervisor, remove_fence
from worker.context import WorkerContext, logger
from worker.job_end import end_unwritten
from worker.kinds.work.end import undo_own_verdicts
from worker.next_step import with_gathered
from worker.running import Running

LONGEST_REASON = 1000


def fail_internal(context: WorkerContext, running: Running, error: Exception) -> None:
    """Fail the job of an attempt whose end is proved, by what keeps it from being settled.

    A worker that dies in between leaves it to the next one, which tries to settle it first.
    Raises Fenced, and whatever keeps even this from being written.
    """
    end_supervisor(running)
    with suppress(Exception):
        remove_fence(running)
    job = jobs.get_job(context.database, running.job.id)
    number = running.attempt.number
    warnings = (*_warnings_of(running, job), *_undo_own_verdicts(context, running, job))
    words = readable(words_of_bug(error))[:LONGEST_REASON]
    verdict = Verdict(Cause.INTERNAL, f"{words}\nThe result of its attempt was not evaluated.")
    with leases.under(context.database, running.lease):
        now = context.now()
        close_attempt(context.database, job.id, verdict.cause, verdict.reason, now=now)
    # A commit of its own: what the task is owed is given back under the task's lock.
    end_unwritten(
        context,
        job,
        running.lease,
        verdict,
        settled=number,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _undo_own_verdicts(context: WorkerContext, running: Running, job: Job) -> Sequence[str]:
    """Undo what an author may not say of its own work; return what a person has to know.

    A batch would merge a task whose author has written `completed` or a review by hand.
    """
    if not kind_of(job).makes_work:
        return ()
    try:
        if not context.state.is_of(job.project_id):
            raise StateError("its project is not checked out")
        undo_own_verdicts(context, running, job)
    except (leases.Fenced, QueueError):
        raise
    except Exception as error:
        if passing_fault(error) is not None:
            raise
        logger.exception("job %s: the status that its author set is kept", job.id)
        return (readable(f"the status that its author set was not checked: {error}"),)
    return ()


def _warnings_of(running: Running, job: Job) -> Sequence[str]:
    """Return the job's warnings, with what came of gathering its work, or that nothing did."""
    result = running.gathering.result if running.gathering is not None else None
    if result is not None:
        return with_gathered(job.warnings, result.warnings)
    if not _has_worked_in_clone(running, job):
        return job.warnings
    return with_gathered(job.warnings, [f"{NOT_BROUGHT_BACK}: sow itself failed before that"])


def _has_worked_in_clone(running: Running, job: Job) -> bool:
    """Whether the agent of a job may have worked in a clone, by what is known without a look."""
    apart = job.works_in_clone
    known = running.task is not None and running.task.clone is UNSET
    return kind_of(job).makes_work and (apart or not known)
