"""The surroundings of this process's call."""

import os

from sow.calls.caller import Caller, find_caller
from sow.cli.arguments import working_folder


def this_caller() -> Caller:
    """Return the surroundings of this process's call. Raises StateError without a workspace."""
    return find_caller(os.environ, working_folder())
