"""Agents that give no sign of life: put on record, and marked as long as it lasts.

Owns the event `stalled` on the record of changes, once each time, and the mark in the
attempt's folder, in which readers find since when. What a sign of life is, and
when such an agent is ended, `watchdog` knows.
"""

from sow.files import remove_file, write_atomically
from sow.jobs import leases
from sow.jobs.stalls import note_stall, quiet_since
from sow.schema.executor import QUIET_SECONDS
from worker.context import WorkerContext, tell
from worker.running import Running
from worker.watchdog import NO_SIGNS


def note_quiet(context: WorkerContext, running: Running) -> None:
    """Tell of an agent that has been quiet for long, once; take the mark away when it moves again.

    Another worker may have told it: the mark says so. One that is killed between the record and the
    mark has it told a second time. Raises Fenced, OSError.
    """
    mark = running.paths.quiet
    is_marked = (
        quiet_since(running.paths) is not None if running.is_quiet is None else running.is_quiet
    )
    is_quiet = running.quiet_seconds >= QUIET_SECONDS
    if is_quiet and not is_marked:
        with leases.under(context.database, running.lease):
            note_stall(context.database, running.job, f"{NO_SIGNS} for {int(QUIET_SECONDS) // 60}m")
        tell(running.job, f"gives no sign of life: {NO_SIGNS}")
        since = context.now() - running.quiet_seconds
        write_atomically(mark, str(since).encode(), mode=0o600, durable=False)
    elif is_marked and not is_quiet:
        remove_file(mark)
        tell(running.job, "gives signs of life again")
    running.is_quiet = is_quiet


def quiet_at_adoption(running: Running, *, now: float) -> float:
    """Return for how long an attempt that is taken over has been quiet, as its mark tells."""
    since = quiet_since(running.paths)
    return 0.0 if since is None else max(0.0, now - since)
