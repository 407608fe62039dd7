"""`python -m worker.steps review ORDERS ARGV…`: makes a reviewer's place ready, and becomes ARGV.

Owns the order: the throw-away clone is made, then set up, then whole; whoever is
killed before that leaves one that is made again. A reviewer without a clone works
in the root: how that stands is noted first, to tell what changes there.
"""

from pathlib import Path

import msgspec

from sow.clones.main_checkout import main_checkout
from sow.clones.make import finish_clone
from sow.clones.mark import Stage, own_mark
from sow.clones.throw_away_clone import make_review_clone, remove_review_clone, review_place
from sow.clones.tree_watch import look_at_tree
from sow.files import read_regular, write_atomically
from sow.paths import AttemptPaths, Workspace
from sow.state.tasks import read_task
from worker.steps.becoming import become, set_up
from worker.steps.line_sandbox import visible_in_throw_away
from worker.steps.program_input import ORDERS_LIMIT, ReviewOrders


def main(orders_file: str, *argv: str) -> int:
    """Make the place ready and become `argv`; return 1 where that cannot be."""
    data = read_regular(Path(orders_file), ORDERS_LIMIT)
    orders = msgspec.json.decode(data, type=ReviewOrders)
    paths = AttemptPaths(Path(orders.folder))
    return become(argv, paths, lambda: make_ready(orders, paths) / orders.cwd)


def make_ready(orders: ReviewOrders, paths: AttemptPaths) -> Path:
    """Return what stands for the workspace's root where the reviewer works. Raises SowError."""
    workspace = Workspace(Path(orders.workspace))
    if orders.commit is None:
        _note_tree(workspace, paths)
        return workspace.root
    main = main_checkout(workspace, orders.settings)
    place = review_place(main.place(read_task(workspace, orders.task)), orders.job)
    if orders.is_first:  # of a job of this number in a queue's file that is gone, say
        remove_review_clone(place)
    root = make_review_clone(
        place, main.repository, orders.commit, copy=orders.settings.copy, without=orders.without
    )
    mark = own_mark(place)
    if mark is not None and mark.stage != Stage.WHOLE:
        if orders.settings.setup is not None:
            visible = visible_in_throw_away(workspace.root)
            set_up(orders.settings, paths, root, orders.packages, visible)
        finish_clone(place)
    return root


def _note_tree(workspace: Workspace, paths: AttemptPaths) -> None:
    """Keep how the tree stands; or, without git, that nobody can tell what changes in it."""
    found = msgspec.json.encode(look_at_tree(workspace.root))
    write_atomically(paths.tree_before, found, mode=0o600, durable=False)
