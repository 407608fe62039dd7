"""Which class drives which type of executor, and whether it goes on in a task's session.

Owns the way from a type to its behaviour: the module here that has the type's
word for a name. The words are `ExecutorType`. Reads no file.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import UNSET

from sow.agent_clis.known import AGENT_CLIS
from sow.executors.programs import resumes
from sow.executors.session import is_maker

if TYPE_CHECKING:
    from sow.config.configuration import Configuration
    from sow.executors.base import Executor
    from sow.schema.executor import ExecutorConfig
    from sow.schema.executor_type import ExecutorType
    from sow.schema.task import SessionFacts, Task


@cache
def executor_class(kind: "ExecutorType") -> "type[Executor]":
    """Return the class that drives executors of this type."""
    found: type[Executor] = import_module(f"sow.executors.{kind}").EXECUTOR
    return found


def make_executor(config: "ExecutorConfig") -> "Executor":
    """Return the executor that `config` describes."""
    return executor_class(config.type)(config)


def is_installed(config: "ExecutorConfig", path: str | None) -> bool:
    """Whether the program of an executor is on `path`."""
    from sow.executors.executor_errors import ExecutorBinaryNotFound  # few ask

    try:
        make_executor(config).validate_availability(path)
    except ExecutorBinaryNotFound:
        return False
    return True


def can_resume(config: "Configuration", task: "Task") -> bool:
    """Whether the executor continues a session; true where it is not known, and a call says so."""
    if task.session is not UNSET:
        executor = maker_of(config, task.session)
    else:
        executor = config.executors.get(config.bindings.get(task.assigned_agent, ""))
    return executor is None or resumes(executor, AGENT_CLIS[executor.type])


def maker_of(config: "Configuration", session: "SessionFacts") -> "ExecutorConfig | None":
    """Return the executor that made a session; None where the configuration has it no more."""
    executor = config.executors.get(session.executor)
    return executor if executor is not None and is_maker(session, executor) else None


def is_configured(config: "Configuration", executor: "ExecutorConfig") -> bool:
    """Whether the configuration has an executor of that name and type."""
    own = config.executors.get(executor.name)
    return own is not None and own.type is executor.type
