"""A document that sow moves out of the project changes nothing of the work that was judged."""

import pytest
from test_lifecycle_commands import agents_may, begin, complete, git, next_of, state_of

__all__ = ["agents_may", "git"]


@pytest.mark.slow
def test_a_verdict_holds_where_a_document_is_moved_out_of_the_project(
    sow, git, agents_may, tmp_path
):
    begin(sow)
    (tmp_path / ".sow/config.yaml").write_text("artifacts: {designs: docs}\n")
    (tmp_path / ".sow/project/context/api.md").write_text("# The API\n")
    sow("output", "add", ".sow/project/context/api.md", "--type", "design")
    sow("task", "add", "One", "--agent", "implementer")
    sow("approve", "plan")
    sow("advance")
    complete(sow, "010")
    sow("advance")
    sow("review", "accept", "--project", "--summary", "Good.")
    sow("advance")
    assert state_of(sow) == "finalizing"
    assert next_of(sow) == ["sow output move .sow/project/context/api.md"]
    moved = sow("output", "move", ".sow/project/context/api.md", "--json").json
    assert moved["path"] == "docs/api.md"
    assert next_of(sow) == ["sow advance"]
    git("add", "-A")
    git("commit", "-q", "-m", "documents")
    assert next_of(sow) == ["sow advance"]
    (tmp_path / "docs/api.md").write_text("# Another API\n")
    assert next_of(sow)[0].startswith("sow agent review --project"), "an edit is another matter"


def test_a_move_that_was_killed_after_its_copy_is_what_is_to_be_done_again(
    sow, agents_may, tmp_path
):
    """The copy lies where the document goes to: it stands in nobody's way."""
    sow("init")
    sow("project", "new", "Search", "--type", "design")
    (tmp_path / ".sow/project/context/api.md").write_text("# The API\n")
    sow("output", "add", ".sow/project/context/api.md", "--type", "design")
    sow("approve", ".sow/project/context/api.md")
    copy = tmp_path / ".sow/knowledge/designs/api.md"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text("# The API\n")
    sow("advance")
    assert next_of(sow) == ["sow output move .sow/project/context/api.md"]
    moved = sow("output", "move", ".sow/project/context/api.md", "--json").json
    assert moved["path"] == ".sow/knowledge/designs/api.md"
