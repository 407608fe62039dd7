"""A batch that waited for a person goes on: somebody has changed a task of it by hand.

Owns telling the record of it, and seeing to a worker; it waits for no other call that starts
one, for an agent may wait for this one. Says nothing where the task
belongs to no batch.
"""

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

from sow.calls.autostart import Staffing
from sow.calls.caller import Caller, find_caller
from sow.errors import QueueError
from sow.ids import ProjectId, TaskId
from sow.jobs import batch_news, batches, workers
from sow.jobs.database import open_existing_queue
from sow.schema.task import Task, TaskStatus
from sow.state.projects import read_project


def touch_batch(caller: Caller, task: Task) -> None:
    """Have the batch of a task, if one goes on, see how the task stands now.

    A person's verdict on work that is not completed by it forgives what has kept that from going
    on. The change itself is made: what keeps a worker from starting is not its failure.
    """
    if os.path.lexists(caller.workspace.host_here):
        return  # the task's home does so, once it has heard of the change
    database = open_existing_queue(caller.workspace)
    if database is None:
        return
    with closing(database):
        project_id, status = ProjectId(read_project(caller.workspace).id), task.status
        forgives = caller.job_id is None and status is TaskStatus.NEEDS_REVIEW
        if batch_news.touch(database, project_id, TaskId(task.id), status.value, forgives=forgives):
            workers.wake(caller.workspace)
            with suppress(QueueError):
                Staffing(caller, caller.load_configuration(), database).look_after()


def touch_all_batches(caller: Caller) -> None:
    """Have each batch that goes on look at its items again: the project's plan has begun.

    What keeps a worker from starting is not the caller's failure.
    """
    with suppress(QueueError):
        database = open_existing_queue(caller.workspace)
        if database is None:
            return
        with closing(database):
            project_id = ProjectId(read_project(caller.workspace).id)
            found = batches.going_on(database, project_id)
            for batch in found:
                batches.forget_refusals(database, batch.id)
                batch_news.reopen(database, batch.id)
            if found:
                workers.wake(caller.workspace)
                Staffing(caller, caller.load_configuration(), database).look_after()


def touch_from_here(environ: Mapping[str, str], folder: Path, task: Task) -> None:
    """Do so for a command that needs nothing else of the queue; its faults stop nothing."""
    with suppress(QueueError):
        touch_batch(find_caller(environ, folder), task)
