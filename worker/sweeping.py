"""What killed processes have left on the disk, swept when a worker has nothing else to do.

Owns when it counts as nobody's: that is asked of locks and of jobs, never of
an age.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from sow.calls.live_jobs import refuse_while_live
from sow.clones.main_checkout import main_checkout
from sow.clones.sweeping import may_have_clones, sweep_clones, swept_paths
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import SowError
from sow.files.scratch import sweep_scratch
from sow.ids import TaskId
from worker.context import WorkerContext, logger
from worker.review_sweep import is_live


def in_background(work: Callable[[], None]) -> None:
    """Do what may take a while, and that nobody waits for, in a thread of its own.

    What is left of it where the worker ends, or the machine allows no further thread, is swept
    later.
    """
    try:
        threading.Thread(target=work, name="sweep", daemon=True).start()
    except RuntimeError as error:
        logger.warning("what reviews have left is swept later: %s", error)


def sweep_leftovers(context: WorkerContext) -> None:
    """Delete temporary folders and parts of clones that nobody works with any more.

    What cannot be found or deleted now stays for the next sweep.
    """
    swept = sweep_scratch()
    with suppress(SowError, OSError):
        settings, _ = clone_settings(read_repository(context.workspace.repository_config))
        if may_have_clones(settings):
            main = main_checkout(context.workspace, settings)
            done = sweep_clones(
                main,
                lambda task: refuse_while_live(context.workspace, TaskId(task), has_option=False),
                lambda job: is_live(context, job),
            )
            swept += swept_paths(done)
    if swept:
        logger.info("swept what was left by processes that died: %s", ", ".join(map(str, swept)))
