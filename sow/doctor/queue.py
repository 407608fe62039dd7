"""How the queue stands: its file or server, the jobs in it, the workers on it.

Reads only. What is wrong is told in the words of the errors that a call would
meet.
"""

from collections.abc import Iterator
from contextlib import closing

from sow import __version__
from sow.clock import Times
from sow.config.configuration import Configuration
from sow.errors import QueueError
from sow.findings import Finding, Level
from sow.jobs import control, jobs, workers
from sow.jobs.database import Database, QueueFile, open_existing_queue
from sow.jobs.faults import QueueDamaged
from sow.jobs.server_place import refuse_without_driver
from sow.jobs.unproven_queue import git_tracks
from sow.jobs.unverifiable import in_doubt
from sow.paths import Workspace, display_path
from sow.processes.life import Life
from sow.schema.job import WorkerRecord

FOR_OTHERS = 0o077
"""The mode of a file that others than its owner may do something with."""


def examine_queue(
    workspace: Workspace, configuration: Configuration, *, now: float
) -> Iterator[Finding]:
    """Yield what is found of the queue."""
    if git_tracks(workspace):
        run = workspace.run.relative_to(workspace.root)
        text = (
            f"Git tracks files in {run}, which belongs to this machine only: a pull can"
            " replace them"
        )
        remedy = f"Run `git rm -r --cached {run}`, so that git stops tracking them; then commit."
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)
    yield from _readable_password(configuration)
    try:
        database = open_existing_queue(workspace)
        if database is None:
            text = "No queue yet: the first job creates it"
            yield Finding(check="queue", level=Level.NOTE, text=text)
            yield from _unused_server(workspace, configuration)
            return
        with closing(database):
            yield from _store(workspace, database)
            yield from _contents(workspace, database, now)
            yield from _workers(workspace, database, configuration)
    except QueueError as error:
        text = error.message[:1].upper() + error.message[1:]
        yield Finding(check="queue", level=Level.ERROR, text=text, remedy=error.hint)


def live_workers(workspace: Workspace) -> list[WorkerRecord]:
    """Return the workers that live on this host, oldest first. Raises QueueError."""
    database = open_existing_queue(workspace)
    if database is None:
        return []
    with closing(database):
        return workers.living(database, workspace, everywhere=False)


def _store(workspace: Workspace, database: Database) -> Iterator[Finding]:
    if isinstance(database, QueueFile):
        yield _file(workspace, database)
        return
    # They import psycopg, which few users have.
    from sow.doctor.queue_server import examine_server
    from sow.jobs.queue_server import QueueServer

    if isinstance(database, QueueServer):
        yield from examine_server(workspace, database)
    if workspace.queue_db.exists():
        text = f"The queue file from before the server ({workspace.queue_db}) is not used any more"
        remedy = (
            "If jobs of it still run, take `queue: url` out of your configuration until they have"
            " ended. Otherwise there is nothing to do."
        )
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)


def _readable_password(configuration: Configuration) -> Iterator[Finding]:
    """Yield that others can read the password of the queue's server."""
    if not configuration.queue_url:
        return
    from sow.config.queue import has_password  # few users name a server

    if not has_password(configuration.queue_url):
        return
    path = configuration.path
    if path.stat().st_mode & FOR_OTHERS:
        text = f"Other users can read the password of the queue's server in {display_path(path)}"
        remedy = f"Run `chmod 600 {path}`, or keep the password in `~/.pgpass`."
        yield Finding(check="queue", level=Level.WARNING, text=text, remedy=remedy)


def _unused_server(workspace: Workspace, configuration: Configuration) -> Iterator[Finding]:
    if configuration.queue_url:
        refuse_without_driver()
        from sow.doctor.queue_server import examine_unused_server  # as above

        yield from examine_unused_server(workspace, configuration.queue_url)


def _file(workspace: Workspace, database: QueueFile) -> Finding:
    damage = database.damage()
    if not damage:
        text = f"The queue file is intact ({workspace.queue_db})"
        return Finding(check="queue", level=Level.OK, text=text)
    text = f"The queue file is damaged: {damage}"
    remedy = QueueDamaged(workspace.queue_db, damage).hint
    return Finding(check="queue", level=Level.ERROR, text=text, remedy=remedy)


def _contents(workspace: Workspace, database: Database, now: float) -> Iterator[Finding]:
    paused = control.paused_since(database)
    if paused is not None:
        yield Finding(
            check="paused",
            level=Level.WARNING,
            text=f"The queue has been paused since {Times(now).of_record(paused)}",
            remedy="`sow queue resume` continues it.",
            facts={"paused_since": paused},
        )
    aside = len(control.set_aside(database))
    if aside:
        text = f"Messages that sow set aside because they belong to no job: {aside}"
        remedy = "`sow queue status` shows them."
        yield Finding(check="set_aside", level=Level.WARNING, text=text, remedy=remedy)
    doubtful = sorted(in_doubt(workspace, database, jobs.active_jobs(database)))
    if doubtful:
        text = (
            "sow cannot see from here whether these jobs still run:"
            f" {', '.join(map(str, doubtful))}"
        )
        remedy = "Make sure that they no longer run, then `sow job resolve JOB --gone`."
        yield Finding(check="doubt", level=Level.WARNING, text=text, remedy=remedy)


def _workers(
    workspace: Workspace, database: Database, configuration: Configuration
) -> Iterator[Finding]:
    records = workers.registered(database)
    lives = [
        (worker, workers.life_of(database, workspace, worker.id, worker)) for worker in records
    ]
    alive = [worker for worker, life in lives if life is Life.ALIVE]
    for worker in alive:
        yield _alive(worker)
    unknown = [worker.id for worker, life in lives if life is Life.UNVERIFIABLE]
    if unknown:
        text = f"sow cannot see from here whether these workers still run: {', '.join(unknown)}"
        remedy = (
            "Make sure that they no longer run, then `sow job resolve JOB --gone` for their jobs."
        )
        yield Finding(check="worker", level=Level.WARNING, text=text, remedy=remedy)
    dead = [worker.id for worker, life in lives if life is Life.DEAD]
    if dead:
        text = f"Dead workers: {', '.join(dead)}"
        remedy = "The next worker continues their jobs."
        yield Finding(check="worker", level=Level.NOTE, text=text, remedy=remedy)
    if not alive:
        yield _nobody(database, configuration)


def _alive(worker: WorkerRecord) -> Finding:
    facts = {"worker": worker.id, "pid": worker.process.pid, "version": worker.version}
    text = f"Worker {worker.id} runs (pid {worker.process.pid}, sow {worker.version})"
    if worker.version == __version__:
        return Finding(check="worker", level=Level.OK, text=text, facts=facts)
    text = f"{text}, and this is sow {__version__}"
    remedy = f"`sow worker stop {worker.id}`: the next call starts a new one, and agents continue."
    return Finding(check="worker", level=Level.WARNING, text=text, remedy=remedy, facts=facts)


def _nobody(database: Database, configuration: Configuration) -> Finding:
    waiting = jobs.has_active_jobs(database)
    if configuration.worker.autostart:
        text = "No worker runs; the next call starts one"
        level = Level.WARNING if waiting else Level.NOTE
    else:
        text = "No worker runs, and worker.autostart is off"
        level = Level.WARNING
    remedy = "`sow worker` starts one; jobs wait for it." if level is Level.WARNING else ""
    return Finding(check="worker", level=level, text=text, remedy=remedy)
