"""docs/architecture.md can be read: short cells, files that exist, figures that are true."""

import re

from repository.markdown import REPOSITORY, anchors, read

PAGE = "docs/architecture.md"
MOST_FILES = 7
MODULE = re.compile(r"`((?:sow|worker)/[a-z_/]+\.py)`")


def test_no_cell_of_a_table_names_many_files() -> None:
    rows = [line for line in read(PAGE).splitlines() if line.startswith("|")]
    cells = [cell for row in rows for cell in row.split(" | ")]
    assert len(cells) > 100
    assert [cell for cell in cells if len(re.findall(r"\w\.py`", cell)) > MOST_FILES] == []


def test_each_file_that_it_names_by_its_path_exists() -> None:
    named = set(re.findall(r"`((?:sow|worker|tests|scripts)/[a-z_/]+\.py)`", read(PAGE)))
    assert len(named) > 100
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []


def test_the_table_says_how_many_modules_each_list_has() -> None:
    page = read(PAGE)
    shown = re.findall(r"\[(\d+) modules\]\(#([a-z-]+)\)", page)
    lists = {}
    for part in re.split(r"^#### ", page, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        (step,) = anchors(f"#### {title}")
        lists[step] = MODULE.findall(body.partition("\n#")[0])
    assert len(shown) > 10
    assert [(step, int(count)) for count, step in shown] == [
        (step, len(lists[step])) for _, step in shown
    ]
    assert [step for step, names in lists.items() if len(set(names)) < len(names)] == []
