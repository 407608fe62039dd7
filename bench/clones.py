"""What a task's clone costs: the time to make it and to find it again, the room that it takes.

The room is what its files take on the disk beyond the repository's: hard-linked objects count
for nothing. A plain `git clone` of the same repository stands beside it.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sow.clones.locks import locked_place
from sow.clones.main_checkout import MainCheckout, main_checkout
from sow.clones.make import CloneOrder, finish_clone, make_clone
from sow.clones.place import Place
from sow.config.clones import CloneSettings
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task, read_task
from sow.state.workspace_init import init_workspace

FILE_BYTES = 2_000
HISTORY_BYTES = 1_000_000_000
HISTORY_FILES = 10
BLOCK = 512


@dataclass(frozen=True)
class CloneCost:
    """One repository's clone: medians in seconds, room in bytes."""

    repository: str
    made: float
    found: float
    """How long it takes to find a clone that is there."""
    plain: float
    """How long `git clone` of the same repository takes, by hard links as well."""
    room: int
    repository_room: int


def measure(rounds: int, *, quick: bool) -> list[CloneCost]:
    """Return what a clone costs of a small repository, of one of many files, of a long history."""
    costs = []
    for name, files, history in (
        ("100 files", 100, 0),
        ("10,000 files", 10_000, 0),
        ("100 files, 1 GB of history", 100, HISTORY_BYTES),
    ):
        if quick and (files > 100 or history):
            continue
        with tempfile.TemporaryDirectory(prefix="sow-bench-clones-") as folder:
            costs.append(_measure(Path(folder), name, files, history, rounds))
    return costs


def _measure(folder: Path, name: str, files: int, history: int, rounds: int) -> CloneCost:
    root = folder / "repository"
    _make_repository(root, files, history)
    main = main_checkout(Workspace(root), CloneSettings(folder=str(folder / "clones")))
    place = main.place(read_task(Workspace(root), "010"))
    made, found, plain = [], [], []
    for _ in range(rounds):
        shutil.rmtree(place.path, ignore_errors=True)
        made.append(_timed(lambda: _make(main, place)))
        found.append(_timed(lambda: _make(main, place)))
        target = folder / "plain"
        plain.append(_timed(lambda to=target: _git(folder, "clone", "-q", str(root), str(to))))  # type: ignore[misc] # bound now
        shutil.rmtree(target)
    return CloneCost(
        repository=name,
        made=statistics.median(made),
        found=statistics.median(found),
        plain=statistics.median(plain),
        room=_room(place.path),
        repository_room=_room(root),
    )


def _make_repository(root: Path, files: int, history: int) -> None:
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "Bench")
    _git(root, "config", "user.email", "bench@example.invalid")
    _git(root, "config", "gc.auto", "0")  # beside ours, which waits for no other
    for number in range(history // (HISTORY_BYTES // HISTORY_FILES)):
        (root / "large").write_bytes(os.urandom(HISTORY_BYTES // HISTORY_FILES))
        _git(root, "add", "large")
        _git(root, "commit", "-q", "-m", f"Version {number}")
    if history:
        _git(root, "rm", "-q", "large")
    for number in range(files):
        path = root / f"folder-{number // 100}" / f"file-{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(FILE_BYTES // 2).hex().encode())
    init_workspace(root)
    new_project(
        Workspace(root), name="bench", project_id=ProjectId(str(uuid.uuid4())), now=time.time()
    )
    add_task(Workspace(root), name="Task", agent="implementer", now=time.time(), task_id="010")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "Files")
    _git(root, "gc", "-q")


def _make(main: MainCheckout, place: Place) -> None:
    with locked_place(place):
        order = CloneOrder(place, main.repository, main.project_commit)
        if not make_clone(order).is_whole:
            finish_clone(place)


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _room(folder: Path) -> int:
    """Return what a folder's files take on the disk that no other name keeps, in bytes."""
    found = 0
    for path in folder.rglob("*"):
        stat = path.lstat()
        found += stat.st_blocks * BLOCK if stat.st_nlink == 1 or path.is_dir() else 0
    return found


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
