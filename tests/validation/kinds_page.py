"""Writes the table of findings into docs/validation.md: `python tests/validation/kinds_page.py`.

`test_kinds_page.py` fails where the committed page differs.
"""

from pathlib import Path

from sow.validation.kinds import MEANINGS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"
BEGIN = "<!-- findings: written by tests/validation/kinds_page.py -->"
END = "<!-- end of findings -->"


def rendered() -> str:
    """Return the table, between the lines that mark it."""
    rows = [
        f"| `{kind}` | {row.about} | {row.why} | {row.remedy} | {row.mends or '-'} |"
        for kind, row in MEANINGS.items()
    ]
    head = ["| kind | what is wrong | what follows from it | what to do | what `--fix` does |"]
    return "\n".join([BEGIN, "", *head, "|---|---|---|---|---|", *rows, "", END])


def main() -> None:
    """Put the table where the old one stands."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + rendered() + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
