"""What holds when nobody has said anything: Claude Code plays every role, and asks before it acts.

Owns the built-in executors and the default of every setting.
"""

from sow.agent_clis.claude import CLI as CLAUDE
from sow.agent_clis.known import AGENT_CLIS
from sow.config.configuration import WorkerSettings
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

DEFAULT_EXECUTOR = CLAUDE.built_in

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
    cli.built_in: default_executor(cli.built_in, kind)
    for kind, cli in AGENT_CLIS.items()
    if cli.built_in
}
