"""Stand-ins for the agent CLIs: what tests import. See README.md for the script language."""

from standins.install import CursorDialect, install_standins
from standins.runs import Run, ToolRun, overlapping, read_refusals, read_runs, write_script

__all__ = [
    "CursorDialect",
    "Run",
    "ToolRun",
    "install_standins",
    "overlapping",
    "read_refusals",
    "read_runs",
    "write_script",
]
