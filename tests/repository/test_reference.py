"""docs/reference.md is what the code says now."""

import reference


def test_the_page_is_current() -> None:
    message = "out of date: python tests/repository/reference.py writes it"
    assert reference.PAGE.read_text(encoding="utf-8") == reference.render(), message


def test_nothing_in_it_is_left_without_a_meaning() -> None:
    assert "|  |\n" not in reference.PAGE.read_text(encoding="utf-8")
