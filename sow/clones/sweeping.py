"""What killed processes have left of a project's clones, taken away without being asked for.

That is what `prune` may take and nobody can want: what was half made or half
removed, the clones of reviews that are over, and the clones of merged tasks in
which nothing stands, which their merge was about to remove.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from msgspec import UNSET

from sow.clones.listing import all_clone_places
from sow.clones.locks import Ask
from sow.clones.main_checkout import MainCheckout
from sow.clones.removal import Pruned, prune_clones
from sow.errors import StateError
from sow.schema.task import Task, TaskStatus
from sow.state.tasks import read_task


def sweep_clones(
    main: MainCheckout,
    ask: Ask,
    is_live: Callable[[int], bool],
    *,
    but_not: Collection[str] = (),
) -> Pruned:
    """Take away what killed processes have left of a project's clones.

    Only the tasks that have something there are read; the clones of those in `but_not` stay,
    unseen. `ask` and `is_live` are those of `prune_clones`. Raises what reading the places raises.
    """
    tasks = []
    for place in all_clone_places(main, []):
        with suppress(StateError):
            tasks.append(read_task(main.workspace, place.task))

    def may_go(task: Task | None) -> bool:
        return _was_merged(task) and task is not None and task.id not in but_not

    return prune_clones(main, tasks, ask=ask, is_live=is_live, may_go=may_go)


def _was_merged(task: Task | None) -> bool:
    return task is not None and task.status is TaskStatus.COMPLETED and task.merged is not UNSET


def swept_paths(done: Pruned) -> tuple[Path, ...]:
    """Return what a sweep has taken away."""
    return (*(gone.path for gone in done.removed), *done.swept)
