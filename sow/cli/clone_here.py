"""What the commands for clones begin with: the checkout here, and that no job of a task lives."""

from collections.abc import Callable

from sow.cli.arguments import here
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.config.checks import read_repository
from sow.config.clones import clone_settings
from sow.errors import StateError
from sow.ids import TaskId
from sow.state.state_errors import NoProject, ProjectWithoutState


def this_checkout(of_all: str = "") -> MainCheckout:
    """Return the main checkout that the working folder belongs to.

    Of the configuration only the repository's file counts. `of_all` is the command that does the
    same for ended projects: it is named where there is no other. Raises StateError,
    ConfigurationError.
    """
    workspace = here()
    settings, _ = clone_settings(read_repository(workspace.repository_config))
    try:
        return main_checkout(workspace, settings)
    except NoProject as error:
        if not of_all or isinstance(error, ProjectWithoutState):
            raise
        raise StateError(error.message, hint=f"For ended projects: `{of_all}`.") from None


def refuse_live(main: MainCheckout) -> Callable[[str], None]:
    """Return what refuses a task whose job lives."""
    # A list asks nothing of the queue.
    from sow.calls.live_jobs import refuse_while_live

    return lambda task: refuse_while_live(main.workspace, TaskId(task), has_option=False)
