"""How a waiting call goes away, and what it says of what goes on without it.

Owns the signals that detach, the look at standard output, and the words that
name what there is to wait for. The call itself is `sow.calls.call`.
"""

import select
from _signal import (  # type: ignore[import-not-found]  # `signal` takes long
    SIG_IGN,
    SIGHUP,
    SIGINT,
    SIGTERM,
    getsignal,
)
from _signal import signal as set_handler
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from sow.calls.call import CallProgress, jobs_left, left_to_wait_for
from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.call_options import WaitOptions
from sow.errors import ExitCode
from sow.ids import TaskId
from sow.jobs.database import Database
from sow.jobs.faults import QueueReplaced

DETACHING = (SIGINT, SIGTERM, SIGHUP)


class Detached(BrokenPipeError):
    """Nobody reads our output any more: the caller goes away, its jobs go on."""


_has_come = False
"""Whether a signal has come, in `detaching_signals`."""
GONE = (KeyboardInterrupt, Detached)
"""What ends a call whose caller goes away: a signal (`detaching_signals`), or a closed pipe."""


@contextmanager
def detaching_signals(*, keeps_ignored: bool = False) -> Iterator[None]:
    """Turn the first INT, TERM or HUP into an exception, so that the caller goes in good order.

    With `keeps_ignored` one that the process was started to ignore, by nohup(1) say, stays ignored.

    What follows is ignored: a terminal that closes sends several. The exception itself may be lost:
    Python drops what a callback of an import or a finalizer raises. So `leave_if_nobody_waits`,
    which comes before each sleep, asks once more.
    """
    global _has_come  # noqa: PLW0603
    _has_come = False

    def interrupt(signum: int, _frame: object) -> None:
        global _has_come  # noqa: PLW0603
        _has_come = True
        for each in DETACHING:
            set_handler(each, SIG_IGN)
        raise KeyboardInterrupt(signum)

    chosen = [each for each in DETACHING if not (keeps_ignored and getsignal(each) == SIG_IGN)]
    before = {signum: set_handler(signum, interrupt) for signum in chosen}
    try:
        yield
    finally:
        for signum, handler in before.items():
            if getsignal(signum) is interrupt:  # else we are on our way out
                set_handler(signum, handler)


@contextmanager
def signals_ignored() -> Iterator[None]:
    """Let no INT, TERM or HUP disturb what has to be done to its end."""
    before = {signum: set_handler(signum, SIG_IGN) for signum in DETACHING}
    try:
        yield
    finally:
        for signum, handler in before.items():
            set_handler(signum, handler)


@contextmanager
def naming_tasks(caller: Caller, database: Database, task_ids: Sequence[TaskId]) -> Iterator[None]:
    """Have a call whose queue is gone say which tasks tell how its agents stand.

    What took the queue may have taken the state as well, and soon nobody may live to say so.
    """
    try:
        yield
    except QueueReplaced as error:
        from sow.calls.state_witness import restore_lost_state  # no call but this one needs it

        restore_lost_state(caller.workspace, database)
        raise QueueReplaced(error.path, [task_id for task_id in task_ids if task_id]) from error


def leave_if_nobody_waits() -> None:
    """Leave a call that a signal has detached, or whose standard output is a pipe without a reader.

    Raises KeyboardInterrupt and Detached.
    """
    if _has_come:
        raise KeyboardInterrupt
    poller = select.poll()
    poller.register(1, 0)
    if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poller.poll(0)):
        raise Detached


def say_detached(
    caller: Caller, database: Database, call_progress: CallProgress, options: WaitOptions
) -> int:
    """Tell a person how to wait again and how to cancel; return the exit code."""
    if options.names_jobs:
        job_ids = jobs_left(call_progress)
        again = options.command_for([], job_ids)
        ends = [f"sow job cancel {job_id}" for job_id in job_ids]
    else:
        task_ids = left_to_wait_for(caller, database, call_progress)
        again = options.command_for(task_ids, [])
        ends = [f"sow agent cancel {task_id}" for task_id in task_ids]
    if ends:
        lines = [f"\nDetached; the queued jobs continue. To wait again: `{again}`."]
        lines += [f"To end it: `{end}`." for end in ends]
    else:
        lines = ["\nDetached; there is no job to wait for."]
    with suppress(OSError):  # the terminal may be gone: that is why we detach
        click.echo("\n".join(lines), err=True)
    return int(ExitCode.INTERRUPTED)
