"""Writes the table of a hostile agent into docs/trust.md: `python tests/journeys/hostile_page.py`.

`test_sandbox.py` tries what stands there, and fails where the committed page differs.
"""

import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
BEGIN, END = "<!-- actions -->\n", "<!-- end of actions -->\n"
HEAD = """\
| the agent tries to | without a sandbox | in a sandbox |
|---|---|---|
"""
WORDS = {True: "it can", False: "it cannot"}


def rendered() -> str:
    """Return the table."""
    from journeys.hostile_actions import ACTIONS

    rows = (
        f"| {action.what} | {WORDS[action.outside]} | {WORDS[action.inside]} |\n"
        for action in ACTIONS
    )
    return HEAD + "".join(rows)


def committed() -> str:
    """Return the table as it stands in the page."""
    return PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + rendered() + END + rest.partition(END)[2], encoding="utf-8")
