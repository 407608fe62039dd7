"""The description of each type of executor.

Owns the way from a type to its description: the module here that has the
type's word for a name. The words are `ExecutorType`.
"""

from collections.abc import Mapping
from importlib import import_module

from sow.agent_clis.description import AgentCli
from sow.schema.config import ExecutorType

AGENT_CLIS: Mapping[ExecutorType, AgentCli] = {
    kind: import_module(f"sow.agent_clis.{kind}").CLI for kind in ExecutorType
}
"""In the order in which they are shown."""
NESTING_MARKERS = frozenset(marker for cli in AGENT_CLIS.values() for marker in cli.nesting_markers)
"""What agents' CLIs set for their children to describe the parent (measured)."""
