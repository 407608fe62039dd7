"""A repository that means harm: whoever runs sow in it runs nothing of it, and loses nothing."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import Ended, run_in_process
from trust.hostile_forms import (
    FORMS,
    TASK,
    Form,
    Place,
    drivers,
    evidence,
    foreign_queue,
    locks,
    names_like_ours,
    shells,
    submodule,
    trusted,
)
from trust.hostile_page import PAGE, rendered

SECRET = "KEY-OF-THE-USER"
OURS = (".config/sow", ".local/state/sow", ".cache/sow")
"""Where sow keeps what is the user's own."""
MORE = ("task", "add", "More", "--agent", "implementer")
COMMANDS = (
    ("init",),
    ("status",),
    ("next",),
    ("project", "status"),
    ("task", "list"),
    ("task", "show", "010", "--description"),
    ("task", "log", "010"),
    MORE,
    ("task", "set", "010", "priority", "1"),
    ("agent", "log", "Hello", "--task", "010"),
    ("feedback", "add", "Better"),
    ("project", "new", "Sign-in"),
    ("validate",),
    ("config", "validate"),
    ("prompt", "--check"),
    ("refs", "list"),
    ("refs", "init"),
    ("knowledge", "list"),
    ("knowledge", "search", "key"),
    ("install", "claude", "--project", "--move-agents"),
    ("install", "agents-md"),
    ("agent", "spawn", "implementer", "010", "--dry-run"),
    ("agent", "spawn", "implementer", "010", "--detach"),
    ("task", "diff", "010", "--name-only"),
    ("queue", "status"),
    ("job", "list"),
    ("job", "prune"),
    ("clone", "list"),
    ("clone", "prune"),
    ("report",),
    ("project", "abandon"),
)
SETTINGS = """
worker: {{autostart: false}}
agents:
  executors: {{mine: {{type: command, settings: {{command: [{mine}]}}}}}}
  bindings: {{implementer: mine}}
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """Return a repository with a project, committed, that means no harm."""
    folder = tmp_path_factory.mktemp("template") / "repository"
    folder.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "LANG": "C.UTF-8"}
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid")
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=folder, env=env, check=True)
    for words in (("init",), ("project", "new", "Sign-in", "--type", "quick"), MORE, MORE):
        assert run_in_process(*words, env=env, cwd=folder).code == 0
    subprocess.run([*git, "add", "-A"], cwd=folder, env=env, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "First"], cwd=folder, env=env, check=True)
    return folder


@pytest.fixture
def place(template, tmp_path) -> Place:
    """Return a copy of it, beside the home folder of a user."""
    home = tmp_path / "home"
    for path in (".ssh/id", ".bashrc", ".claude/agents/implementer.md", "Pictures/2019/tree.png"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(f"{SECRET}\n")
    (home / ".claude/settings.json").write_text("{}")
    for path in ("empty", "Pictures/010", "Pictures/w1-old.lock", ".local/state", ".cache"):
        (home / path).mkdir(parents=True)
    settings = home / ".config/sow/config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS.format(mine=program(tmp_path / "mine", tmp_path / "mine-ran")))
    repository = tmp_path / "repository"
    shutil.copytree(template, repository, symlinks=True)
    return Place(repository, home, program(tmp_path / "canary", tmp_path / "ran"))


def program(path: Path, mark: Path) -> Path:
    path.write_text(f"#!/bin/sh\ntouch {mark}\n")
    path.chmod(0o755)
    return path


def content(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the mode and the content of all that lies in a folder, byte by byte."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith(OURS):
            facts = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
            found[name] = (facts.st_mode, hashlib.sha256(data).hexdigest())
    return found


def environment(place: Place) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(place.home), "LANG": "C.UTF-8"}


@pytest.mark.few(12)
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name.replace("/", "|"))
def test_nothing_runs_and_nothing_outside_is_written(form: Form, place: Place) -> None:
    form.lay(place)
    before = content(place.home)
    printed = []
    for words in (*form.commands, *COMMANDS):
        ended = run_in_process(*words, env=environment(place), cwd=place.repository)
        printed.append(text_of(words, ended))
        assert not (place.canary.parent / "ran").exists(), words
        assert content(place.home) == before, words
    assert not (place.canary.parent / "mine-ran").exists(), "no worker was started"
    text = "\n".join(printed)
    assert SECRET not in text
    assert form.says in text, text


def text_of(words: tuple[str, ...], ended: Ended) -> str:
    """Return what a command printed, which ended in words of sow's own."""
    assert ended.code in range(8), (words, ended)
    assert "bug in sow" not in ended.err, (words, ended)
    return f"sow {' '.join(words)}: {ended.code}\n{ended.out}{ended.err}"


@pytest.mark.slow
def test_what_is_started_is_the_users_own(place: Place) -> None:
    """The true `sow` and its worker, in the folder where programs and modules lie in wait."""
    foreign_queue(place)
    for lay in (names_like_ours, drivers, submodule, locks, evidence, shells, trusted):
        lay(place)
    before = content(place.home)
    settings = place.home / ".config/sow/config.yaml"
    settings.write_text(settings.read_text().replace("autostart: false", "idle_exit: 0s"))
    mine = place.repository.parent / "mine"
    mine.write_text(mine.read_text() + "exec sow task set status needs_review\n")
    env = environment(place) | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    for words in (
        ("status",),
        ("agent", "spawn", "implementer", "010"),
        ("task", "check", "020", "unit", "--detach"),
        ("doctor",),
        ("agent", "cancel", "--all"),
        ("worker", "stop"),
    ):
        subprocess.run(["sow", *words], env=env, cwd=place.repository, check=False, timeout=300)
        assert not (place.canary.parent / "ran").exists(), words
        assert content(place.home) == before, words
    assert (place.canary.parent / "mine-ran").exists(), "the user's own program did run"
    state = (place.repository / TASK / "state.yaml").read_text()
    assert "status: needs_review" in state


def test_the_page_is_of_these_forms() -> None:
    assert PAGE.read_text("utf-8") == rendered(), "run python tests/trust/hostile_page.py"
