"""Whether an argument of the user's is one of the flags that only sow may set.

Owns how a flag is found in an argument; which flags those are stands in the
description of each CLI.
"""

from sow.agent_clis.description import Refusal
from sow.agent_clis.known import AGENT_CLIS
from sow.schema.config import ExecutorType


def conflict(kind: ExecutorType, argument: str) -> Refusal | None:
    """Return why `argument` may not stand in `custom_args`, or None."""
    flags = AGENT_CLIS[kind].reserved_flags
    flag = argument.partition("=")[0]
    if flag not in flags and not argument.startswith("--"):
        flag = argument[:2]  # a value may follow a short flag at once: -rID
    if flag not in flags:
        return None
    return Refusal(f"{flag} cannot be set here: {flags[flag].reason}", flags[flag].remedy)
