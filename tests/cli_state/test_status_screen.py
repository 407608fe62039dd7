"""The screen of `sow status` as a person reads it: what it says is so, and is cut between words."""

import pytest
from msgspec.structs import replace

from sow.cli.status import Part, fitting, run_row
from sow.schema.output.situation import RunningJob


@pytest.fixture
def design(sow, tmp_path):
    """Begin a design project with a document."""
    sow("init")
    sow("project", "new", "Sign-in", "--type", "design")
    (tmp_path / "a-long-name.md").write_text("One key.")
    sow("output", "add", "a-long-name.md", "--type", "design")


def test_what_waits_is_parted_from_the_reason_however_long_it_is_called(sow, design):
    assert "  person     a-long-name.md a-long-name.md is not approved" in sow("status").out


def test_a_line_is_cut_between_words():
    part = Part("Waits for", ["  you        010   is done, and to be judged"], "sow next")
    assert list(fitting(part, 1, 40)) == ["  you        010   is done, and to be …"]
    assert list(fitting(part, 1, 42)) == ["  you        010   is done, and to be …"]
    part = Part("Next", ["  sow approve docs/a-long-name-of-a-design.md  # not approved"], "")
    assert list(fitting(part, 1, 50)) == ["  sow approve docs/a-long-name-of-a-design.md …"]
    part = Part("Next", ["  sow approve docs/a-long-name-of-a-design.md"], "")
    assert list(fitting(part, 1, 30)) == ["  sow approve docs/a-long-nam…"]


def test_a_run_of_which_nothing_is_seen_but_that_it_is_quiet_says_that_alone():
    run = RunningJob(
        job=1, tasks=("010",), verb="spawn", agent="implementer", executor="mine", state="running",
        doing="", seconds=21.0, quiet_seconds=20.0, host=None,
    )  # fmt: skip
    assert run_row(run) == "  010  implementer       21s  quiet 20s"
    assert run_row(replace(run, doing="Bash")).endswith("21s  Bash, quiet 20s")


def test_an_output_that_nobody_has_to_approve_is_not_called_unapproved(begun, tmp_path):
    (tmp_path / "findings.md").write_text("It is slow.")
    begun("output", "add", "findings.md", "--type", "findings")
    assert "findings.md" not in begun("status").out
    approvals = begun("status", "--json").json["approvals"]
    assert [found["what"] for found in approvals] == ["plan"]


def test_documents_are_kept_in_a_folder_that_bears_the_name_of_many(begun, tmp_path):
    for kind, many in (("findings", "findings"), ("summary", "summaries"), ("design", "designs")):
        (tmp_path / f"{kind}.md").write_text("It is slow.")
        begun("output", "add", f"{kind}.md", "--type", kind)
        moved = begun("output", "move", f"{kind}.md", "--json").json
        assert moved["path"] == f".sow/knowledge/{many}/{kind}.md"
