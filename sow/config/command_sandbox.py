"""Whether a command line of the repository can have the sandbox that it asks for on this machine.

Owns that question for checks and for `clones.setup`. Apart, for most commands run none of them, and
the first answer takes a trial of bubblewrap.
"""

from collections.abc import Iterable

from sow.config.checks import CheckCommand
from sow.sandbox.probe import usable


def refuse_without_sandbox(commands: Iterable[CheckCommand]) -> None:
    """Refuse command lines whose sandbox cannot be made here. Raises SandboxUnavailable."""
    for command in commands:
        if command.is_sandboxed:
            usable(command.name)
        if command.allowed_hosts:
            from sow.sandbox.proxy_probe import usable_proxy  # for few command lines

            usable_proxy(command.name)
