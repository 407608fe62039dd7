"""`python -P -m worker.steps.server [--open-files NUMBER]`: a fork server for programs of ours.

Its supervisors are like those of `worker.supervisor.program`, but for how the attempt's process
comes to be: this server has imported what steps import, and a supervisor forks its step
(`worker.steps.forked`), where a new interpreter would import all of it again.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

from sow import quick_start

IMPORTED = (
    "sow.yamlfile.editing",
    "sow.yamlfile.loader",
    "sow.yamlfile.rendering",
    "worker.steps.clone",
    "worker.steps.frame",
    "worker.steps.review",
    "worker.steps.scan",
    "worker.supervisor.secret_orders",
)
"""What most steps need beside the programs of the kinds, and supervisors of agents with secrets in
clones. Whatever else one needs, it imports."""


def programs() -> Sequence[str]:
    """Return the module of each kind's program."""
    from sow.schema.kinds import KINDS

    packages = sorted(kind.package for kind in KINDS.values() if not kind.is_agents)
    return [f"worker.kinds.{package}.program" for package in packages]


def main(arguments: list[str]) -> int:
    """Fork supervisors until the worker has gone; return 0."""
    from worker.steps.forked import start
    from worker.supervisor import forking

    for name in (*IMPORTED, *programs()):
        import_module(name)
    return forking.main(arguments, start)


if __name__ == "__main__":
    quick_start.begin()
    sys.exit(main(sys.argv[1:]))
