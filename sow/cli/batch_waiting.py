"""How a command that waits for a batch speaks, and goes away."""

import time
from collections import Counter
from contextlib import closing

from sow.batches.views import standings_of
from sow.calls.batch_wait import BatchLook, wait_for_batch
from sow.calls.caller import Caller
from sow.cli import late_click as click
from sow.cli.batch_words import ELSEWHERE, show, waiting_words
from sow.cli.call_options import WaitOptions, bound_of
from sow.cli.detaching import GONE, detaching_signals, leave_if_nobody_waits
from sow.cli.progress import LiveView
from sow.errors import ExitCode
from sow.ids import BatchId
from sow.jobs import batches
from sow.jobs.changed_jobs import LiveJobs
from sow.jobs.database import Database, open_queue
from sow.paths import Workspace


class BatchProgress(LiveView):
    """What a call that waits for a batch shows on stderr."""

    def __init__(self, workspace: Workspace, database: Database, *, as_json: bool) -> None:
        super().__init__(workspace, database, as_json=as_json)
        self._live = LiveJobs(database)

    def show(self, found: BatchLook) -> None:
        """Show how the batch stands now."""
        if self.is_terminal:
            live = self._live.read(at=time.monotonic())
            jobs = [job for job in live if job.batch == found.batch.id]
            self.draw(jobs, _heading(self.database, found))
        elif not self.as_json:
            self.news.tell_of_batch(found.batch.id)


def _heading(database: Database, found: BatchLook) -> str:
    states = Counter(each.state for each in standings_of(database, found.batch, found.plan))
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "no task"
    return f"Batch {found.batch.id} is {found.batch.state}: {counts}"


def wait_and_print(caller: Caller, batch_id: BatchId, options: WaitOptions) -> int:
    """Wait until a batch rests, print it, and return the exit code."""
    seconds = 0.0 if options.detach else bound_of(options, caller)
    config = caller.load_configuration()
    with closing(open_queue(caller.workspace)) as database, detaching_signals():
        view = BatchProgress(caller.workspace, database, as_json=options.as_json)
        label = batches.get_batch(database, batch_id).label
        is_noted = False

        def tick(found: BatchLook) -> None:
            nonlocal is_noted
            leave_if_nobody_waits()
            if found.is_elsewhere and not is_noted:
                is_noted = True
                view.clear()
                click.echo(f"Note: batch {batch_id} waits: {ELSEWHERE}", err=True)
            view.show(found)

        try:
            with view:
                found = wait_for_batch(
                    caller, database, config, batch_id, seconds=seconds, on_tick=tick
                )
            return show(caller, database, found, options)
        except GONE:
            words = f"The batch continues. To wait again: `{waiting_words(label, options)}`."
            click.echo(f"\nDetached. {words} To end it: `sow batch cancel {label}`.", err=True)
            return int(ExitCode.INTERRUPTED)
