"""What killed processes have left on the disk, swept when a worker has nothing else to do.

Owns when it counts as nobody's: that is asked of locks and of jobs, never of
an age.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sow.calls.live_jobs import refuse_while_live
from sow.clones.main_checkout import main_checkout
from sow.clones.place import may_have_clones
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import SowError
from sow.files.scratch import sweep_scratch
from sow.ids import TaskId
from worker.context import WorkerContext, logger
from worker.kinds.review.sweep import is_live


def in_background(work: Callable[[], None]) -> None:
    """Do what may take a while, and that nobody waits for, in a thread of its own.

    What is left of it where the worker ends, or the machine allows no further thread, is swept
    later.
    """
    try:
        threading.Thread(target=work, name="sweep", daemon=True).start()
    except RuntimeError as error:
        logger.warning("what earlier jobs have left is removed later: %s", error)


class Sweeper:
    """The sweeps of one worker.

    To know that nothing stands in a clone takes some twenty processes of git. So a clone that a
    sweep has kept is looked at again only by a thorough one.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._kept: frozenset[str] = frozenset()
        """The tasks whose clones were kept."""

    def begin(self, *, thorough: bool = False) -> None:
        """Sweep in the background."""
        in_background(lambda: self.sweep(thorough=thorough))

    def sweep(self, *, thorough: bool = False) -> None:
        """Delete temporary folders and parts of clones that nobody works with any more.

        What cannot be found or deleted now stays for the next sweep.
        """
        swept = sweep_scratch()
        with suppress(SowError, OSError):
            swept += self._sweep_clones(frozenset() if thorough else self._kept)
        if swept:
            logger.info("removed files of processes that died: %s", ", ".join(map(str, swept)))

    def _sweep_clones(self, kept: frozenset[str]) -> tuple[Path, ...]:
        context = self._context
        settings, _ = clone_settings(read_repository(context.workspace.repository_config))
        if not may_have_clones(settings):
            return ()
        # Only where there are clones.
        from sow.clones.sweeping import sweep_clones, swept_paths

        done = sweep_clones(
            main_checkout(context.workspace, settings),
            lambda task: refuse_while_live(context.workspace, TaskId(task), has_option=False),
            lambda job: is_live(context, job),
            but_not=kept,
        )
        self._kept = kept | {each.task for each in done.kept}
        return swept_paths(done)
