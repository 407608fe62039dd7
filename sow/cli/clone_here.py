"""What the commands for clones begin with: the checkout here, and that no job of a task lives."""

from collections.abc import Callable

from sow.cli.arguments import this_caller
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.ids import TaskId


def this_checkout() -> MainCheckout:
    """Return the main checkout that the working folder belongs to. Raises StateError."""
    caller = this_caller()
    return main_checkout(caller.workspace, caller.load_configuration().clones)


def refuse_live(main: MainCheckout) -> Callable[[str], None]:
    """Return what refuses a task whose job lives."""
    # A list asks nothing of the queue.
    from sow.calls.live_jobs import refuse_while_live

    return lambda task: refuse_while_live(main.workspace, TaskId(task), has_option=False)
