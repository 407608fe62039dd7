"""How often all processes of a job ask the kernel to sync, counted by `strace`."""

import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.place import Place, make_place
from bench.price import Build, Row
from bench.processor_time import collecting, spent
from bench.timing import time_process
from bench.warm_worker import warm_worker

CALLS = ("fsync", "fdatasync", "sync_file_range", "msync")
LINE = re.compile(rf"^(?:\d+ +)?([\d.]+) ({'|'.join(CALLS)})\(", re.MULTILINE)
JOBS = 50
SLOTS = 4
BAR = 7.0


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return the syncs of a job, over a call of 50; nothing is timed here."""
    del quick
    what = f"syncs of a job, all processes, of {JOBS} in one call"
    if shutil.which("strace") is None:
        return [Row(what, "strace is missing", bar=f"≤ {BAR:g}")]
    counts = [_counted(build) for build in builds]
    this = sum(counts[0].values()) / JOBS
    base = [_words(count) for count in counts[1:]]
    return [Row(what, _words(counts[0]), "".join(base), f"≤ {BAR:g}", held=this <= BAR)]


def _counted(build: Build) -> Counter[str]:
    """Count from the call's start until all that it has caused has come to rest."""
    with (
        tempfile.TemporaryDirectory() as folder,
        collecting(),
        make_place(build.program) as place,
    ):
        logs = {name: Path(folder, name) for name in ("caller", "worker")}
        begun, ended = _run(place, logs)
        found: Counter[str] = Counter()
        for name, log in logs.items():
            for moment, call in LINE.findall(log.read_text(errors="replace")):
                if begun <= float(moment) <= ended:
                    found[f"{name} {call}"] += 1
        return found


def _run(place: Place, logs: dict[str, Path]) -> tuple[float, float]:
    tasks = [f"{1000 + 10 * number}" for number in range(JOBS)]
    for task in tasks:
        place.add_task(task)
    with warm_worker(place, SLOTS, below=_strace(logs["worker"])):
        spent()
        begun = time.time()
        words = place.sow("agent", "spawn", "implementer", *tasks)
        time_process([*_strace(logs["caller"]), *words], place.root, place.env)
        spent()
        return begun, time.time()


def _strace(log: Path) -> list[str]:
    return ["strace", "-f", "-qq", "-ttt", "-e", f"trace={','.join(CALLS)}", "-o", str(log)]


def _words(count: Counter[str]) -> str:
    parts = ", ".join(f"{name} {number / JOBS:.1f}" for name, number in sorted(count.items()))
    return f"{sum(count.values()) / JOBS:.1f}: {parts}"
