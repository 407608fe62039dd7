"""The executors that are built in, for tests that speak of all of them.

Owns no list: the descriptions are asked. A test that wants each of them takes it from here, so that
one more executor needs no change there.
"""

from sow.agent_clis.known import AGENT_CLIS
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType

BUILT_IN = {cli.built_in: kind for kind, cli in AGENT_CLIS.items() if cli.built_in}
"""The type of each, by its name, in the order in which they are shown."""
TYPES_IN_WORDS = ", ".join(AGENT_CLIS)
"""Every type that a configuration may name, as a message lists them."""
RESUMABLE_IN_WORDS = ", ".join(name for name, kind in BUILT_IN.items() if AGENT_CLIS[kind].resumes)
"""Those whose sessions can be continued, likewise."""


def plain(kind: ExecutorType) -> ExecutorConfig:
    """Return an executor of a built-in type that the user has given no settings."""
    return ExecutorConfig(name=AGENT_CLIS[kind].built_in, type=kind)
