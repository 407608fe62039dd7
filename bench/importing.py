"""`sow task import` of 1,200 tasks, beside what the disk takes for as many bytes.

"That size" is the size of all files that the import leaves in the project's folder. The disk
takes it in two ways: as one file, and as one file for each task, which together have that size;
each file is written and synced. The bar goes by the files, one for each task; how often the import
takes as long as the one file is a figure without a bar (docs/performance.md).

All places stay until the end. For some minutes ext4 looks at each inode that was freed, again for
every new file nearby (`recently_deleted` in its ialloc.c): the next round would measure that.
"""

import json
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from bench.place import Place, make_place
from bench.price import Build, Row, in_turns
from bench.processor_time import dead_children
from bench.timing import time_process

TASKS, FEW_TASKS = 1_200, 300
ROUNDS, FEW_ROUNDS = 3, 1
BAR = 3.0
DESCRIPTION = "What is to be done, and how one sees that it is done. " * 4


class Taken(Struct, frozen=True):
    """What an import has taken, in seconds."""

    whole: float
    cpu: float


class Disk(Struct, frozen=True):
    """What the disk takes, in seconds: for one file, and for one of each task."""

    size: int
    """Bytes that the import has left."""
    one_file: float
    each_file: float


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what an import takes over writing and syncing one file."""
    tasks, rounds = (FEW_TASKS, FEW_ROUNDS) if quick else (TASKS, ROUNDS)
    taken: dict[str, list[Taken]] = {build.name: [] for build in builds}
    disk: list[Disk] = []
    with ExitStack() as places:
        for number in range(rounds):
            for build in in_turns(builds, number):
                place = places.enter_context(make_place(build.program))
                taken[build.name].append(_import(place, tasks))
                if build == builds[0]:
                    disk.append(_disk(place, tasks))
    return [as_row(tasks, taken, disk)]


def _import(place: Place, tasks: int) -> Taken:
    entries = (
        {
            "key": f"task-{number}",
            "name": f"Task {number}",
            "agent": "implementer",
            "description": DESCRIPTION,
        }
        for number in range(tasks)
    )
    path = place.workspace.root / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    waited = dead_children()
    words = place.sow("task", "import", str(path))
    return Taken(time_process(words, place.root, place.env), dead_children() - waited)


def _disk(place: Place, tasks: int) -> Disk:
    files = [path for path in Path(place.root, ".sow/project").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    folder = place.workspace.root / "plain"
    folder.mkdir()
    one_file = _written(folder / "one", bytes(size))
    each = sum(_written(folder / f"{number}", bytes(size // tasks)) for number in range(tasks))
    return Disk(size, one_file, each)


def _written(path: Path, data: bytes) -> float:
    begun = time.perf_counter()
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return time.perf_counter() - begun


def as_row(tasks: int, taken: Mapping[str, Sequence[Taken]], disk: Sequence[Disk]) -> Row:
    """Return the figures: this build's first among `taken`, each with the median of its rounds."""
    one_file = statistics.median(each.one_file for each in disk)
    each_file = statistics.median(each.each_file for each in disk)

    def whole(name: str) -> float:
        return statistics.median(each.whole for each in taken[name])

    def words(name: str) -> str:
        cpu = statistics.median(each.cpu for each in taken[name])
        ratios = f"{whole(name) / each_file:.1f} × a file each, {whole(name) / one_file:.0f} × one"
        return f"{whole(name):.2f} s, {cpu:.2f} s of CPU, {ratios}"

    this, *base = taken
    size = disk[-1].size / 1_000_000
    aside = f"; one file of {size:.1f} MB {one_file:.3f} s, {tasks:,} files {each_file:.2f} s"
    return Row(
        what=f"import of {tasks:,} tasks",
        measured=words(this) + aside,
        base="".join(map(words, base)),
        bar=f"≤ {BAR:g} × a synced file for each task",
        held=whole(this) <= BAR * each_file,
        seconds={
            **{name: [each.whole for each in imports] for name, imports in taken.items()},
            "one file": [each.one_file for each in disk],
            "a file each": [each.each_file for each in disk],
        },
    )
