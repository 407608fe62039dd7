"""Driving the batches: whenever something has happened to one, a worker takes a turn of it.

Owns when that is, and that one worker at a time does it. What a turn is stands in
`sow.calls.batch_turn`. Runs on the thread that starts jobs; where nothing has changed
since the last look, that costs one query.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sow import env_vars
from sow.calls.caller import Caller
from sow.environment import worker_environment
from sow.errors import QueueError, SowError
from sow.faults import passing_fault, reason_of, words_of_bug
from sow.files.flock import open_lock_file, try_lock
from sow.ids import ProjectId
from sow.jobs import batch_news, batch_summaries, changes, statuses
from sow.jobs.faults import QueueChanged
from sow.schema.batch import Batch
from sow.state.kept.store import project_id_at
from worker.context import WorkerContext, logger

if TYPE_CHECKING:
    from sow.batches.gathering import Seen
    from sow.calls.batch_look import Work

MOST_ROUNDS = 10
"""How often one look goes round: what one batch does (it gives the turn to merge back, say) may
be what another, which has had its turn in this round, waits for."""

BUG = "This is a bug. Details are in the worker's log (`sow worker logs`)."


class BatchDriver:
    """What one worker does for batches."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._looked_up_to = -1
        self._project = ""

    @cached_property
    def _seen(self) -> "Seen":
        # Only where there is a batch.
        from sow.batches.gathering import Seen

        return Seen(self._context.workspace)

    def drive(self) -> None:
        """Take a turn of every batch that something has happened to; the boundary around it."""
        try:
            self._drive()
        except QueueChanged:
            raise
        except (SowError, OSError, MemoryError) as error:
            self._looked_up_to = -1
            logger.warning("cannot advance the batches yet: %s", reason_of(error))

    def _drive(self) -> None:
        database, workspace = self._context.database, self._context.workspace
        with database.reading():
            has_notes = statuses.has_notes(workspace, database)
            is_any_open = batch_summaries.is_any_open(database)
            upto = changes.newest(database).seq
        if has_notes:
            with database.transaction():
                statuses.take_notes(workspace, database, now=self._context.now())
                upto = changes.newest(database).seq
        if not is_any_open:
            return
        project = project_id_at(workspace.root)
        if (upto, project) == (self._looked_up_to, self._project):
            return
        for _ in range(MOST_ROUNDS):
            waiting = batch_news.pending(
                database, ProjectId(project), self._context.reported_once.skip, to_drive=True
            )
            if not waiting:
                batch_news.pass_over(database, ProjectId(project), upto)
                self._settle_ended(ProjectId(project))
                self._looked_up_to, self._project = upto, project
                return
            with self._alone() as ours:
                if not ours:
                    return  # another worker does it, and rings when there is a job
                are_done = [self._take_turn(batch) for batch in waiting]
                if not all(are_done):
                    return  # what prevents it passes: the next look takes that turn

    def _settle_ended(self, project_id: ProjectId) -> None:
        """Put on record how batches have ended whose canceller did not live to say it."""
        database = self._context.database
        found = batch_summaries.unsettled(database, project_id, self._context.reported_once.skip)
        for batch in batch_news.own_of(database, found) if database.is_shared else found:
            work = self._work(batch)
            if work is not None:
                # As above.
                from sow.calls.batch_turn import settle

                settle(work, self._seen)

    def _take_turn(self, batch: Batch) -> bool:
        """Take a turn of one batch; False where something prevents that which passes.

        That keeps nobody from the other batches. Raises what is wrong with the queue itself.
        """
        # As above.
        from sow.calls.batch_turn import take_turn

        work = self._work(batch)
        if work is None:
            return True
        try:
            take_turn(work, self._seen)
        except QueueChanged:
            raise
        except (SowError, OSError, MemoryError) as error:
            if not isinstance(error, SowError) or passing_fault(error) is not None:
                if isinstance(error, QueueError):
                    raise
                logger.warning("cannot advance batch %s yet: %s", batch.id, reason_of(error))
                return False
            self._pause(work, f"{error.message}\n{error.hint}")
        except Exception as error:  # a boundary: a bug ends in a word to a person, not in silence
            logger.exception("sow itself failed in batch %s", batch.id)
            self._pause(work, f"{words_of_bug(error)}\n{BUG}")
        return True

    def _work(self, batch: Batch) -> "Work | None":
        """Return where the batch's actions are done: with the PATH of whoever made it."""
        # As above.
        from sow.calls.batch_look import Work

        context = self._context
        environ = worker_environment(context.environ) | {"PATH": batch.path_variable}
        if env_vars.CONFIG in context.environ:
            environ[env_vars.CONFIG] = context.environ[env_vars.CONFIG]
        caller = Caller(context.workspace, environ, context.workspace.root, context.clock)
        work = Work(caller, context.database, context.configuration, batch)
        try:
            return replace(work, config=caller.load_configuration())
        except SowError as error:
            self._pause(work, f"{error.message}\n{error.hint}")
            return None

    def _pause(self, work: "Work", reason: str) -> None:
        """Leave a batch to a person that nobody can drive as things stand."""
        # As above.
        from sow.calls.batch_turn import pause

        pause(work, reason.strip())
        batch_news.acknowledge(work.database, work.batch.id, changes.newest(work.database).seq)
        logger.warning("batch %s is paused: %s", work.batch.id, reason.partition("\n")[0])

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Say whether this worker may drive: not while another one does. Its death gives it up."""
        fd = open_lock_file(self._context.workspace.batches_lock)
        try:
            yield try_lock(fd)
        finally:
            os.close(fd)
