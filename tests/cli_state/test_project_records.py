"""`sow input`, `sow output`, `sow feedback`: what a project takes in, brings forth, is told."""

import pytest

from sow.schema.project import NoteStatus
from sow.state.projects import read_project
from sow.state.task_log import read_entries


@pytest.fixture
def page(begun, tmp_path):
    """Return a document of the repository."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/design.md").write_text("# Sessions\n")
    return "docs/design.md"


def test_a_file_is_listed_once_and_taken_off_again(begun, tmp_path, page):
    assert begun("input", "list").err == "No input yet: sow input add PATH --type TYPE\n"
    added = begun("input", "add", page, "--type", "design")
    assert added.out == "docs/design.md is an input of the project (design)\n"
    again = begun("input", "add", page, "--type", "design", "--json").json
    assert (again["path"], again["by"], again["approved_by"], again["is_approved"]) == (
        *(page, "orchestrator", None),
        False,
    )
    assert [row["type"] for row in begun("input", "list", "--json").lines] == ["design"]
    assert begun("output", "list", "--json").lines == []
    assert begun("input", "remove", page).code == 0
    assert (tmp_path / page).exists()
    logged = [entry.action for entry in read_entries(tmp_path / ".sow/project/log.md")]
    assert logged == [
        "Input added: docs/design.md (design)",
        "Input removed: docs/design.md (design)",
    ]


def test_a_file_is_named_from_where_one_stands(begun, tmp_path, page, monkeypatch):
    monkeypatch.chdir(tmp_path / "docs")
    assert begun("output", "add", "design.md", "--type", "design", "--json").json["path"] == page
    assert begun("output", "remove", "design.md").code == 0


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("docs/none.md", "there is no such file"),
        ("docs", "it is a folder"),
        ("../outside.md", "it lies outside the repository"),
        ("/etc/passwd", "it lies outside the repository"),
        ("way-out.md", "it lies outside the repository"),
        (".git/config", "it is not part of the repository's contents"),
        ("docs/inner/.git/config", "it is not part of the repository's contents"),
    ],
)
def test_what_is_no_file_of_the_repository_is_refused(begun, tmp_path, page, path, message):
    (tmp_path.parent / "outside.md").write_text("x")
    (tmp_path / "way-out.md").symlink_to("/etc/passwd")
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / ".git/config").write_text("")
    (tmp_path / "docs/inner/.git").mkdir(parents=True)
    (tmp_path / "docs/inner/.git/config").write_text("")
    refused = begun("output", "add", path, "--type", "design")
    assert (refused.code, refused.out) == (4, "")
    assert f"{path}: {message}" in refused.err


@pytest.mark.parametrize(
    "folder",
    ["..", "/tmp", ".git/hooks", ".sow/run", ".sow/run/jobs", "docs/inner/.git", "way-out"],
)
def test_a_document_moves_nowhere_but_within_the_repository(begun, tmp_path, page, folder):
    """In `.sow/run` it would outlive the project, and be on this machine alone."""
    (tmp_path / "way-out").symlink_to(tmp_path.parent)
    begun("output", "add", page, "--type", "design")
    refused = begun("output", "move", page, "--to", folder)
    assert refused.code == 4
    assert "the repository" in refused.err.splitlines()[0]
    assert [row["path"] for row in begun("output", "list", "--json").lines] == [page]
    assert not (tmp_path / ".sow/run/design.md").exists()


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("../elsewhere", "lies outside the repository"),
        ("/etc", "lies outside the repository"),
        (".git/notes", "is not part of the repository's contents"),
        (".sow/run", "is not part of the repository's contents"),
        (".sow/project/context", "is deleted with the project"),
    ],
)
def test_a_place_of_the_settings_that_is_none_is_told_by_its_key(
    begun, tmp_path, folder, reason
) -> None:
    settings = tmp_path / ".sow/config.yaml"
    settings.write_text(f"artifacts:\n  decisions: docs/adr\n  designs: {folder}\n")
    draft = tmp_path / ".sow/project/context/a.md"
    draft.parent.mkdir(exist_ok=True)
    draft.write_text("# A\n")
    begun("output", "add", str(draft), "--type", "design")
    refused = begun("output", "move", str(draft))
    assert (refused.code, refused.out) == (3, "")
    first = f"Error: {settings}, line 3: artifacts.designs: {folder} {reason}"
    assert refused.err.startswith(first)
    assert "such as docs/design" in refused.err
    printed = begun("validate").out
    assert f".sow/config.yaml, line 3: artifacts.designs: {folder} {reason}" in printed
    assert begun("output", "move", str(draft), "--to", "docs").code == 0


@pytest.mark.parametrize("folder", [".sow/project/context", ".sow/project/kept"])
def test_no_draft_moves_to_where_it_goes_away_with_the_project(begun, tmp_path, folder) -> None:
    draft = tmp_path / ".sow/project/context/a.md"
    draft.parent.mkdir(exist_ok=True)
    draft.write_text("# A\n")
    begun("output", "add", str(draft), "--type", "design")
    refused = begun("output", "move", str(draft), "--to", folder)
    assert (refused.code, "is deleted with the project" in refused.err) == (4, True)
    (tmp_path / "taken").write_text("")
    refused = begun("output", "move", str(draft), "--to", "taken")
    assert (refused.code, "outputs cannot be moved to taken: it is a file" in refused.err) == (
        4,
        True,
    )
    assert draft.is_file()


def test_a_type_is_a_word_without_the_line_end_that_a_program_has_left(begun, page):
    assert begun("output", "add", page, "--type", "design\n", "--json").json["type"] == "design"


def test_a_file_has_one_type(begun, page):
    begun("output", "add", page, "--type", "design")
    refused = begun("output", "add", page, "--type", "summary")
    assert refused.code == 4
    assert "is an output already, of the type design" in refused.err
    assert begun("output", "add", page, "--type", "De sign").code == 4


def test_what_is_not_listed_cannot_be_removed(begun, page):
    refused = begun("input", "remove", page)
    assert refused.code == 4
    assert "docs/design.md is not an input of the project" in refused.err


def test_an_old_project_loads_and_gains_the_fields_when_they_are_used(begun, tmp_path, page):
    state = tmp_path / ".sow/project/state.yaml"
    newer = ("  type:", "  state:", "version:")
    lines = state.read_text().splitlines(keepends=True)
    state.write_text("".join(line for line in lines if not line.startswith(newer)))
    (tmp_path / ".sow/.version").write_text("1\n")
    assert begun("project", "status", "--json").json["state"] == "executing"
    begun("output", "add", page, "--type", "design")
    assert "\nversion: 2\n" in state.read_text()
    assert (tmp_path / ".sow/.version").read_text() == "2\n"


def test_feedback_is_open_until_it_is_settled(begun, tmp_path):
    assert begun("feedback", "list").err == "No feedback is open.\n"
    assert begun("feedback", "add", "Shorter\nsentences").out == "Feedback 001 is open\n"
    (tmp_path / "more.md").write_text("# More\n")
    assert begun("feedback", "add", "--file", "more.md", "--json").json["text"] == "# More"
    assert begun("feedback", "list").out.splitlines()[1] == "001  open    orchestrator  Shorter"
    settled = begun("feedback", "settle", "001", "--json").json
    assert (settled["status"], settled["settled_by"]) == ("settled", "orchestrator")
    assert [row["feedback_id"] for row in begun("feedback", "list", "--json").lines] == ["002"]
    assert len(begun("feedback", "list", "--all", "--json").lines) == 2
    assert (tmp_path / ".sow/project/feedback/001.md").read_text() == "Shorter\nsentences"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("add",), 2, "give either TEXT or --file"),
        (("add", " "), 2, "the feedback is empty"),
        (("add", "x", "--file", "y"), 2, "give either TEXT or --file"),
        (("settle", "009"), 4, "the project has no feedback 009"),
    ],
)
def test_feedback_refuses(begun, words, code, message):
    refused = begun("feedback", *words)
    assert (refused.code, refused.err.splitlines()[0]) == (code, f"Error: {message}")


def test_words_that_a_killed_command_has_left_are_taken_up(begun, tmp_path):
    folder = tmp_path / ".sow/project/feedback"
    folder.mkdir()
    (folder / "001.md").write_text("Shorter")
    assert begun("feedback", "add", "Shorter", "--json").json["feedback_id"] == "001"
    (folder / "002.md").write_text("Longer")
    assert begun("feedback", "add", "Another", "--json").json["feedback_id"] == "003"
    assert (folder / "002.md").read_text() == "Longer"


def test_an_agent_lists_nothing_and_gives_no_feedback(begun, page, as_agent):
    as_agent("010", "implementer")
    assert begun("output", "add", page, "--type", "design").code == 4
    assert begun("feedback", "add", "x").code == 4
    assert begun("feedback", "list").code == 0


def test_what_stands_in_the_file_is_what_the_words_say(begun, tmp_path):
    from sow.paths import Workspace

    begun("feedback", "add", "x")
    begun("feedback", "settle", "001")
    (note,) = read_project(Workspace(tmp_path)).feedback
    assert (note.status, note.file) == (NoteStatus.SETTLED, "001.md")
