"""The step `update`: brings the project's branch into a task's clone, and says what became of it.

Owns which cause each ending is. A conflict is left in the clone for the task's agent;
that is a result, not a failure of this program.
"""

from pathlib import Path

import msgspec

from sow.clones.conflicts import conflict_in, update_of_clone
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.place import Place
from sow.errors import SowError
from sow.faults import passing_fault
from sow.paths import Workspace
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.state.tasks import read_task
from sow.terminal_text import printable, printable_lines
from worker.steps.program_input import UpdateOrders

SHOWN = 12


def run(data: bytes) -> tuple[str, StepResult]:
    """Carry out some orders; return the attempt's folder and the result."""
    orders = msgspec.json.decode(data, type=UpdateOrders)
    return orders.folder, update(orders)


def update(orders: UpdateOrders) -> StepResult:
    """Bring a clone up to date; whatever stands against it is in the result."""
    try:
        main = main_checkout(Workspace(Path(orders.root)), orders.settings)
        place = main.place(read_task(main.workspace, orders.task))
        return _conflict_of(main, place) or _updated(main, place)
    except SowError as error:
        if passing_fault(error) is not None:
            raise  # it says nothing of the work
        words = f"{error.message}\n{error.hint}".strip()
        reason = "\n".join(printable_lines(words))
        return StepResult(cause=Cause.MERGE_REFUSED, reason=reason)


def _conflict_of(main: MainCheckout, place: Place) -> StepResult | None:
    """Return the conflict that an earlier update has left, if one has."""
    found = conflict_in(main, place)
    return None if found is None else _in_conflict(found.branch, found.unsolved)


def _updated(main: MainCheckout, place: Place) -> StepResult:
    updated = update_of_clone(main, place)
    if updated.conflicts:
        return _in_conflict("the project's branch", updated.conflicts)
    if updated.merged is None:
        reason = "it already contains the project's branch"
    else:
        reason = f"{place.branch} is at {updated.commit[:12]}"
    lines = [reason, *(f"Note: {note}" for note in updated.notes)]
    return StepResult(cause=Cause.PASSED, reason="\n".join(printable_lines("\n".join(lines))))


def _in_conflict(branch: str, paths: tuple[str, ...]) -> StepResult:
    names = ", ".join(printable(_text(path)) for path in paths[:SHOWN])
    more = f" and {len(paths) - SHOWN} more" * (len(paths) > SHOWN)
    reason = f"its work conflicts with {branch} in {names}{more}"
    return StepResult(cause=Cause.MERGE_CONFLICT, reason=reason)


def _text(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
