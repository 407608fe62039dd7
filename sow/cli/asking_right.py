"""Whether the agent that calls a command has the right to, asked before the command acts."""

import os
from collections.abc import Mapping
from typing import Any

from sow import env_vars
from sow.agents.rights import (
    calling_agent,
    refuse_unreported,
    refuse_without_right,
    takes_role,
)


def ask_right(words: tuple[str, ...], values: Mapping[str, Any]) -> None:
    """Raise StateError where an agent calls what it has no right to; anybody else may."""
    agent = calling_agent(os.environ)
    if agent is None:
        return
    if takes_role(agent, words, values):
        # It opens the queue, which no agent has to for what is its own.
        from sow.calls.recorded_agent import by_record

        agent = by_record(agent, os.environ)
    if env_vars.REPORT in os.environ:
        refuse_unreported(agent, words, values)
    refuse_without_right(agent, words, values)
