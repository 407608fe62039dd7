"""The step `check`: runs command lines one after another and says how each ended.

Owns what is said of them: which commit they have judged, and the last lines of
those that did not pass. A red check is a result, not a failure of this program.
"""

import time
from collections.abc import Sequence
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sow.config.checks import CheckCommand, hash_of
from sow.config.units import write_duration
from sow.files import read_tail
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.schema.task import CheckRecord, CommandResult
from sow.terminal_text import printable_lines, without_sequences
from worker.steps.command_line import Ended, Runner
from worker.steps.judged import checked_out, judged, off_branch
from worker.steps.line_sandbox import (
    Visible,
    fence_of_line,
    visible_in_throw_away,
    visible_to_check,
)
from worker.steps.program_input import BaseOrders, CheckOrders

MOST_LINES = 20
"""How many lines of a red check are kept for people and prompts."""
LONGEST_LINE = 300
BRANCH = "branch"
"""Stands for the command lines where another commit is checked out than the one that is merged."""
CHANGED_MEANWHILE = "0" * 64
"""Stands for work that changed while it was checked: it is like no other."""


def run(data: bytes) -> tuple[str, StepResult]:
    """Run the command lines of some orders; return the attempt's folder and the result."""
    orders = msgspec.json.decode(data, type=CheckOrders)
    if orders.base is not None:
        return orders.folder, _on_base(orders, orders.base)
    if orders.missing is not None:
        orders = _with_made(orders)
    paths = AttemptPaths(Path(orders.folder))
    before = judged(Path(orders.cwd), orders.clone)
    work = _work_of(orders.whole)
    runner = Runner(orders.folder, orders.packages)
    astray = off_branch(orders.clone, before)
    if astray:
        results = [CommandResult(name=BRANCH, passed=False, reason=astray)]
    else:
        visible = visible_to_check(orders.root or orders.cwd, orders.clone)
        results = [run_command(runner, command, paths, visible) for command in orders.commands]
    after = checked_out(Path(orders.cwd), orders.clone)
    record = CheckRecord(
        passed=all(result.passed for result in results),
        commit=before.commit,
        dirty=before.dirty or after != before.commit,
        at=datetime.fromtimestamp(int(time.time()), UTC),
        results=results,
    )
    cause = Cause.PASSED if record.passed else Cause.CHECK_FAILED
    if _work_of(orders.whole) != work:
        work = CHANGED_MEANWHILE
    return orders.folder, StepResult(cause=cause, reason=words_of(results), check=record, work=work)


def _with_made(orders: CheckOrders) -> CheckOrders:
    """Return the orders with what sow has just put into the task's clone, which was missing."""
    # Few checks find no clone.
    from sow.clones.main_checkout import main_checkout
    from sow.clones.withheld import copied_to
    from sow.paths import Workspace
    from sow.state.tasks import read_task

    clone, missing = orders.clone, orders.missing
    if clone is None or missing is None:
        return orders
    main = main_checkout(Workspace(Path(clone.workspace)), missing.settings)
    made = copied_to(main, main.place(read_task(main.workspace, missing.task)))
    clone = msgspec.structs.replace(clone, copied=(*clone.copied, *made))
    return msgspec.structs.replace(orders, clone=clone)


def _work_of(whole: str) -> str:
    """Return what a check of the whole judges; empty for a check of a task."""
    if not whole:
        return ""
    from sow.clones.project_work import work_of  # a task's check does without it

    return work_of(Path(whole))


def _on_base(orders: CheckOrders, base: BaseOrders) -> StepResult:
    """Run the command lines on the commit that a task began at; its record stays as it is."""
    # A check in a clone, which each task has, does without these.
    from sow.clones.main_checkout import main_checkout
    from sow.clones.throw_away_clone import checked_out
    from sow.paths import Workspace
    from sow.state.tasks import read_task

    runner = Runner(orders.folder, orders.packages)
    paths = AttemptPaths(Path(orders.folder))
    main = main_checkout(Workspace(Path(base.root)), base.settings)
    place = main.place(read_task(main.workspace, base.task))
    with checked_out(main, place, base.commit) as folder, chdir(folder):
        visible = visible_in_throw_away(Path(base.root))
        results = [run_command(runner, command, paths, visible) for command in orders.commands]
    passed = all(result.passed for result in results)
    cause = Cause.PASSED if passed else Cause.CHECK_FAILED
    return StepResult(cause=cause, reason=words_of(results))


def run_command(
    runner: Runner, command: CheckCommand, paths: AttemptPaths, visible: Visible
) -> CommandResult:
    """Run one command line to its end, and return how that was. Its log lies with the attempt.

    `visible` says what it sees in its sandbox, if it has one.
    """
    print(f"runs {command.name}: {command.run}", flush=True)
    log = paths.check_log(command.name)
    fence = fence_of_line(command, visible, paths, log)
    ended = runner.run(command.run, log, seconds=command.timeout_seconds, fence=fence)
    passed = ended.code == 0
    return CommandResult(
        name=command.name,
        passed=passed,
        exit_code=ended.code,
        seconds=round(ended.seconds, 3),
        reason="" if passed else _why(ended, command),
        lines=[] if passed else last_lines(log),
        command=hash_of(command.run),
    )


def _why(ended: Ended, command: CheckCommand) -> str:
    if ended.timed_out:
        return f"it took longer than {write_duration(command.timeout_seconds)} (its timeout)"
    return f"signal {ended.signal}" if ended.signal is not None else f"exit code {ended.code}"


def last_lines(log: Path) -> list[str]:
    """Return the last lines of a log that say something, fit for any terminal and not too long."""
    lines = [line for line in printable_lines(without_sequences(read_tail(log))) if line.strip()]
    return [_shortened(line) for line in lines[-MOST_LINES:]]


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def words_of(results: Sequence[CommandResult]) -> str:
    """Return what did not pass: all of it on the first line, then the last lines of each."""
    red = [result for result in results if not result.passed]
    first = "; ".join(f"{result.name}: {result.reason}" for result in red)
    below = [f"  {result.name} | {line}" for result in red for line in result.lines]
    return "\n".join([first, *below]) if red else ""
