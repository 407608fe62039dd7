"""`python -m worker.steps NAME …`: how a program of ours begins and ends, whichever it is.

A step's frame is `frame`; `clone` and `review` make a place ready and become an agent's CLI there;
`scan` looks for an agent's secrets in its work.
"""

import sys
from importlib import import_module

from sow import quick_start

OF_AGENTS = ("clone", "review", "scan")
"""The modules whose program comes before an agent, or after it. Every other name is a kind's
package."""


def main(name: str, *arguments: str) -> int:
    """Run the program of that name; return its exit code."""
    if name in OF_AGENTS:
        code: int = import_module(f"worker.steps.{name}").main(*arguments)
        return code
    from worker.steps.frame import main as do_step  # an agent's place does without it

    do_step(name)
    return 0


if __name__ == "__main__":
    quick_start.begin()
    quick_start.leave(main(*sys.argv[1:]))
