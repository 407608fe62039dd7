"""How a waiting call goes away: its signals, and what it says of what goes on without it.

Owns the signals that detach, and the words that name what there is to wait
for. The wait itself is `sow.calls.wait`.
"""

import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

import click

from sow.calls.caller import Caller
from sow.calls.state_witness import see_to_what_went
from sow.cli.wait_options import WaitOptions
from sow.errors import ExitCode, SowError
from sow.ids import JobId, ProjectId, TaskId
from sow.jobs import jobs
from sow.jobs.database import Database
from sow.jobs.faults import QueueReplaced
from sow.state.projects import read_project

DETACHING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def detaching_signals() -> Iterator[None]:
    """Turn the first INT, TERM or HUP into an exception, so that the caller goes in good order.

    What follows is ignored: a terminal that closes sends several.
    """

    def interrupt(signum: int, _frame: object) -> None:
        for each in DETACHING:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in DETACHING}
    try:
        yield
    finally:
        for signum, handler in before.items():
            if signal.getsignal(signum) is interrupt:  # else we are on our way out
                signal.signal(signum, handler)


@contextmanager
def naming_tasks(caller: Caller, database: Database, task_ids: Sequence[str]) -> Iterator[None]:
    """Have a call whose queue is gone say which tasks tell how its agents stand.

    What took the queue may have taken the state as well, and soon nobody may live to say so.
    """
    try:
        yield
    except QueueReplaced as error:
        see_to_what_went(caller.workspace, database)
        raise QueueReplaced(error.path, task_ids) from error


def say_detached(
    caller: Caller,
    database: Database,
    task_ids: Sequence[TaskId],
    options: WaitOptions,
    told: Collection[JobId],
    is_ours: Callable[[JobId], bool] = lambda _: True,
) -> int:
    """Tell a person how to wait again and how to cancel; return the exit code.

    Named are the tasks that there is something to wait for: not those whose
    outcome was `told`, nor those that no job was placed for before we went.
    `is_ours` tells the jobs of this call from older ones of the same tasks.
    """
    left = _to_wait_for(caller, database, task_ids, told, is_ours)
    if left:
        lines = [
            f"\nDetached; what was queued goes on. To wait again: `{options.command_for(left)}`."
        ]
        lines += [f"To end it: `sow agent cancel {task_id}`." for task_id in left]
    else:
        lines = ["\nDetached; nothing was queued that is still to be told."]
    with suppress(OSError):  # the terminal may be gone: that is why we detach
        click.echo("\n".join(lines), err=True)
    return int(ExitCode.INTERRUPTED)


def _to_wait_for(
    caller: Caller,
    database: Database,
    task_ids: Sequence[TaskId],
    told: Collection[JobId],
    is_ours: Callable[[JobId], bool],
) -> list[TaskId]:
    try:
        project_id = ProjectId(read_project(caller.workspace).id)
        last = {task_id: jobs.last_job(database, project_id, task_id) for task_id in task_ids}
    except SowError:  # nobody can tell now: rather one name too many
        return list(task_ids)
    return [
        task_id
        for task_id, job in last.items()
        if job is not None and is_ours(job.id) and job.id not in told
    ]
