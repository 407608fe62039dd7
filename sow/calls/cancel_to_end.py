"""A cancel to its end: ask, then wait until all that was asked to end has ended.

Owns how long that may take. The request itself is `cancel`; who prints what
has ended strikes it from what callers are owed.
"""

from collections.abc import Callable
from dataclasses import replace

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller
from sow.calls.cancel import Cancelled, cancel_job
from sow.calls.wait import Progress, Waiter
from sow.errors import StateError
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.unverifiable import is_in_doubt
from sow.reports.wording import subject_of, wait_for_job
from sow.schema.job import Job

CANCEL_SECONDS = 60.0
"""How long an agent's tree may take to end before the command says so."""


class NotEnded(StateError):
    """A job was asked to end, and has not."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"{_asked(job)}, but its agent has not ended in {CANCEL_SECONDS:.0f} s",
            hint=f"`{wait_for_job(job)}` waits longer; `sow worker logs` may show why.",
        )


class EndIsUnverifiable(StateError):
    """A job was asked to end, and nobody here can tell whether it still runs."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"{_asked(job)}, but its agent was started in another pid namespace",
            hint="If you know that it no longer runs (for example, its container was removed),"
            f" run `sow job resolve {job.id} --gone`.",
        )


def _asked(job: Job) -> str:
    return f"job {job.id} of {subject_of(job)} was asked to end"


def cancel_to_end(
    caller: Caller,
    database: Database,
    job: Job,
    *,
    keep_children: bool = False,
    on_tick: Callable[[Progress], None] = lambda _: None,
) -> Cancelled:
    """Cancel a job and wait until all of it has ended; return the jobs as they stand then.

    Those that have not ended are in `Cancelled.ending`: time was up, or nobody
    can tell whether they run. What `on_tick` raises ends the wait, and the
    request stands. Raises what `cancel_job` does, NoWorker and QueueError.
    """
    cancelled = cancel_job(caller, database, job, keep_children=keep_children)
    _await_end(caller, database, cancelled, on_tick)
    return replace(
        cancelled,
        job=jobs.get_job(database, job.id),
        children=tuple(jobs.get_job(database, child.id) for child in cancelled.children),
        kept=tuple(jobs.get_job(database, child.id) for child in cancelled.kept),
    )


def _await_end(
    caller: Caller, database: Database, cancelled: Cancelled, on_tick: Callable[[Progress], None]
) -> None:
    """Wait until the jobs have ended, save those of which nobody can tell whether they run."""
    awaited = [job for job in cancelled.ending if not is_in_doubt(caller.workspace, database, job)]
    if not awaited:
        return
    staffing = Staffing(caller, caller.load_configuration(), database)

    def tick(progress: Progress) -> None:
        staffing.ensure()
        on_tick(progress)

    with Waiter(caller, database, passing=True) as waiter:
        waiter.begin([job.id for job in awaited])
        waiter.wait(seconds=CANCEL_SECONDS, on_tick=tick)


def not_ended(caller: Caller, database: Database, job: Job) -> StateError:
    """Return what to say of a job that was asked to end and has not."""
    doubtful = is_in_doubt(caller.workspace, database, job)
    return EndIsUnverifiable(job) if doubtful else NotEnded(job)
