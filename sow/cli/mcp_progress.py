"""What a client is told while a tool of it waits: the words of the line that a terminal shows.

Reads the records alone. Whatever cannot be read leaves the words empty: the call itself says why.
"""

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from sow.cli.live_rows import in_one_line, row_of
from sow.errors import SowError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.mcp_server.tool import Arguments
from sow.reports.prospects import look_around
from sow.state.kept.lost import find_or_bring_back
from sow.state.kept.store import project_id_at

MOST_SHOWN = 3
"""How many jobs are told of; of the others the number is."""


def words_of_waiting(environ: Mapping[str, str], folder: Path, arguments: Arguments) -> str:
    """Return how the jobs stand that a call waits for; empty where nobody can tell."""
    try:
        return _words(environ, folder, arguments)
    except (SowError, OSError):
        return ""


def _words(environ: Mapping[str, str], folder: Path, arguments: Arguments) -> str:
    workspace = find_or_bring_back(folder, environ)
    database = open_existing_queue(workspace)
    if database is None:
        return ""
    wanted, numbers = _tasks(arguments), _jobs(arguments)
    project = ProjectId(project_id_at(workspace.root))
    with closing(database):
        live = [job for job in jobs.active_jobs(database) if job.project_id == project]
        if numbers:
            live = [job for job in live if str(job.id) in numbers]
        elif wanted:
            live = [job for job in live if wanted & set(job.tasks)]
        now = time.time()
        shown = [
            in_one_line(row_of(job, look_around(workspace, database, job, now=now), now))
            for job in live[:MOST_SHOWN]
        ]
    more = len(live) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _tasks(arguments: Arguments) -> set[str]:
    return {*arguments.get("tasks", ()), *filter(None, [arguments.get("task")])}


def _jobs(arguments: Arguments) -> set[str]:
    return {*arguments.get("jobs", ()), *filter(None, [arguments.get("job")])}
