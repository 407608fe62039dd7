"""Whether any job of a project lives, for the keeper of its state's copies.

Owns where that is looked for: in the queue's records, and, since `git clean`
takes the queue as well, among the running processes that carry an attempt of
this workspace where there are no records to be read: an attempt's variables
can be set by anybody. Imported only where a state file is not what sow wrote last.
"""

import os
from contextlib import closing, suppress
from pathlib import Path

from sow import env_vars
from sow.errors import QueueError, SowError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace
from sow.processes import process_facts
from sow.state.kept import keeper_hooks
from sow.state.kept.guard import restore_project


def live_job_label(root: Path, project_id: str) -> str:
    """Return who of a project's jobs has not ended, as `job 12`; empty for nobody."""
    with suppress(QueueError):  # who cannot ask the queue still sees the processes
        database = open_existing_queue(Workspace(root))
        if database is not None:
            with closing(database):
                return named(jobs.any_live_job(database, ProjectId(project_id)))
    return among_processes(root)


def witness_by(database: Database) -> keeper_hooks.Witness:
    """Return who tells who lives by the records of a file that is open, were it removed since."""

    def live_job_label(root: Path, project_id: str) -> str:
        try:
            return named(jobs.any_live_job(database, ProjectId(project_id)))
        except QueueError:  # a file that was written over in place, say
            return among_processes(root)

    return live_job_label


def restore_lost_state(workspace: Workspace, database: Database) -> None:
    """Put back the state that went together with the queue's file, which we still have open.

    Its records tell who lived at that moment. Raises nothing: it is done on the way out.
    """
    keeper_hooks.OURS.witness = witness_by(database)  # for the rest of the command
    with suppress(SowError, OSError):
        restore_project(workspace.root)


def named(job: int | None) -> str:
    """Return how a job that lives is called; empty for none."""
    return "" if job is None else f"job {job}"


def among_processes(root: Path) -> str:
    """Return whose agent runs in a workspace, as its processes tell; empty for nobody's.

    This very process is no sign of one: what an agent calls is not all that runs of it.
    """
    for spelling in dict.fromkeys((str(root), os.path.realpath(root))):
        for pid in process_facts.carriers(env_vars.ROOT, spelling):
            attempt = (process_facts.variables(pid) or {}).get(env_vars.ATTEMPT_ID, "")
            job = attempt.partition(".")[0]
            if job and pid != os.getpid():
                return f"job {job}"
    return ""
