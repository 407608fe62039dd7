"""The place in which each case runs: a repository with a project and jobs, and a HOME.

Owns how it is made, and how it is damaged.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from unittest.mock import patch

from own_queue import make_own

from sow.ids import AttemptId, JobId, WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import open_queue
from sow.paths import Workspace
from sow.schema.job import Attempt, Cause, JobState, Verb

CONFIG = "worker:\n  autostart: false\n"
DEAD = WorkerId("w1-dead")
EVENTS = (
    '{"type":"system","subtype":"init","session_id":"s"}\n'
    '{"type":"assistant","message":{"content":[{"type":"text","text":"working ☃"}]}}\n'
    "no JSON at all \x1b[31m\n"
)


TASKS = """
- {key: a, name: A, agent: tester, depends_on: [b, "010"], phase: later}
- {key: b, name: B, agent: implementer, priority: 3}
- {id: "040", name: Another}
"""
"""What `sow task import` is given."""


def make_template(base: Path) -> Path:
    """Make the arena that all cases begin with, by the commands of a user."""
    arena = base / "template"
    for name in ("home/.config/sow", "bin", "folder", "tmp", ".git"):
        (arena / name).mkdir(parents=True)
    (arena / "home/.config/sow/config.yaml").write_text(CONFIG)
    (arena / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (arena / "bin/claude").write_text("#!/bin/sh\nexit 0\n")
    (arena / "bin/claude").chmod(0o755)
    (arena / "given.md").write_text("Some words.\n")
    (arena / "tasks.yaml").write_text(TASKS)
    (arena / "tasks.jsonl").write_text('{"key": "c", "name": "C", "agent": "tester"}\n')
    (arena / "binary").write_bytes(bytes(range(256)))
    (arena / "unreadable").write_text("x")
    (arena / "unreadable").chmod(0)
    (arena / "loop").symlink_to("loop")
    (arena / "zero").symlink_to("/dev/zero")
    _sow(arena, "init")
    _sow(arena, "project", "new", "Fuzzed", "--type", "quick")
    for task in ("010", "020", "030", "040", "050"):
        _sow(arena, "task", "add", f"Task {task}", "--agent", "implementer", "--id", task)
    for task in ("010", "020", "030"):
        _sow(arena, "agent", "spawn", "implementer", task, "--detach")
    _make_history(Workspace(arena))
    return arena


def usual_environment(arena: Path) -> dict[str, str]:
    """Return the environment that a case changes."""
    path = f"{arena}/bin:/usr/bin:/bin"
    return {
        "PATH": path,
        "HOME": str(arena / "home"),
        "LANG": "C.UTF-8",
        "EDITOR": "true",
        "TMPDIR": str(arena / "tmp"),
    }


def _sow(arena: Path, *words: str) -> None:
    argv = [sys.executable, "-P", "-m", "sow", *words]
    subprocess.run(argv, cwd=arena, env=usual_environment(arena), check=True, capture_output=True)


def _make_history(workspace: Workspace) -> None:
    """Have the first job run under a worker that is dead, and the second one have failed."""
    now = time.time()
    at_home = patch.dict(os.environ, usual_environment(workspace.root))
    with at_home, closing(open_queue(workspace)) as database:
        for number in (1, 2):
            leases.claim(database, DEAD, total=9, own=9, now=now)
            attempt = Attempt(
                job_id=JobId(number),
                number=1,
                id=AttemptId(f"{number}.1.abcdef"),
                verb=Verb.SPAWN,
                worker_id=DEAD,
                created_at=now,
            )
            jobs.insert_attempt(database, attempt)
        lease = leases.lease_of(database, JobId(2))
        assert lease is not None
        leases.settle(
            database,
            lease,
            state=JobState.FAILED,
            cause=Cause.CRASHED,
            reason="ended by SIGKILL",
            outcome_status=None,
            ended_at=now,
            settled=1,
        )
    folder = workspace.attempt(JobId(1), 1).folder
    folder.mkdir(parents=True)
    for name, text in {
        "output.jsonl": EVENTS,
        "stderr.log": "some words\n",
        "started.json": '{"agent_pid": 999999999}',
        "alive.lock": "",
        "prompt.md": "Do it.\n",
        "supervisor.log": "",
    }.items():
        (folder / name).write_text(text)
    (workspace.workers / "w1-dead.lock").write_text("999999999 1\n")
    (workspace.workers / "w1-dead.log").write_text("2026-01-01 a line\n")


def copy_arena(template: Path, arena: Path) -> None:
    """Make a fresh arena. A folder that a case has shut is opened again first."""
    remove(arena)
    shutil.copytree(template, arena, symlinks=True)
    with patch.dict(os.environ, usual_environment(arena)):
        make_own(Workspace(arena))  # a copy's queue would be put aside
    os.mkfifo(arena / "pipe-with-writer")


def remove(arena: Path) -> None:
    """Remove an arena, whatever its modes; none is fine."""
    if arena.exists():
        for folder, _, _ in os.walk(arena):
            Path(folder).chmod(0o700)
        shutil.rmtree(arena)


MODES = {"unreadable": (0, 0), "read-only": (0o444, 0o555)}
"""Of a file, of a folder."""


def damage(path: Path, kind: str) -> None:
    """Put something else where `path` lies, or change it."""
    before = path.read_bytes() if path.is_file() else b""
    if kind in MODES:
        if path.exists() and not path.is_symlink():  # a link may lead to a device of the system
            path.chmod(MODES[kind][path.is_dir()])
        return
    if path.is_dir() and not path.is_symlink():
        for folder, _, _ in os.walk(path):
            Path(folder).chmod(0o700)
        shutil.rmtree(path)
    else:
        with suppress(OSError):  # nothing there, or no folder to hold it
            path.unlink()
    if not path.parent.is_dir():
        return
    MAKERS[kind](path, before)


def _make_socket(path: Path, _before: bytes) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def _make_huge(path: Path, before: bytes) -> None:
    path.write_bytes(before)
    os.truncate(path, 60 << 20)


LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 9))
    for name in b"bcdefghijkl"
)
"""A short document whose aliases, written out, are some thousand million words."""

MAKERS = {
    "missing": lambda path, before: None,
    "empty": lambda path, before: path.write_bytes(b""),
    "folder": lambda path, before: path.mkdir(),
    "pipe": lambda path, before: os.mkfifo(path),
    "socket": _make_socket,
    "loop": lambda path, before: path.symlink_to(path.name),
    "dangling": lambda path, before: path.symlink_to("nowhere/at/all"),
    "device": lambda path, before: path.symlink_to("/dev/zero"),
    "garbage": lambda path, before: path.write_bytes(bytes(range(256)) * 20),
    "truncated": lambda path, before: path.write_bytes(before[: len(before) // 2]),
    "huge": _make_huge,
    "not-utf8": lambda path, before: path.write_bytes(before + b"\xff\xfe: x\n"),
    "deep": lambda path, before: path.write_bytes(b"[" * 100_000),
    "aliases": lambda path, before: path.write_bytes(LAUGHS),
    "json": lambda path, before: path.write_bytes(b'[{"code": "x"}, 1e999]'),
    "newer": lambda path, before: path.write_bytes(b"999999999999999999999999\n"),
    "duplicate": lambda path, before: path.write_bytes(before + before),
    "nul": lambda path, before: path.write_bytes(b"\0" * 100),
    "text": lambda path, before: path.write_bytes(b"text\n"),
}
