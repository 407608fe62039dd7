"""The stand-ins' one program: `agent.py ROLE ARGS…`.

ROLE is the CLI whose dialect it speaks, one of those that `install` names; it does what the fault
script says. Standard library only, few imports: tests run it by the hundred. The modules beside it
are imported by name, because this file's folder is first on the import path.
"""

import sys


def main(role: str, arguments: list[str]) -> int:
    """Do as the CLI of a role does: `cursor-seeds` is another dialect of `cursor`."""
    cli, _, dialect = role.partition("-")
    module = __import__(f"{cli}_cli")
    more = {"seeds": dialect == "seeds"} if dialect else {}
    return int(module.main(arguments, **more))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
