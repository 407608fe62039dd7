"""An install or uninstall that is killed at each of its steps: the next call finishes the job."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from install.person import Person
from proving import one_in

from sow.install.places import MARKETPLACE
from sow.install.settings_plan import source_of

PROGRAM = """
import os, signal, sys
from sow.__main__ import main

left = int(sys.argv[1])


def fatal(event, arguments):
    global left
    if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(fatal)
sys.argv = ["sow", *sys.argv[2:]]
main()
"""
"""Dies before its so manieth change of a folder's names."""
OWN = '{"model": "opus", "permissions": {"allow": ["Bash(ls:*)"]}}'
STEPS = one_in(3, range(1, 100))
"""More than a command has."""
pytestmark = pytest.mark.slow
SCOPES = pytest.mark.parametrize("scope", ["--user", "--project"])


def dies(person: Person, step: int, *words: str) -> bool:
    """Run a command that is killed at a step; return False where it has ended before."""
    argv = [sys.executable, "-c", PROGRAM, str(step), *words]
    done = subprocess.run(
        argv, cwd=person.repository, env=person.env, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stdout + done.stderr
    return done.returncode != 0


def remove_copies(file: Path) -> None:
    """Remove the copies beside a file: who dies right after having made one leaves it."""
    for copy in file.parent.glob("*.backup*"):
        copy.unlink()


@SCOPES
@pytest.mark.parametrize("content", [None, OWN])
def test_an_install(person: Person, scope: str, content: str | None) -> None:
    file = person.settings if scope == "--user" else person.local
    file.parent.mkdir()
    for step in STEPS:
        if content is not None:
            file.write_text(content)
        before = person.files()
        was_killed = dies(person, step, "install", "claude", scope)
        settings = file.read_text() if file.exists() else None
        person.sow("install", "claude", scope)
        assert settings in (content, file.read_text()), "whole or not at all"
        person.sow("uninstall", "claude", scope)
        remove_copies(file)
        assert person.files() == before
        if not was_killed:
            return
    pytest.fail("it never came to its end")


@SCOPES
def test_an_update_puts_no_rule_back_that_a_person_took_out(person: Person, scope: str) -> None:
    file = person.settings if scope == "--user" else person.local
    person.sow("install", "claude", scope)
    declined, missing = "Bash(sow init:*)", "Bash(sow next:*)"
    settings = json.loads(file.read_text())
    settings["permissions"]["allow"].remove(declined)
    record = person.home / ".config/sow/installed.json"
    settings["permissions"]["allow"].remove(missing)
    older = (json.dumps(settings), record.read_text().replace(f'"{missing}",', ""))
    for step in STEPS:
        file.write_text(older[0])
        record.write_text(older[1])
        was_killed = dies(person, step, "install", "claude", scope)
        person.sow("install", "claude", scope)
        allowed = json.loads(file.read_text())["permissions"]["allow"]
        assert (missing in allowed, declined in allowed) == (True, False), step
        remove_copies(file)
        if not was_killed:
            return
    pytest.fail("it never came to its end")


@SCOPES
def test_an_uninstall(person: Person, scope: str) -> None:
    file = person.settings if scope == "--user" else person.local
    file.parent.mkdir()
    file.write_text(OWN)
    note = person.home / ".claude/plugins/known_marketplaces.json"
    note.parent.mkdir(parents=True)
    note.write_text("{}")
    before = person.files()
    for step in STEPS:
        person.sow("install", "claude", scope)
        note.write_text(json.dumps({"sow": source_of(str(MARKETPLACE))}))
        was_killed = dies(person, step, "uninstall", "claude", scope)
        if (person.home / ".config/sow/installed.json").exists():
            person.sow("uninstall", "claude", scope)
        assert person.files() == before, step
        if not was_killed:
            return
    pytest.fail("it never came to its end")


def test_a_move_of_older_prompts(person: Person) -> None:
    folder = person.repository / ".claude"
    moved = {f"old-agents/{name}.md": name for name in ("implementer", "reviewer")}
    for step in STEPS:
        (folder / "agents").mkdir(parents=True)
        for name in moved.values():
            (folder / f"agents/{name}.md").write_text(name)
        was_killed = dies(person, step, "install", "claude", "--move-agents")
        person.sow("install", "claude", "--move-agents")
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert {str(file.relative_to(folder)): file.read_text() for file in files} == moved, step
        shutil.rmtree(folder)
        if not was_killed:
            return
    pytest.fail("it never came to its end")
