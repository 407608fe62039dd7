"""Telling a hang from long work: an attempt's time-out, and several signs of life.

Owns what counts as a sign of life: output, growth of the transcript, CPU time
spent anywhere in the agent's tree. All on the monotonic clock, so that a
machine that was suspended does not make an agent look stalled. Ends nothing
itself.
"""

from collections.abc import Iterable
from pathlib import Path

from sow.clock import format_duration
from sow.executors.base import Verdict
from sow.processes import facts
from sow.schema.job import Cause
from worker.running import Running, Signs

LOOKS = 10
"""How often a tree is looked at in each stall time-out."""
LONGEST_LOOK_SECONDS = 5.0
IDLE_SHARE = 0.02
"""The share of a core below which a tree idles: an event loop that waits ticks now and then."""


def overdue(running: Running, now: float) -> Verdict | None:
    """Return why an attempt should be ended now, if it should; `now` is monotonic, in seconds."""
    timeout = running.job.executor.timeout_seconds
    if timeout is not None and now - running.begun_at >= timeout:
        return Verdict(Cause.TIMED_OUT, f"timed out after {format_duration(timeout)}")
    stall = running.job.executor.stall_timeout_seconds
    if stall is None:
        return None
    _look(running, now, stall)
    if now - running.alive_at >= stall:
        signs = "no output, no CPU time, no growth of its transcript"
        return Verdict(Cause.STALLED, f"stalled: {signs} for {format_duration(stall)}")
    return None


def _look(running: Running, now: float, stall_seconds: float) -> None:
    """Look for signs of life, now and then."""
    if now < running.look_at:
        return
    interval = min(LONGEST_LOOK_SECONDS, stall_seconds / LOOKS)
    running.look_at = now + interval
    before, running.signs = running.signs, signs_of(running)
    if before is None or is_alive(before, running.signs, interval):
        running.alive_at = now


def is_alive(before: Signs, after: Signs, seconds: float) -> bool:
    """Whether an agent has done something between two looks, `seconds` apart at the least."""
    written = (before.output_bytes, before.stderr_bytes, before.transcript_bytes)
    if written != (after.output_bytes, after.stderr_bytes, after.transcript_bytes):
        return True
    spent = after.cpu_seconds - before.cpu_seconds
    return spent < 0 or spent > IDLE_SHARE * seconds  # less than before: a process has ended


def signs_of(running: Running) -> Signs:
    """Return what an attempt has done so far."""
    supervisor = running.attempt.supervisor
    return Signs(
        output_bytes=_size(running.paths.output),
        stderr_bytes=_size(running.paths.stderr),
        transcript_bytes=sum(_size(path) for path in _transcripts(running)),
        cpu_seconds=facts.tree_cpu_seconds(supervisor.pid) if supervisor else 0.0,
    )


def _transcripts(running: Running) -> Iterable[Path]:
    session_id = running.output.seen.session_id or running.attempt.session_id
    return running.executor.transcripts(session_id, running.environ) if session_id else ()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
