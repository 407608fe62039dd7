"""`python -P -m sow`: the command line, and how its process begins and ends."""

import os
import sys

from sow import env_vars, quick_start

TYPE_CHECKING = False  # as `typing` has it, which is imported once that is cheap
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command line, and end the process with its exit code."""
    quick_start.begin()
    if env_vars.REPORT_SOCKET in os.environ:
        # An agent in a sandbox alone has it.
        from sow.cli.report_client import report

        code = report(sys.argv[1:])
        if code is not None:
            quick_start.leave(code)
    from sow.cli.root import run  # what this imports is to be cheap already

    quick_start.leave(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
