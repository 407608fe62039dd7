"""What a running attempt has used, from its output into the records.

Owns when that is written: at each look that has seen more, and at its end.
Written twice it is the same: the output and the earlier runs say all of it.
"""

from pathlib import Path
from typing import Any

from sow.agent_clis.description import Metering
from sow.agent_clis.known import AGENT_CLIS
from sow.attempts.run_usage import usage_of
from sow.config.prices import read_prices
from sow.jobs import leases, spending
from sow.schema.causes import WITHOUT_AGENT, Cause
from sow.schema.kinds import kind_of
from sow.schema.usage import NOTHING, RunUsage
from worker.context import WorkerContext
from worker.running import Running

NOTHING_USED = RunUsage(tokens=NOTHING, usd=0.0)


def note_usage_so_far(context: WorkerContext, running: Running) -> None:
    """Write what an attempt has used, if its output has told more. Raises Fenced."""
    meter = running.output.seen.meter
    if running.executor is None or meter is running.noted or not meter.is_told:
        return
    with leases.under(context.database, running.lease):
        _note(context, running, usage_so_far(context, running, ended=False))
    running.noted = meter


def note_last_usage(
    context: WorkerContext, running: Running, cause: Cause | None, *, ended_at: float
) -> None:
    """Write what an attempt has used that has ended; in the transaction that records its end.

    `cause` is None where why it ended is still to be judged: then this is written once more.
    """
    if not kind_of(running.job).is_agents:
        return
    is_empty = not running.output.seen.meter.is_told and _no_agent_ran(running, cause)
    run = NOTHING_USED if is_empty else usage_so_far(context, running, ended=True)
    _note(context, running, run, ended_at=ended_at)


def _no_agent_ran(running: Running, cause: Cause | None) -> bool:
    """Whether an attempt has made no request: its CLI says how it begins before its first one."""
    speaks_first = AGENT_CLIS[running.job.agents_executor.type].metering is Metering.AT_ONCE
    return cause in WITHOUT_AGENT or (speaks_first and not running.output.offset)


def usage_so_far(context: WorkerContext, running: Running, *, ended: bool) -> RunUsage:
    """Return what an attempt has used, as far as its output has been read."""
    job = running.job
    session_id = running.output.seen.session_id or running.attempt.session_id
    return usage_of(
        running.output.seen.meter,
        spending.totals_before(context.database, running.attempt, session_id),
        read_prices(Path(job.config_file)) if job.config_file else {},
        model=job.agents_executor.model or "",
        ended=ended,
    )


def _note(context: WorkerContext, running: Running, run: RunUsage, **more: Any) -> None:
    seen = running.output.seen
    spending.note(
        context.database,
        running.job,
        running.attempt,
        run,
        seen.meter.totals,
        session_id=seen.session_id or running.attempt.session_id,
        **more,
    )
