"""Writes the table of causes into docs/troubleshooting.md: `python tests/schema/cause_page.py`.

`test_causes.py` fails where the committed page differs.
"""

from pathlib import Path

from sow.errors import ExitCode
from sow.schema.cause_table import CAUSES, RetryRule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
BEGIN = "<!-- causes: written by tests/schema/cause_page.py -->"
END = "<!-- end of causes -->"
EXITS = {RetryRule.DONE: "by the status", RetryRule.CANCEL: str(int(ExitCode.CANCELLED))}
"""How a call exits whose job has not failed."""


def rendered() -> str:
    """Return the table, between the lines that mark it."""
    rows = [
        f"| `{cause}` | {row.words} | {row.blame} | {row.retry} | {row.session}"
        f" | {EXITS.get(row.retry, int(row.exit_code))} |"
        for cause, row in CAUSES.items()
    ]
    head = [
        "| cause | what happened | responsible | what happens to the job | the session | exit |"
    ]
    return "\n".join([BEGIN, "", *head, "|---|---|---|---|---|---|", *rows, "", END])


def main() -> None:
    """Put the table where the old one stands."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + rendered() + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
