"""What the commands for clones begin with: the checkout here, and that no job of a task lives."""

from collections.abc import Callable

from sow.cli.arguments import here
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.ids import TaskId


def this_checkout() -> MainCheckout:
    """Return the main checkout that the working folder belongs to.

    Of the configuration only the repository's file counts. Raises StateError, ConfigurationError.
    """
    workspace = here()
    settings, _ = clone_settings(read_repository(workspace.repository_config))
    return main_checkout(workspace, settings)


def refuse_live(main: MainCheckout) -> Callable[[str], None]:
    """Return what refuses a task whose job lives."""
    # A list asks nothing of the queue.
    from sow.calls.live_jobs import refuse_while_live

    return lambda task: refuse_while_live(main.workspace, TaskId(task), has_option=False)
