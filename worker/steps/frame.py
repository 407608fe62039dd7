"""The frame of a step's program: it reads its orders, does the step and leaves `result.json`.

The task's clone is made first where it is missing. The step is run again from the beginning where
it is killed, so each may be begun a second time at any point. What keeps it from its work is its
result too: a fault that passes is told from one that stays. The program of a kind is the module
`program` of its package: its `run` takes the orders as they came, and returns the attempt's folder
with the result. Only the wanted one is imported: it is most of what a check takes.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError, SowError
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from sow.schema.step_result import StepResult
from worker.steps.program_input import CloneOrders, StepOrders
from worker.steps.result_file import failure_result, leave_result


def main(name: str) -> None:
    """Do a step."""
    data = sys.stdin.buffer.read()
    orders = msgspec.json.decode(data, type=StepOrders)
    folder = orders.folder
    try:
        failed = _make_clone(orders.missing) if orders.missing is not None else None
        program = import_module(f"worker.kinds.{name}.program")
        result = failed if failed is not None else program.run(data)[1]
    except Exception as error:  # the boundary of this program
        if not isinstance(error, SowError):
            sys.excepthook(*sys.exc_info())
        is_set_wrong = isinstance(error, ConfigurationError)  # then nothing has crashed
        lasting = Cause.CONFIGURATION if is_set_wrong else Cause.CRASHED
        result = failure_result(error, passing=Cause.PREVENTED, lasting=lasting)
        print(result.reason, file=sys.stderr)
    leave_result(result, AttemptPaths(Path(folder)))


def _make_clone(orders: CloneOrders) -> StepResult | None:
    """Make the task's clone and go there; return why that cannot be, if it cannot."""
    # Few steps find none.
    from worker.steps.becoming import result_of
    from worker.steps.clone import make_ready

    try:
        os.chdir(make_ready(orders, AttemptPaths(Path(orders.folder))) / orders.cwd)
    except (SowError, OSError, MemoryError) as error:
        return result_of(error)
    return None
