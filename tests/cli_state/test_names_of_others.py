"""What agents and files are called stays text in what a program or a pipe gets to read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

HARM = "\x1b]0;harm\x07\x1b[2J\nstatus       completed\r\u202eod"
FIELDS = {
    "name": HARM,
    "files_modified": [f"src/{HARM}.py"],
    "references": [f"docs/{HARM}"],
    "metadata": {HARM: HARM, "issue": HARM},
}
COMMANDS = [
    ("task", "show", "010"),
    ("task", "list"),
    ("task", "log", "010"),
    ("task", "diff", "010", "--name-only"),
    ("status",),
    ("next",),
    ("log",),
    ("project", "status"),
    ("validate",),
    ("feedback", "list"),
    ("output", "list"),
    ("knowledge", "list"),
    ("knowledge", "search", "harm"),
    ("report",),
    ("clone", "list"),
]


@pytest.fixture
def harmed(begun, tmp_path, state):
    """Return `begun`, in a repository in which all names are such as would steer a terminal."""
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "First")):
        subprocess.run([*git, *words], check=True)
    read = yaml.safe_load(state().read_text())
    read["task"] |= FIELDS
    state().write_text(yaml.safe_dump(read, sort_keys=False))
    project = tmp_path / ".sow/project/state.yaml"
    read = yaml.safe_load(project.read_text())
    read["project"] |= {"name": HARM, "description": HARM.replace("\n", "")}
    project.write_text(yaml.safe_dump(read, sort_keys=False))
    name = f"{HARM.replace('/', '')}.md"
    for folder in ("src", ".sow/knowledge/designs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text(f"# {HARM}\n")
    begun("agent", "log", HARM, "--task", "010", "--file", f"src/{name}")
    begun("feedback", "add", HARM)
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_name_steers_a_terminal_or_begins_a_line(harmed, words):
    done = harmed(*words)
    text = done.out + done.err
    assert not [letter for letter in text if letter != "\n" and not letter.isprintable()]
    assert "\nstatus       completed" not in text


def test_names_of_files_go_to_programs_as_they_are(harmed):
    done = harmed("task", "diff", "010", "--name-only", "-z")
    named = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--modified", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout
    names = set(done.out.encode("utf-8", "surrogateescape").split(b"\0"))
    assert names <= set(named.split(b"\0"))
    assert any(b"\x1b]0;harm" in name and b"\n" in name for name in names)
    assert done.out.endswith("\0")


def test_a_name_that_is_no_text_too(begun, tmp_path, sow):
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "First")):
        subprocess.run([*git, *words], check=True)
    odd = os.fsdecode(b"odd-\xff.py")
    (tmp_path / odd).write_text("x")
    shown = subprocess.run(
        [Path(sys.executable).with_name("sow"), "task", "diff", "010", "--name-only", "-z"],
        capture_output=True,
        check=True,
    )
    assert b"odd-\xff.py\0" in shown.stdout


def test_z_is_for_names_alone(harmed):
    refused = harmed("task", "diff", "010", "-z")
    assert (refused.code, "--name-only" in refused.err) == (2, True)
