"""docs/architecture.md can be read: its cells are short, and the files that it names exist."""

import re

from repository.markdown import REPOSITORY, read

PAGE = "docs/architecture.md"
MOST_FILES = 7


def test_no_cell_of_a_table_names_many_files() -> None:
    rows = [line for line in read(PAGE).splitlines() if line.startswith("|")]
    cells = [cell for row in rows for cell in row.split(" | ")]
    assert len(cells) > 100
    assert [cell for cell in cells if len(re.findall(r"\w\.py`", cell)) > MOST_FILES] == []


def test_each_file_that_it_names_by_its_path_exists() -> None:
    named = set(re.findall(r"`((?:sow|worker|tests|scripts)/[a-z_/]+\.py)`", read(PAGE)))
    assert len(named) > 100
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []
