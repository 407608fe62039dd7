"""Whether a task's agent can be given further words in its session.

Owns which executor that depends on: the one that made the session, else its role's.
"""

from msgspec import UNSET

from sow.config.configuration import Configuration
from sow.executors.registry import make_executor
from sow.schema.task import Task


def can_resume(config: Configuration, task: Task) -> bool:
    """Whether the executor continues a session; true where it is not known, and a call says so."""
    name = config.bindings.get(task.assigned_agent, "")
    if task.session is not UNSET:
        name = task.session.executor
    executor = config.executors.get(name)
    return executor is None or make_executor(executor).supports_resumption
