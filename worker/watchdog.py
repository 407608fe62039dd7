"""One look at an attempt that is not over: a cancel is passed on, limits kept, what it tells noted.

Owns the order. What an agent can break by what it writes into its task's files comes last: nothing
of it may keep a limit or a cancel from the agent.

Owns also how a hang is told from long work: by the attempt's time-out, its result, and several
signs of life. These are output, growth of the transcript, CPU time spent anywhere in the agent's
tree, a job of its own that it waits for. All on the monotonic clock, so that a machine that was
suspended does not make an agent look stalled.
"""

import dataclasses
import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from sow.attempts.judge import report_of, session_lost
from sow.clock import format_duration
from sow.errors import StateError
from sow.executors.base import Ending, Verdict
from sow.executors.programs import api_seconds
from sow.files import read_tail, remove_file, write_atomically
from sow.ids import TaskId
from sow.jobs import leases
from sow.jobs.stalls import note_stall, quiet_since, waits_for_others
from sow.processes import process_facts
from sow.schema.causes import Cause
from sow.schema.executor import QUIET_SECONDS, ExecutorConfig
from sow.schema.job import Job
from sow.state.tasks import read_task
from worker.attempt_processes import ask_to_end, press
from worker.context import WorkerContext, tell
from worker.features import worker_features
from worker.kinds.work.end import persist_session
from worker.running import Running, Signs

HANG_SECONDS = 30.0
"""How long a program may show no sign of life after its result. It is not ended at once: lines
come after the result, and so may another turn (measured with Claude Code 2.1.330)."""
LOOKS = 10
"""How often a tree is looked at while it may be quiet."""
LONGEST_LOOK_SECONDS = 5.0
IDLE_SHARE = 0.04
"""The share of a core below which a tree idles. Claude Code 2.1.330 that waits took 1.7 % (measured
over 50 s), with bursts of 0.11 s in 0.2 s and of 0.22 s in 5 s."""
BURST_SECONDS = 0.3
"""How much CPU time above that share is a sign of life."""
AGAIN_SECONDS = 10.0
"""Stops that lie no further back than this are the work of one hand."""
MOST_STOPS = 3
"""How often within that time a supervisor is continued before it is given up."""
SESSION_SECONDS = 10.0
"""How often it is tried again to put a session on record in a task's state that is broken."""
TOO_MANY = 429
"""The HTTP status of a request beyond a limit."""
MOST_FAILURES = 5
"""So many results that are errors, with no call of a tool between them, end an attempt."""
NO_SIGNS = "no output, no CPU time, no growth of its transcript"


def look_at_running(
    context: WorkerContext, running: Running, *, reading_seconds: float, is_alone: bool
) -> None:
    """See to an attempt whose agent goes on; read its output for so long at the most.

    `is_alone`: it has no supervisor any more, so this ends what is to be ended. Raises Fenced.
    """
    running.over_since = None  # something of it runs on
    # First: nothing below may keep it from the agent.
    if not running.asked_to_end and leases.end_is_asked(context.database, running.job.id):
        ask_to_end(running)
    _resume_stopped(running, now=time.monotonic())
    running.output.read_for(reading_seconds)
    _end_if_overdue(context, running)
    note_quiet(context, running)
    if is_alone:
        press(running, now=time.monotonic())
    _note_session(context, running, now=time.monotonic())
    running.note_usage_so_far(context.database)


def _resume_stopped(running: Running, *, now: float) -> None:
    """Continue its supervisor if it was stopped, or kill it. `now` is monotonic."""
    supervisor = running.attempt.supervisor
    if supervisor is None or not process_facts.is_stopped(supervisor):
        return
    lately = [at for at in running.continued_at if now - at < AGAIN_SECONDS]
    with suppress(ProcessLookupError):
        if len(lately) < MOST_STOPS:
            running.continued_at = [*lately, now]
            tell(running.job, "its supervisor was stopped; continuing it")
            os.kill(supervisor.pid, signal.SIGCONT)
        else:
            tell(running.job, "its supervisor was stopped repeatedly; the worker replaces it")
            os.kill(supervisor.pid, signal.SIGKILL)


