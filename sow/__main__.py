"""`python -P -m sow`: the command line."""

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    from sow.cli.root import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
