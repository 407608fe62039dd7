"""What holds when nobody has said anything: Claude Code plays every role, and asks before it acts.

Owns the built-in executors and the default of every setting.
"""

from sow.config.configuration import WorkerSettings
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType, built_in_name

DEFAULT_EXECUTOR = built_in_name(ExecutorType.CLAUDE)

DEFAULT_WORKER = WorkerSettings(
    concurrency=4,
    checks=2,
    autostart=True,
    idle_exit_seconds=600.0,
    keep_for_seconds=30 * 86400.0,
    keep_bytes=2 * 10**9,
    min_free_disk_bytes=500 * 10**6,
    min_free_memory_bytes=300 * 10**6,
)

DEFAULT_RETRY_ON_QUOTA = True
DEFAULT_RETRY_WORKER_DEATHS = 5


def default_executor(name: str, executor_type: ExecutorType) -> ExecutorConfig:
    """Return an executor of which only name and type are known."""
    return ExecutorConfig(name=name, type=executor_type, yolo_mode=False, retries=2)


BUILT_IN_EXECUTORS = {
    name: default_executor(name, kind) for kind in ExecutorType if (name := built_in_name(kind))
}
