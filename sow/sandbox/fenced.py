"""The argv of a process in its sandbox, from what it wants to see on this machine.

Owns the one order: the folder may be written, bubblewrap is there, then the argv. The variables
that lead to what is hidden are taken away inside.
"""

import os
from collections.abc import Mapping, Sequence

from sow.sandbox.machine import Wanted, inside_words, view_of_machine
from sow.sandbox.probe import usable
from sow.sandbox.view import bwrap_argv
from sow.sandbox.visible_folders import AGENT_ELSEWHERE, checked_folder


def fenced_argv(
    whose: str,
    wanted: Wanted,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    elsewhere: str = AGENT_ELSEWHERE,
) -> tuple[str, ...]:
    """Return the argv that runs `argv` in a sandbox.

    `whose` names what asks for it, `environ` is the process's environment, `elsewhere` says what
    to do where its folder may not be written. Raises TooWide, SandboxUnavailable.
    """
    seen = checked_folder(wanted, hint=elsewhere)
    program = usable(whose)
    view = view_of_machine(seen, environ, as_root=os.geteuid() == 0)
    return bwrap_argv(program, view, argv, inside_words(environ))
