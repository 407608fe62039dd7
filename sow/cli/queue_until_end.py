"""The queue of a command that only reads: open until the command ends, and closed then.

A queue that is left open leaves its log and the log's index behind, both empty. Whoever opens it
next has to look through `/proc` for a process that has them open.
"""

from sow.cli.this_call import this_call
from sow.jobs.database import Database, open_existing_queue
from sow.paths import Workspace


def queue_until_end(workspace: Workspace) -> Database | None:
    """Open the queue of a workspace until the command ends; None where nothing was ever queued."""
    database = open_existing_queue(workspace)
    if database is not None:
        close_at_end(database)
    return database


def close_at_end(database: Database) -> None:
    """Have a queue closed when the command that runs now has ended, however it ends."""
    this_call().at_end.callback(database.close)
