"""Which class drives which type of executor.

Owns the way from a type to its behaviour: the module here that has the type's
word for a name. The words are `ExecutorType`. Reads no file.
"""

from functools import cache
from importlib import import_module

from sow.executors.base import Executor
from sow.schema.config import ExecutorType
from sow.schema.executor import ExecutorConfig


@cache
def executor_class(kind: ExecutorType) -> type[Executor]:
    """Return the class that drives executors of this type."""
    found: type[Executor] = import_module(f"sow.executors.{kind}").EXECUTOR
    return found


def make_executor(config: ExecutorConfig) -> Executor:
    """Return the executor that `config` describes."""
    return executor_class(config.type)(config)
