"""Writes docs/hostile-repositories.md: `python tests/trust/hostile_page.py`.

`test_hostile_repositories.py` tries what stands there, and fails where the committed page differs.
"""

import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hostile-repositories.md"
HEAD = """\
# Hostile repositories

This page is written by `python tests/trust/hostile_page.py`. Its test,
`tests/trust/test_hostile_repositories.py`, lays each of these {forms} forms into a repository and
runs {commands} commands there, those of somebody who follows `sow next` and the README. After each:

- a program that the repository names has not run;
- the user's home folder is byte for byte the same; only sow's own folders in it change;
- no command has printed the content of a file outside of the repository, or ended in an error that
  sow calls a bug.

A second test lays several of them into one repository at once, and runs an agent there with the
true `sow` and its worker. [Trust](trust.md#what-a-repository-can-make-sow-do) says what holds, and
what does not.

| the repository holds | what sow says, or why nothing comes of it |
|---|---|
"""


def rendered() -> str:
    """Return the page."""
    from trust.hostile_forms import FORMS
    from trust.test_hostile_repositories import COMMANDS

    rows = [
        f"| {form.name} | {f'“… {form.says} …”' if form.says else form.holds} |\n" for form in FORMS
    ]
    return HEAD.format(forms=len(FORMS), commands=len(COMMANDS)) + "".join(rows)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    PAGE.write_text(rendered(), encoding="utf-8")
