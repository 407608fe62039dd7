"""Processes that commit, swaps of the queue's files, SIGKILLs: nothing foreign, nothing untold."""

import shutil
import sqlite3
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from proving import drawn, hand_in, rounds
from queue_cases import insert
from queue_storm import QueueStorm
from small_process import done_in_small_process

from sow.jobs import leases
from sow.jobs.database import open_queue
from sow.jobs.queue_owner import ROW, names_here
from sow.jobs.unproven_queue import put_place
from sow.paths import Workspace

pytestmark = pytest.mark.storm


def made(root: Path, prompt: str) -> Path:
    """Make a queue with jobs that wait; return the file, without a log."""
    workspace = Workspace(root)
    workspace.sow.mkdir(parents=True)
    with closing(open_queue(workspace)) as database:
        for number in range(20):
            job = insert(database, f"{number:03}", prompt=prompt)
            leases.enqueue(database, job.id, now=0)
    return workspace.queue_db


def foreign_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> list[Path]:
    """Return files that are not this checkout's: another user's, the user's other, a forged one."""
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(folder / "somebody"))
        theirs = made(folder / "theirs", "foreign")
    forged = shutil.copyfile(theirs, folder / "forged.db")
    with closing(sqlite3.connect(forged, isolation_level=None)) as connection:
        connection.execute("delete from control where name = ?", (ROW,))
        put_place(connection, workspace)
        connection.execute("pragma journal_mode = delete")
        connection.execute("pragma journal_mode = wal")
    return [theirs, made(folder / "other", "foreign"), forged]


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=N", "-c", "user.email=e@example.org")
    subprocess.run(["git", *identity, *words], cwd=root, check=True)


def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Workspace, list[Path]]:
    """Make a repository in which a branch has a queue file that somebody has committed."""
    workspace = Workspace(tmp_path / "mine")
    workspace.run.mkdir(parents=True)
    foreign = foreign_files(tmp_path, monkeypatch, workspace)
    top = workspace.root
    (workspace.sow / ".gitignore").write_text("run/\n")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "Begin")
    git(top, "tag", "base")
    git(top, "checkout", "-q", "-b", "trap")
    shutil.copyfile(foreign[0], workspace.queue_db)
    git(top, "add", "-f", ".sow/run/queue.db")
    git(top, "commit", "-q", "-m", "Trap")
    git(top, "checkout", "-q", "main")
    return workspace, foreign


@pytest.mark.parametrize("seed", drawn(*range(401, 409)))
def test_a_storm_of_swapped_files_believes_nothing_foreign_and_loses_nothing_untold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    workspace, foreign = begin(tmp_path, monkeypatch)
    begun = QueueStorm(seed, tmp_path, workspace, foreign)
    storm = done_in_small_process(partial(begun.passed, rounds(12, 5)))
    print(f"queue storm {seed}: {storm.committed} commits, {dict(storm.swaps)},")
    print(f"kills {dict(storm.kills)}, told {dict(storm.notice_counts)}")
    assert storm.wrongs == []
    assert storm.committed
    sweep(workspace, foreign[0])
    names = {path.name for path in workspace.run.iterdir()}
    assert names == {"aside", "queue.db", "waiters", "workers", *names_here(workspace)}
    facts = {"commits": storm.committed, "swaps": storm.swaps.total(), "kills of": storm.kills}
    hand_in("swapped queue files", seed, facts)


def sweep(workspace: Workspace, foreign: Path) -> None:
    """Have an own file given back and a new one made: each sweeps what its like have left."""
    draft = shutil.copyfile(foreign, workspace.root / "draft.db")
    draft.replace(workspace.queue_db)
    open_queue(workspace).close()
    workspace.queue_db.unlink()
    open_queue(workspace).close()
