"""A text for agents that is a link out of the repository is read into no prompt."""

import os

import pytest

FOLDER = ".sow/project/phases/implementation/tasks/010"
SECRET = "The key is 4711."


@pytest.fixture
def outside(tmp_path_factory):
    """Return a file of the user's that is no part of the repository."""
    path = tmp_path_factory.mktemp("outside") / "secret.md"
    path.write_text(SECRET)
    return path


def put_link(path, target) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def test_the_description(begun, as_agent, tmp_path, outside):
    path = tmp_path / FOLDER / "description.md"
    put_link(path, outside)
    shown = begun("task", "show", "010", "--description")
    assert (shown.code, shown.out) == (4, "")
    assert "it is a link that leads out of the repository" in shown.err
    found = begun("validate", "--json")
    assert (found.code, "leads out of the repository" in found.out) == (1, True)
    as_agent("010")
    prompt = begun("prompt")
    assert (prompt.code, SECRET in prompt.out) == (0, False)

    inside = tmp_path / "docs.md"
    inside.write_text("What is to be done.")
    put_link(path, inside)
    assert "What is to be done." in begun("prompt").out, "a link that stays inside is followed"
    assert begun("validate").code == 0


def test_the_feedback_of_a_task(begun, as_agent, tmp_path, outside):
    for status in ("in_progress", "needs_review"):
        begun("task", "set", "010", "status", status)
    (tmp_path.parent / "mend.md").write_text("Mend the door.")
    assert begun("review", "correct", "010", "--file", str(tmp_path.parent / "mend.md")).code == 0
    as_agent("010")
    assert "Mend the door." in begun("prompt").out
    (path,) = (tmp_path / FOLDER / "feedback").iterdir()
    put_link(path, outside)
    prompt = begun("prompt").out
    assert SECRET not in prompt
    assert f"({path.name} cannot be read any more)" in prompt


def test_the_feedback_on_the_project(begun, tmp_path, outside):
    assert begun("feedback", "add", "Mend the roof.").code == 0
    assert "Mend the roof." in begun("feedback", "list").out
    (path,) = (tmp_path / ".sow/project/feedback").iterdir()
    put_link(path, outside)
    shown = begun("feedback", "list").out
    assert SECRET not in shown
    assert "cannot be read any more" in shown
