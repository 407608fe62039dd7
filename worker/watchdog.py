"""Telling a hang from long work: an attempt's time-out, its result, and several signs of life.

Owns the limits, and what counts as a sign of life: output, growth of the
transcript, CPU time spent anywhere in the agent's tree. All on the monotonic
clock, so that a machine that was suspended does not make an agent look
stalled. Ends nothing itself.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sow.clock import format_duration
from sow.executors.base import Ending, Verdict
from sow.processes import facts
from sow.schema.job import Cause
from worker.output import read_tail
from worker.running import Running, Signs

HANG_SECONDS = 30.0
"""How long a program may show no sign of life after its result. It is not ended at once: the lines
of background tasks come after the result (measured with Claude Code 2.1.197)."""
LOOKS = 10
"""How often a tree is looked at while it may be quiet."""
LONGEST_LOOK_SECONDS = 5.0
IDLE_SHARE = 0.02
"""The share of a core below which a tree idles: an event loop that waits ticks now and then."""


def overdue(running: Running, now: float) -> Verdict | None:
    """Return why an attempt should be ended now, if it should; `now` is monotonic, in seconds.

    A program that hangs after its last result has done what it was started for:
    its attempt is judged by that result, whichever limit ends it.
    """
    limits = running.job.executor
    concluded = _has_concluded(running, now)
    if limits.timeout_seconds is not None and now - running.begun_at >= limits.timeout_seconds:
        took = format_duration(limits.timeout_seconds)
        return _by_result(running) if concluded else _timed_out(took)
    patience = _patience(limits.stall_timeout_seconds, concluded=concluded)
    if patience is None:
        return None
    _look(running, now, patience)
    quiet_since = max(running.alive_at, running.concluded_at or 0.0)
    if now - quiet_since < patience:
        return None
    return _by_result(running) if concluded else _stalled(format_duration(patience))


def _has_concluded(running: Running, now: float) -> bool:
    """Whether the result was the last word; remembers since when."""
    if not running.output.seen.concluded:
        running.concluded_at = None
    elif running.concluded_at is None:
        running.concluded_at = now
    return running.concluded_at is not None


def _patience(stall_seconds: float | None, *, concluded: bool) -> float | None:
    """Return how long there may be no sign of life, in seconds; None for ever."""
    if not concluded:
        return stall_seconds
    return HANG_SECONDS if stall_seconds is None else min(HANG_SECONDS, stall_seconds)


def _timed_out(took: str) -> Verdict:
    return Verdict(Cause.TIMED_OUT, f"timed out after {took}")


def _stalled(quiet: str) -> Verdict:
    signs = "no output, no CPU time, no growth of its transcript"
    return Verdict(Cause.STALLED, f"stalled: {signs} for {quiet}")


def _by_result(running: Running) -> Verdict:
    """Return what the attempt would be judged by if its program had ended after its result."""
    result = running.output.seen.result
    failed = result is not None and result.is_error
    stderr, output = read_tail(running.paths.stderr), read_tail(running.paths.output)
    ending = Ending(1 if failed else 0, None, stderr_tail=stderr, output_tail=output)
    verdict = running.executor.classify(ending, running.output.seen)
    return replace(verdict, reason=f"did not end after its result: {verdict.reason}")


def _look(running: Running, now: float, patience: float) -> None:
    """Look for signs of life, now and then."""
    if now < running.look_at:
        return
    interval = min(LONGEST_LOOK_SECONDS, patience / LOOKS)
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
