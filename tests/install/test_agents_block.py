"""sow's text in an AGENTS.md: what came goes again, and an edit is seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.install.agents_md import (
    Unclear,
    find_block,
    text_of_skill,
    wanted_text,
    with_block,
    without_block,
)

TEXT = "# Sow\n\nRun `sow next`.\n"
CONTENT = st.text("ab \n#-<!", max_size=30)


@given(CONTENT)
def test_what_came_goes_again(content: str) -> None:
    there = with_block(content, TEXT, None)
    block = find_block(there)
    assert block is not None
    assert (block.text, block.is_edited) == (TEXT, False)
    assert without_block(there, block) == content


@given(CONTENT, CONTENT)
def test_an_update_keeps_what_stands_around_it(before: str, after: str) -> None:
    there = with_block(before, "old\n", None) + after
    new = with_block(there, TEXT, find_block(there))
    block = find_block(new)
    assert block is not None
    assert block.text == TEXT
    assert without_block(new, block) == before + after


@given(CONTENT)
def test_a_last_line_break_that_an_editor_took_away_is_no_edit(content: str) -> None:
    there = with_block(content, TEXT, None).rstrip("\n")
    block = find_block(there)
    assert block is not None
    assert not block.is_edited
    assert with_block(there, TEXT, block) == there
    assert without_block(there, block) == content


def test_an_edit_is_seen() -> None:
    there = with_block("Mine.\n", TEXT, None).replace("sow next", "sow status")
    block = find_block(there)
    assert block is not None
    assert block.is_edited


@pytest.mark.parametrize(
    "broken",
    [
        "<!-- sow:begin -->\n",
        "<!-- sow:end -->\n",
        with_block("", TEXT, None) * 2,
        with_block("", TEXT, None) + "<!-- sow:end -->\n",
        "<!-- sow:begin x -->\n" + with_block("", TEXT, None),
        with_block("", TEXT, None).replace("<!-- sow:end -->\n", ""),
        "<!-- sow:end -->\n" + with_block("", TEXT, None).replace("<!-- sow:end -->\n", ""),
        with_block("", TEXT, None).replace("-->\n", "--> here\n"),
    ],
)
def test_markers_that_are_no_pair_are_refused(broken: str) -> None:
    with pytest.raises(Unclear):
        find_block(broken)


def test_the_text_is_the_skill_s_without_what_only_a_plugin_has() -> None:
    assert text_of_skill("---\nname: x\n---\n\n# Title\n") == "# Title\n"
    assert wanted_text().startswith("# ")
    assert "SOW_JOB_ID" in wanted_text()
