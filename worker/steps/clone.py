"""`python -m worker.steps clone ORDERS ARGV…`: makes a task's clone ready, and becomes ARGV there.

Owns the order: the clone is made, then on record, then set up, then whole.
Whoever is killed in between leaves what the next attempt goes on from. The
task's state is written as long as the attempt is not settled. A failure is left
in `result.json`, in the words of what failed; the agent's CLI is not started then.
"""

import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from sow.clock import utc_now
from sow.clones.base import Dependency
from sow.clones.locks import locked_place
from sow.clones.made_by_setup import keep_apart, ready_clone
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.make import CloneOrder, MadeClone, finish_clone, make_clone
from sow.clones.place import Place
from sow.clones.record import forget_clone, note_clone, record_clone
from sow.files import read_regular
from sow.git.repository import branch_commit
from sow.ids import JobId
from sow.jobs import leases
from sow.jobs.database import open_existing_queue
from sow.paths import AttemptPaths, Workspace
from sow.schema.task import Task
from sow.state.tasks import read_task
from worker.steps.becoming import become, set_up
from worker.steps.line_sandbox import visible_in_task_clone
from worker.steps.program_input import ORDERS_LIMIT, CloneOrders


def main(orders_file: str, *argv: str) -> int:
    """Make the clone ready and become `argv`; return 1 where that cannot be."""
    data = read_regular(Path(orders_file), ORDERS_LIMIT)
    orders = msgspec.json.decode(data, type=CloneOrders)
    paths = AttemptPaths(Path(orders.folder))
    return become(argv, paths, lambda: make_ready(orders, paths) / orders.cwd)


def make_ready(orders: CloneOrders, paths: AttemptPaths) -> Path:
    """Return what stands for the workspace's root in the clone, whole and on record.

    Raises SowError.
    """
    workspace = Workspace(Path(orders.workspace))
    main = main_checkout(workspace, orders.settings)
    task = read_task(workspace, orders.task)
    place = main.place(task)
    with locked_place(place):
        place = _without_leftover_record(main, place, task)
        made = make_clone(_order(orders, main, place))
        for note in made.notes:
            print(f"Note: {note}", file=sys.stderr, flush=True)
        _put_on_record(orders, main, place, made)
        if not made.is_whole:
            if orders.settings.setup is not None:
                visible = visible_in_task_clone(workspace, place.path)
                set_up(orders.settings, paths, place.root, orders.packages, visible)
            if made.is_new:  # no agent has been in it
                mark = keep_apart(place, main.repository) if orders.settings.setup else made.mark
                note_clone(main.repository, mark, ready_clone(place, main.repository))
            finish_clone(place)
    if orders.update:
        _bring_conflict(main, place)
    return place.root


def _bring_conflict(main: MainCheckout, place: Place) -> None:
    """Have in a clone the conflict that an update has met at the task's home.

    What an earlier attempt has begun to solve stays as it is.
    """
    # Few jobs solve a conflict that was met on another host.
    from sow.clones.conflicts import update_of_clone
    from sow.clones.update import CannotUpdate

    try:
        update_of_clone(main, place)
    except CannotUpdate as error:
        print(f"Note: {error.message}", file=sys.stderr, flush=True)


def _without_leftover_record(main: MainCheckout, place: Place, task: Task) -> Place:
    """Return the place of a task anew whose record is all that is left of an earlier clone.

    The task was made anew under that number: it begins where the project is now.
    """
    branch = branch_commit(main.repository, place.branch)
    if task.clone is not UNSET or branch is not None or os.path.lexists(place.path):
        return place
    forget_clone(main.repository, main.project.id, task.id)
    return replace(place, base=None)


def _order(orders: CloneOrders, main: MainCheckout, place: Place) -> CloneOrder:
    return CloneOrder(
        place=place,
        repository=main.repository,
        base=orders.base,
        dependencies=tuple(
            Dependency(dependency.task, dependency.commit) for dependency in orders.dependencies
        ),
        copy=orders.settings.copy,
        is_begun=orders.is_begun,
    )


def _put_on_record(orders: CloneOrders, main: MainCheckout, place: Place, made: MadeClone) -> None:
    """Write where the clone lies, first where no agent reaches it, then into the task's state.

    Of a clone in which an agent has been, the mark is that agent's word. Raises
    Fenced where the attempt is settled by now: its job is another worker's.
    """
    mark = made.mark
    if made.is_new:
        note_clone(main.repository, mark)
    else:
        mark = mark._replace(branch=place.branch, base=place.base or mark.base)
    database = open_existing_queue(main.workspace)
    if database is None:
        return  # the worker that settles the attempt writes it
    with closing(database), ExitStack() as transaction:

        def may() -> None:
            attempt = (JobId(orders.job), orders.attempt)
            transaction.enter_context(leases.under_attempt(database, *attempt))

        record_clone(
            main.workspace, mark, now=utc_now(), may=may, then=lambda _: transaction.close()
        )