def _end_if_overdue(context: WorkerContext, running: Running) -> None:
    looks = [feature.on_usage(context, running) for feature in worker_features()]
    if running.asked_to_end:
        return
    now = time.monotonic()
    verdict = (
        _elsewhere(running)
        or unanswered(running, now)
        or failing(running)
        or overdue(
            running,
            now,
            lambda: _has_reported(context, running.job),
            lambda: waits_for_others(context.database, running.job.id),
        )
        or next(filter(None, looks), None)
    )
    if verdict is not None:
        tell(running.job, f"{verdict.reason}; ending it")
        running.ended_for = verdict
        ask_to_end(running)


def _has_reported(context: WorkerContext, job: Job) -> bool:
    """Whether the agent has reported; False where the state cannot be read now."""
    try:
        return report_of(job, read_task(context.workspace, TaskId(job.task_id))) is not None
    except StateError:
        return False


def _note_session(context: WorkerContext, running: Running, *, now: float) -> None:
    """Put the session on record; where the task's state is broken, try it again now and then.

    The agent may have broken it, or git left a conflict there. Nothing else waits for its mend.
    """
    if now < running.session_at:
        return
    try:
        persist_session(context, running)
    except StateError as error:
        running.session_at = now + SESSION_SECONDS
        tell(running.job, f"its session cannot be recorded yet: {error.message}")


def overdue(
    running: Running,
    now: float,
    has_reported: Callable[[], bool] = lambda: False,
    waits_for_own: Callable[[], bool] = lambda: False,
) -> Verdict | None:
    """Return why an attempt should be ended now, if it should; `now` is monotonic, in seconds.

    A program that hangs after its last result has done what it was started for:
    its attempt is judged by that result, whichever limit ends it. One that has
    tasks in the background waits for them and then goes on, so it hangs only
    where its agent `has_reported`, and is done with its task. An agent that `waits_for_own`
    jobs lives. A job without an agent bounds each of its own commands.
    """
    if running.job.executor is None:
        return None
    limits = running.job.executor
    concluded = _has_concluded(running, now)
    if limits.timeout_seconds is not None and now - running.begun_at >= limits.timeout_seconds:
        took = format_duration(limits.timeout_seconds)
        return _by_result(running) if concluded else _timed_out(took)
    hangs = concluded and (not running.output.seen.background or has_reported())
    quiet_limit = _quiet_limit(limits, in_batch=running.job.batch is not None, hangs=hangs)
    _look(running, now, min(quiet_limit, QUIET_SECONDS))
    if _quiet(running, now) >= min(quiet_limit, QUIET_SECONDS) and waits_for_own():
        running.alive_at = now
    running.quiet_seconds = quiet = _quiet(running, now)
    if quiet < quiet_limit:
        return None
    return _by_result(running) if concluded else _stalled(format_duration(quiet_limit))


def _elsewhere(running: Running) -> Verdict | None:
    """Return why an attempt is ended that goes on in another session than it was asked for."""
    other = running.output.seen.other_session
    return None if other is None else session_lost(other)


def unanswered(running: Running, now: float) -> Verdict | None:
    """Return why an attempt is ended whose model has given no answer for too long, if so.

    Some CLIs ask a service that fails again and again without end, or without a word of it. The
    time counts from the last step that the output has told; while a tool runs, it does not count.
    """
    executor = running.executor
    if executor is None:
        return None
    seconds = api_seconds(executor.config)
    if running.output.steps != running.steps or not running.awaits_model:
        running.steps, running.step_at = running.output.steps, now
    if seconds is None or now - running.step_at < seconds:
        return None
    cause, failed = _last_failure(running)
    words = f"no answer from its model for {format_duration(seconds)}"
    return Verdict(cause, f"{words} (last failure: {failed})" if failed else words)


def failing(running: Running) -> Verdict | None:
    """Return why an attempt is ended that fails and tries again without end, if it does.

    OpenCode makes a conversation shorter that is too long for its model, and asks again, as often
    as its service says so (measured, 1.18.33). Each time costs a request.
    """
    seen = running.output.seen
    if running.executor is None or seen.failure is None or seen.failures < MOST_FAILURES:
        return None
    ending = Ending(1, None, stderr_tail=read_tail(running.paths.stderr), output_tail="")
    verdict = running.executor.classify(ending, msgspec.structs.replace(seen, result=seen.failure))
    reason = f"failed {seen.failures} times and did nothing else: {verdict.reason}"
    return msgspec.structs.replace(verdict, reason=reason)


