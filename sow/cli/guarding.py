"""Each call of an agent is asked for its right (`sow.agents.rights`) before the command acts.

By its variables; and where a right is its role's alone, by its job's record.
"""

import copy
import os
from functools import wraps
from typing import Any

import click

from sow.agents.rights import calling_agent, refuse_without_right, takes_role


def guarded(command: click.Command, words: tuple[str, ...]) -> click.Command:
    """Return `command` so that it asks for the calling agent's right before it does anything."""
    act = command.callback
    if act is None:
        return command

    @wraps(act)
    def asked_first(*arguments: Any, **parameters: Any) -> Any:
        context = click.get_current_context()
        agent = calling_agent(os.environ)
        if agent is not None and context.invoked_subcommand is None:
            if takes_role(agent, words, context.params):
                # It opens the queue, which no agent has to for what is its own.
                from sow.calls.recorded_agent import by_record

                agent = by_record(agent, os.environ)
            refuse_without_right(agent, words, context.params)
        return act(*arguments, **parameters)

    guard = copy.copy(command)
    guard.callback = asked_first
    return guard
