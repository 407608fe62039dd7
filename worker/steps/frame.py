"""The frame of a step's program: it reads its orders, does the step and leaves `result.json`.

It is run again from the beginning where it is killed, so each step may be begun a second time at
any point. What keeps it from its work is its result too: a fault that passes is told from one that
stays. The program of a kind is the module `program` of its package: its `run` takes the orders as
they came, and returns the attempt's folder with the result. Only the wanted one is imported: it is
most of what a check takes.
"""

import sys
from importlib import import_module
from pathlib import Path

import msgspec

from sow.errors import ConfigurationError, SowError
from sow.paths import AttemptPaths
from sow.schema.causes import Cause
from worker.steps.result_file import failure_result, leave_result


class Orders(msgspec.Struct):
    """What all orders have."""

    folder: str
    """The attempt's."""


def main(name: str) -> None:
    """Do a step."""
    data = sys.stdin.buffer.read()
    folder = msgspec.json.decode(data, type=Orders).folder
    try:
        _, result = import_module(f"worker.kinds.{name}.program").run(data)
    except Exception as error:  # the boundary of this program
        if not isinstance(error, SowError):
            sys.excepthook(*sys.exc_info())
        is_set_wrong = isinstance(error, ConfigurationError)  # then nothing has crashed
        lasting = Cause.CONFIGURATION if is_set_wrong else Cause.CRASHED
        result = failure_result(error, passing=Cause.PREVENTED, lasting=lasting)
        print(result.reason, file=sys.stderr)
    leave_result(result, AttemptPaths(Path(folder)))