def _last_failure(running: Running) -> tuple[Cause, str]:
    """Return why the model gives no answer, and how the CLI tells it.

    Some tell the status of a failed request on standard error alone (Qwen Code, measured).
    """
    status = running.output.seen.api_status
    if status is not None:
        is_limit = status == TOO_MANY
        return Cause.RATE_LIMITED if is_limit else Cause.API_ERROR, f"HTTP status {status}"
    ending = Ending(1, None, stderr_tail=read_tail(running.paths.stderr), output_tail="")
    verdict = running.agents_executor.classify(ending, running.output.seen)
    is_limit = verdict.cause is Cause.RATE_LIMITED
    return (verdict.cause, verdict.reason) if is_limit else (Cause.API_ERROR, "")


def _has_concluded(running: Running, now: float) -> bool:
    """Whether the result was the last word; remembers since when.

    Nobody knows it while there is output that was not read yet.
    """
    if running.output.is_behind or not running.output.seen.concluded:
        running.concluded_at = None
    elif running.concluded_at is None:
        running.concluded_at = running.look_at = (
            now  # it may be quiet for a shorter time from here on
        )
    return running.concluded_at is not None


def _quiet(running: Running, now: float) -> float:
    """Return for how long there was no sign of life, in seconds."""
    return now - max(running.alive_at, running.concluded_at or 0.0)


def _quiet_limit(limits: ExecutorConfig, *, in_batch: bool, hangs: bool) -> float:
    """Return how long there may be no sign of life, in seconds; infinity for ever."""
    by_default = QUIET_SECONDS if in_batch else math.inf
    stall = limits.stall_timeout_seconds
    seconds = by_default if stall is None else stall or math.inf
    return min(HANG_SECONDS, seconds) if hangs else seconds


def _timed_out(took: str) -> Verdict:
    return Verdict(Cause.TIMED_OUT, f"timed out after {took}")


def _stalled(quiet: str) -> Verdict:
    return Verdict(Cause.STALLED, f"stalled: {NO_SIGNS} for {quiet}")


def _by_result(running: Running) -> Verdict:
    """Return what the attempt would be judged by if its program had ended after its result."""
    result = running.output.seen.result
    failed = result is not None and result.is_error
    stderr, output = read_tail(running.paths.stderr), read_tail(running.paths.output)
    ending = Ending(1 if failed else 0, None, stderr_tail=stderr, output_tail=output)
    verdict = running.agents_executor.classify(ending, running.output.seen)
    left = running.output.seen.background
    tasks = f", with background tasks that still run ({left})" if left else ""
    return msgspec.structs.replace(
        verdict, reason=f"did not end after its result{tasks}: {verdict.reason}"
    )


def _look(running: Running, now: float, quiet_limit: float) -> None:
    """Look for signs of life, now and then."""
    if now < running.look_at:
        return
    running.look_at = now + min(LONGEST_LOOK_SECONDS, quiet_limit / LOOKS)
    before, running.signs = running.signs, signs_of(running, now, running.signs)
    running.busy_seconds = busy_after(running.busy_seconds, before, running.signs)
    if running.busy_seconds > BURST_SECONDS:
        running.busy_seconds = 0.0
        running.alive_at = now


def busy_after(busy: float, before: Signs | None, after: Signs) -> float:
    """Return how much work an agent has to show after one more look, in seconds of CPU time.

    CPU time fills the account and idling drains it. What was written, and a
    process that has ended, are signs by themselves.
    """
    if before is None or before.written != after.written:
        return math.inf
    if before.cpu_seconds is None or after.cpu_seconds is None:
        return busy
    spent = after.cpu_seconds - before.cpu_seconds
    if spent < 0:
        return math.inf
    return max(0.0, busy + spent - IDLE_SHARE * (after.taken_at - before.taken_at))


def signs_of(running: Running, now: float, before: Signs | None = None) -> Signs:
    """Return what an attempt has done until `now`.

    Its CPU time takes milliseconds to find out. It is asked for only where nothing was
    written since `before`: what was written is a sign by itself.
    """
    supervisor = running.attempt.supervisor
    signs = Signs(
        taken_at=now,
        output_bytes=_size(running.paths.output),
        stderr_bytes=_size(running.paths.stderr),
        transcript_bytes=sum(_size(path) for path in running.transcripts),
    )
    if before is None or before.written != signs.written:
        return signs
    cpu = process_facts.tree_cpu_seconds(supervisor.pid) if supervisor else 0.0
    return dataclasses.replace(signs, cpu_seconds=cpu)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


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
