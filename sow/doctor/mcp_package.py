"""Whether the package is installed that only `sow mcp` needs, and can be used.

It is not imported: that takes a second. Nothing is wrong where it is missing.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sow.findings import Finding, Level

PACKAGE = "mcp"
OLDEST = (2, 1)
OF_UV = "uv-receipt.toml"
"""Where `uv tool install` notes what it has put into an environment (uv 0.13.9)."""
NEWEST = 2
"""The first number of the newest version that is known to work."""


def how_to_install(environment: Path | None = None) -> str:
    """Return how the package comes to lie beside sow; uv's environments have no pip."""
    if (environment or Path(sys.prefix)).joinpath(OF_UV).exists():
        return "With uv, which installed sow here: `uv tool install --with mcp sow-agents`."
    return (
        "Installed with pipx: `pipx inject sow-agents mcp`. Else, in sow's environment:"
        f" `{sys.executable} -m pip install mcp`."
    )


def examine_mcp() -> Iterator[Finding]:
    """Yield whether `sow mcp` can serve here."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        text = "The package mcp is not installed; only `sow mcp` needs it, for MCP clients"
        yield Finding(check="mcp", level=Level.NOTE, text=text, remedy=how_to_install())
        return
    facts = {"version": found}
    if not fits(found):
        text = (
            f"`sow mcp` does not support version {found} of the package mcp (2.1 or newer, not 3)"
        )
        remedy = "Install a supported version into sow's environment: `pip install 'mcp>=2.1,<3'`."
        yield Finding(check="mcp", level=Level.WARNING, text=text, remedy=remedy, facts=facts)
    else:
        text = f"`sow mcp` can serve MCP clients (mcp {found})"
        yield Finding(check="mcp", level=Level.OK, text=text, facts=facts)


def fits(found: str) -> bool:
    """Whether a version is one that `sow mcp` was made for."""
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdecimal())
    return OLDEST <= numbers < (NEWEST + 1,)
