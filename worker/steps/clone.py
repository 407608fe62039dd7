"""`python -m worker.steps.clone ORDERS ARGV…`: makes a task's clone ready, and becomes ARGV there.

Owns the order: the clone is made, then on record in the task's state, then set
up, then whole. Whoever is killed in between leaves what the next attempt goes
on from. A failure is left in `result.json`, in the words of what failed; the
agent's CLI is not started then.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from sow import own_variables
from sow.clock import utc_now
from sow.clones.base import Dependency
from sow.clones.locks import locked_place
from sow.clones.made_by_setup import keep_apart
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.make import CloneOrder, MadeClone, finish_clone, make_clone
from sow.clones.place import Place
from sow.config.durations import write_duration
from sow.environment import caller_environment
from sow.errors import SowError
from sow.files import read_regular, write_atomically
from sow.paths import AttemptPaths, Workspace
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from sow.schema.task import Task
from sow.state.tasks import change_task, read_task
from sow.terminal_text import printable_lines
from worker.steps.check import last_lines
from worker.steps.command_line import Ended, Runner
from worker.steps.orders import CloneOrders

ORDERS_LIMIT = 1 << 20
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and an agent's CLI must not."""


class SetupFailed(SowError):
    """The command line that makes a clone ready for work has not succeeded."""

    def __init__(self, line: str, ended: Ended, seconds: float, log: Path) -> None:
        how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
        if ended.timed_out:
            how = f"it took longer than {write_duration(seconds)} (clones.setup_timeout)"
        words = "\n".join(f"  {text}" for text in last_lines(log))
        super().__init__(
            f"clones.setup failed ({line}): {how}\n{words}".rstrip(),
            hint=f"All that it printed is in {log}.",
        )


def main(orders_file: str, *argv: str) -> int:
    """Make the clone ready and become `argv`; return 1 where that cannot be."""
    data = read_regular(Path(orders_file), ORDERS_LIMIT)
    orders = msgspec.json.decode(data, type=CloneOrders)
    paths = AttemptPaths(Path(orders.folder))
    try:
        root = make_ready(orders, paths)
        os.chdir(root / orders.cwd)
    except (SowError, OSError) as error:
        result = StepResult(cause=Cause.SETUP_FAILED, reason=_words(error))
        write_atomically(paths.result, msgspec.json.encode(result), mode=0o600)
        return 1
    _become(argv)
    return 0


def _words(error: SowError | OSError) -> str:
    """Return what failed, fit for any terminal and any JSON: agents have named files in it."""
    text = str(error)
    if isinstance(error, SowError):
        text = f"{error.message}\n{error.hint}".rstrip()
    elif error.filename:
        text = f"{error.filename}: {error.strerror}"
    return "\n".join(printable_lines(text))


def _become(argv: tuple[str, ...]) -> None:
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    environ = caller_environment(os.environ)
    environ.pop(own_variables.CALLER_PYTHONPATH, None)
    os.execve(argv[0], argv, environ)


def make_ready(orders: CloneOrders, paths: AttemptPaths) -> Path:
    """Return what stands for the workspace's root in the clone, whole and on record.

    Raises SowError.
    """
    workspace = Workspace(Path(orders.workspace))
    main = main_checkout(workspace, orders.settings)
    task = read_task(workspace, orders.task)
    place = main.place(task)
    with locked_place(place):
        made = make_clone(_order(orders, main, place))
        for note in made.notes:
            print(f"Note: {note}", file=sys.stderr, flush=True)
        _put_on_record(workspace, task, place, made)
        if not made.is_whole:
            if orders.settings.setup is not None:
                _set_up(orders, paths, place.root)
                keep_apart(place, main.repository)
            finish_clone(place)
    return place.root


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


def _put_on_record(workspace: Workspace, task: Task, place: Place, made: MadeClone) -> None:
    clone = {"path": str(place.path), "branch": place.branch, "base": made.mark.base}
    change_task(workspace, task.id, lambda _: {"clone": clone}, now=utc_now())


def _set_up(orders: CloneOrders, paths: AttemptPaths, root: Path) -> None:
    """Run the repository's command line in the clone. Raises SetupFailed.

    It is the repository's, which agents may edit: to `sow` it has no rights.
    """
    line = orders.settings.setup or ""
    seconds = orders.settings.setup_timeout_seconds
    agent = os.environ.get(own_variables.AGENT, "")
    os.environ[own_variables.AGENT] = own_variables.STEP_ROLE
    os.chdir(root)
    runner = Runner(orders.folder, orders.packages)
    try:
        ended = runner.run(line, paths.setup_log, seconds=seconds)
    finally:
        runner.close()
        os.environ[own_variables.AGENT] = agent
    if ended.code != 0:
        raise SetupFailed(line, ended, seconds, paths.setup_log)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
