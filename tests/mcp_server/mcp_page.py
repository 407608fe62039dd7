"""Writes the table of tools in docs/mcp.md: `python tests/mcp_server/mcp_page.py`.

The rows are the tools that the server lists, with their arguments; `test_mcp_page.py` fails where
the page has others.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mcp.md"
HEAD = "| tool | arguments | with |\n|---|---|---|\n"
AFTER = "\n## Resources\n"

if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parents[1]))

from sow.commands import CALLABLE  # noqa: E402 - the path comes first
from sow.mcp_server.tool import Tool  # noqa: E402 - the same


def rows(tools: Iterable[Tool]) -> str:
    """Return a row for each tool; what has to be given is in bold."""
    return "".join(f"| `{tool.name}` | {_arguments(tool)} | {_with(tool)} |\n" for tool in tools)


def _with(tool: Tool) -> str:
    row = CALLABLE[tool.command].tool
    return "" if not isinstance(row, str) and row.leads else "all"


def _arguments(tool: Tool) -> str:
    required = set(tool.schema["required"])
    names = tool.schema["properties"]
    return ", ".join(f"**{name}**" if name in required else name for name in names)


def with_rows(page: str, tools: Iterable[Tool]) -> str:
    """Return the page with the table of these tools."""
    before, _, rest = page.partition(HEAD)
    return f"{before}{HEAD}{rows(tools)}{AFTER}{rest.partition(AFTER)[2]}"


if __name__ == "__main__":
    from sow.cli.mcp_tools import tools_for
    from sow.cli.tree import root

    PAGE.write_text(with_rows(PAGE.read_text("utf-8"), tools_for(root, None, 50.0)), "utf-8")
