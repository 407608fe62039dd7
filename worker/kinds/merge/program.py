"""The step `merge`: merges the work of tasks, and says what became of it.

Owns the check of a merge's result, in a checkout that is thrown away, and which
cause each ending is. That a merge is refused is a result, not a failure of this
program. The merging itself is `sow.clones.merge_tasks`.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.merge_tasks import INDEX_SECONDS, MergeConflict, Merged, merge_tasks
from sow.clones.place import Place
from sow.clones.steps import no_step
from sow.clones.throw_away_clone import checked_out
from sow.errors import SowError
from sow.faults import passing_fault
from sow.paths import AttemptPaths, Workspace
from sow.sandbox.probe import SandboxUnavailable
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.terminal_text import printable_lines
from worker.kinds.check.program import run_command, words_of
from worker.steps.command_line import Runner
from worker.steps.line_sandbox import visible_in_throw_away
from worker.steps.program_input import MergeOrders


class ResultIsRed(Exception):
    """The check of the merge's result did not pass. Holds what it said."""


def run(data: bytes) -> tuple[str, StepResult]:
    """Carry out some orders; return the attempt's folder and the result."""
    orders = msgspec.json.decode(data, type=MergeOrders)
    return orders.folder, merge(orders)


def merge(
    orders: MergeOrders,
    step: Callable[[str], None] = no_step,
    *,
    patience: float = INDEX_SECONDS,
) -> StepResult:
    """Merge what the orders name; whatever stands against it is in the result.

    Raises SowError for a fault that passes, and SandboxUnavailable: both say nothing of the work.
    """
    try:
        main = main_checkout(Workspace(Path(orders.root)), orders.settings)
        judge = _judge_of(orders, main)
        done = merge_tasks(
            main,
            orders.tasks,
            way=orders.way,
            check=judge,
            now=time.time(),
            step=step,
            patience=patience,
            fresh=orders.fresh,
        )
    except ResultIsRed as red:
        return StepResult(cause=Cause.CHECK_FAILED, reason=str(red))
    except MergeConflict as conflict:
        return StepResult(cause=Cause.MERGE_CONFLICT, reason=_words(conflict))
    except SowError as error:
        if passing_fault(error) is not None or isinstance(error, SandboxUnavailable):
            raise
        return StepResult(cause=Cause.MERGE_REFUSED, reason=_words(error))
    return StepResult(cause=Cause.PASSED, reason=_account_of(done))


def _words(error: SowError) -> str:
    return _fit(f"{error.message}\n{error.hint}".strip())


def _account_of(done: Merged) -> str:
    first = f"{done.into} is at {done.commit[:12]}"
    return _fit("\n".join([first, *(f"Note: {note}" for note in done.notes)]))


def _fit(text: str) -> str:
    """Return a text fit for any terminal and any JSON: agents have named the files in it."""
    return "\n".join(printable_lines(text))


def _judge_of(orders: MergeOrders, main: MainCheckout) -> Callable[[Place, str], None]:
    """Return what judges a commit: the command lines, in a checkout of it. Raises ResultIsRed."""
    runner: list[Runner] = []

    def judge(place: Place, commit: str) -> None:
        if not orders.commands:
            return
        if not runner:
            runner.append(Runner(orders.folder, orders.packages))
        with checked_out(main, place, commit) as folder:
            before = Path.cwd()
            os.chdir(folder)  # command lines run where this process is
            try:
                _judge(orders, runner[0])
            finally:
                os.chdir(before)

    return judge


def _judge(orders: MergeOrders, runner: Runner) -> None:
    paths = AttemptPaths(Path(orders.folder))
    for command in orders.commands:
        result = run_command(runner, command, paths, visible_in_throw_away(Path(orders.root)))
        if not result.passed:
            raise ResultIsRed(f"on the merge's result, {words_of([result])}")
