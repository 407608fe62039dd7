"""Nothing is written through a link that leads out of the repository, whatever command runs."""

import os
import re
import shutil
import subprocess

import pytest

PHASE = ".sow/project/phases/implementation"
TASK = f"{PHASE}/tasks/010"
MORE_TASK = ("task", "add", "One more", "--agent", "implementer")
LOG = ("agent", "log", "Hello", "--task", "010")
SET = ("task", "set", "010", "priority", "1")


@pytest.fixture
def outside(tmp_path_factory):
    """Return a folder of the user's that is no part of the repository."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "mine.txt").write_text("mine")
    (folder / "empty").mkdir()
    return folder


def content(folder):
    """Return all that lies in a folder, byte by byte, but the records of a queue."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if ".sow/run" not in path.as_posix()
    }


def lead_out(path, outside):
    """Move a file or folder out of the repository, and leave a link in its place."""
    target = outside / "theirs"
    if path.exists():
        shutil.move(path, target)
    else:
        target.mkdir()
        path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return target


CASES = [
    (".sow", MORE_TASK),
    (".sow/project", MORE_TASK),
    (".sow/project", ("project", "set", "description", "Hello")),
    (".sow/project", ("feedback", "add", "Hello")),
    (".sow/project", ("project", "abandon")),
    (".sow/project/feedback", ("feedback", "add", "Hello")),
    (".sow/project/phases", MORE_TASK),
    (PHASE, MORE_TASK),
    (f"{PHASE}/tasks", MORE_TASK),
    (TASK, LOG),
    (TASK, SET),
    (f"{TASK}/log.md", LOG),
    (f"{TASK}/state.yaml", SET),
    (".sow/knowledge", ("project", "abandon")),
    (".sow/knowledge/projects", ("project", "abandon")),
    (".sow/knowledge/index", ("project", "abandon")),
    (".sow/run", ("queue", "pause")),
    (".sow/run/workers", ("queue", "pause")),
    (".sow/run/jobs", ("queue", "pause")),
    (".claude", ("install", "claude", "--project")),
    (".claude/settings.local.json", ("install", "claude", "--project")),
    ("AGENTS.md", ("install", "agents-md")),
]


@pytest.mark.parametrize(("place", "words"), CASES, ids=lambda each: str(each).replace("/", "|"))
def test_a_link_out_is_refused_and_its_removal_is_what_helps(
    begun, tmp_path, outside, place, words
):
    if place == ".claude/settings.local.json":
        (tmp_path / ".claude").mkdir()
        (tmp_path / place).write_text("{}")
    if place == "AGENTS.md":
        (tmp_path / place).write_text("Mine.\n")
    link = tmp_path / place
    lead_out(link, outside)
    before, inside = content(outside), content(tmp_path)
    done = begun(*words)
    assert done.code == 4, done
    assert f"{link} cannot be used: it is a link that leads out of the repository" in done.err
    assert f"to {outside}/theirs\n" in done.err
    assert content(outside) == before
    assert content(tmp_path) == inside, "nothing was half written"

    copying = re.search(r"copy it: `(rm .* && cp -R .*?)`", done.err)
    subprocess.run(copying[1], shell=True, check=True)
    again = begun(*words)
    assert "leads out" not in again.err, "the remedy helps"
    assert content(outside) == before


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (".sow", ("init",)),
        (".sow/config.yaml", ("init",)),
        (".sow/knowledge", ("init",)),
        (".sow/project", ("project", "new", "Sign-in")),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_begun_behind_a_link_out(sow, tmp_path, outside, place, words, is_there):
    if words[0] != "init":
        sow("init")
    link = tmp_path / place
    link.parent.mkdir(exist_ok=True)
    target = outside / ("empty" if is_there else "nowhere")
    link.symlink_to(target)
    before, inside = content(outside), content(tmp_path)
    done = sow(*words)
    if place in (".sow/knowledge", ".sow/config.yaml") and is_there:
        assert done.code == 0, "what is there is not made anew"
    else:
        assert (done.code, "leads out of the repository" in done.err) == (4, True), done
        assert content(tmp_path) == inside, "nothing was half written"
    assert content(outside) == before


def test_a_link_that_stays_inside_is_followed(begun, tmp_path):
    shelf = tmp_path / "shelf"
    shutil.move(tmp_path / PHASE, shelf)
    (tmp_path / PHASE).symlink_to(os.path.relpath(shelf, (tmp_path / PHASE).parent))
    for words in (MORE_TASK, LOG, SET):
        assert begun(*words).code == 0, words
    assert (shelf / "tasks/010/log.md").read_text()
    assert (shelf / "tasks/030/state.yaml").is_file()


def test_a_link_into_gits_own_folder_leads_out(begun, tmp_path):
    hooks = tmp_path / ".git/hooks"
    hooks.mkdir(parents=True)
    shutil.move(tmp_path / PHASE, hooks / "phase")
    (tmp_path / PHASE).symlink_to(hooks / "phase")
    before = content(hooks)
    done = begun(*MORE_TASK)
    assert (done.code, "leads out of the repository" in done.err) == (4, True)
    assert content(hooks) == before


def test_older_prompts_are_not_moved_out_of_a_folder_of_the_users(begun, tmp_path, outside):
    (outside / "implementer.md").write_text("Mine.")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/agents").symlink_to(outside)
    before = content(outside)
    done = begun("install", "claude", "--project", "--move-agents")
    assert (done.code, "leads out of the repository" in done.err) == (4, True)
    assert content(outside) == before


def test_an_output_stays_in_the_repository(begun, tmp_path, outside):
    (tmp_path / ".sow/project/design.md").write_text("# Design\n")
    assert begun("output", "add", ".sow/project/design.md", "--type", "design").code == 0
    (tmp_path / "docs").symlink_to(outside)
    before = content(outside)
    assert begun("output", "move", ".sow/project/design.md", "--to", "docs").code != 0
    assert content(outside) == before
