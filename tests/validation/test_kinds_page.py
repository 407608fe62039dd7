"""The page on `sow validate` is the table of kinds, and `--fix` mends what it says."""

from validation import kinds_page

from sow.validation.kinds import MEANINGS
from sow.validation.mending import MENDERS


def test_the_page_has_the_table() -> None:
    assert kinds_page.rendered() in kinds_page.PAGE.read_text(encoding="utf-8")


def test_what_is_said_to_be_mended_is() -> None:
    assert {kind for kind, row in MEANINGS.items() if row.mends} == set(MENDERS)
