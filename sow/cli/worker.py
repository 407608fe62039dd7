"""`sow worker`: run a worker; see, stop and read the ones there are."""

import os
import select
import sys
from pathlib import Path

from sow import env_vars, late_modules
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import COUNT, json_option
from sow.paths import Workspace

START_SECONDS = 10.0
"""How long `--background` waits at most until its worker is on record."""


@click.group(cls=click.LateClass("lazy", "LazyGroup"), words="worker", invoke_without_command=True)
@click.option(
    "--concurrency",
    type=COUNT,
    help="The most agents this worker runs at once (the project's own limit holds as well).",
)
@click.option(
    "--drain",
    is_flag=True,
    help="Exit when the queue is empty; on a stop, wait for running agents first.",
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Read the user's configuration from this file (as SOW_CONFIG does).",
)
@click.option("--background", is_flag=True, help="Run without the terminal; exit when idle.")
@json_option
def worker(
    concurrency: int | None,
    drain: bool,
    config: Path | None,
    background: bool,
    as_json: bool,
) -> None:
    """Take jobs from the queue and run their agents.

    On the first INT, TERM or HUP it takes no new job and exits; its agents
    continue, and the next worker adopts them. On the second it ends the agents
    and queues their jobs again as resumes.
    """
    late_modules.put_off(late_modules.OF_WORKER)
    workspace = here()
    if config is not None:
        os.environ[env_vars.CONFIG] = str(config.absolute())  # where the queue is, it says too
    environ = dict(os.environ)
    starting = _cut_loose(workspace) if background else None
    # The one line that starts the other package: `sow worker list` needs none of it.
    from worker.main import WorkerOptions, serve

    options = WorkerOptions(concurrency, drain, background, as_json, starting)
    if background or as_json or not sys.stderr.isatty():
        serve(workspace, options, environ)
        return
    # A person's terminal alone has rows.
    from sow.cli.job_rows import rows_below_log

    with rows_below_log(workspace):
        serve(workspace, options, environ)


def _cut_loose(workspace: Workspace) -> int:
    """Go on as a process of our own session that nobody waits for, speaking into a log file.

    Returns a descriptor: the command ends once it is closed here, or we have died.
    """
    # As above: only a worker opens the queue here.
    from sow.jobs.database import open_queue

    open_queue(workspace).close()
    waiting, starting = os.pipe()
    if os.fork():
        os.close(starting)
        select.select([waiting], [], [], START_SECONDS)
        os._exit(0)
    os.close(waiting)
    os.setsid()
    if os.fork():
        os._exit(0)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    log = os.open(workspace.workers / f"w{os.getpid()}.log", flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    os.chdir(workspace.root)
    return starting
