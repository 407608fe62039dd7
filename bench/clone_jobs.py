"""What sow does for a clone of a small repository: a check, an update, a merge, and a batch of all.

A check and a merge are jobs that a command waits for. An update is a job only in a batch; alone,
`sow clone update` does the same work in its own process. Time is a command's, from start to end;
processor time is that of all processes (`bench.processor_time`).
"""

import sqlite3
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing

from msgspec import Struct

from bench.batches import TERMS, prepare, run
from bench.place import Place, make_place
from bench.price import Build, Row, in_turns
from bench.processor_time import collecting, spent
from bench.timing import time_process

TASKS, FEW_TASKS = 8, 3
BAR = 0.5
CHECK, UPDATE, MERGE = "a check", "an update (`sow clone update`)", "a merge"
BATCH = "a task of a batch: its agent, a check, an update, a merge"
UPDATE_JOB = "an update as a job, in that batch: from queued to ended"
AUTHOR = """\
#!/bin/sh
cat >/dev/null
echo "$SOW_TASK_ID" >"work-$SOW_TASK_ID"
exec sow task set status needs_review
"""


class Taken(Struct, frozen=True):
    """What one of them has taken, in seconds."""

    whole: float
    cpu: float | None = None
    """None where it cannot be told from what else went on."""


Record = dict[str, list[Taken]]


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what each takes; the builds take turns at every step."""
    tasks = [f"{1000 + 10 * number}" for number in range(FEW_TASKS if quick else TASKS)]
    records: dict[str, Record] = {build.name: defaultdict(list) for build in builds}
    with collecting():
        _alone(builds, tasks, records)
        for build in builds:
            with make_place(build.program) as place:
                _batch(place, tasks, records[build.name])
    this, *base = (records[build.name] for build in builds)
    return [_row(what, this, *base) for what in (CHECK, UPDATE, MERGE, BATCH, UPDATE_JOB)]


def _alone(builds: Sequence[Build], tasks: Sequence[str], records: dict[str, Record]) -> None:
    """Have all work done in clones; then check each, and merge one after the other."""
    with ExitStack() as stack:
        places = {build.name: stack.enter_context(make_place(build.program)) for build in builds}
        for place in places.values():
            _prepare(place, tasks)
            run(place, "worker", "--background")
            run(place, "agent", "spawn", "implementer", *tasks, "--clone")
        for number, task in enumerate(tasks):
            turns = [(build.name, places[build.name]) for build in in_turns(builds, number)]
            for name, place in turns:
                records[name][CHECK].append(_timed(place, "task", "check", task))
            for name, place in turns:
                if number:
                    records[name][UPDATE].append(_timed(place, "clone", "update", task))
                run(place, "review", "accept", task, "--summary", "Good")
            for name, place in turns:
                records[name][MERGE].append(_timed(place, "merge", task))


def _batch(place: Place, tasks: Sequence[str], record: Record) -> None:
    """Run all of it as one batch; what a task takes is a share of the whole."""
    _prepare(place, tasks)
    run(place, "worker", "--background")
    words = ("batch", "run", "--clone", "--check", "--no-review", "--accept", "check", "--merge")
    all_of_them = _timed(place, *words)
    assert all_of_them.cpu is not None
    share = Taken(all_of_them.whole / len(tasks), all_of_them.cpu / len(tasks))
    record[BATCH].append(share)
    queue = f"file:{place.workspace.queue_db}?mode=ro"
    with closing(sqlite3.connect(queue, uri=True)) as database:
        query = "select ended_at - queued_at from job where verb = 'update' and ended_at > 0"
        record[UPDATE_JOB] += [Taken(seconds) for (seconds,) in database.execute(query)]


def _prepare(place: Place, tasks: Sequence[str]) -> None:
    prepare(place, TERMS, {"implementer": AUTHOR}, check="true")
    place.env["PATH"] = f"{place.program.parent}:{place.env['PATH']}"
    for task in tasks:
        place.add_task(task)


def _timed(place: Place, *words: str) -> Taken:
    before = spent()
    try:
        whole = time_process(place.sow(*words), place.root, place.env)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"sow {' '.join(words)}: {error.stdout}{error.stderr}") from error
    return Taken(whole, spent() - before)


def _row(what: str, this: Record, base: Record | None = None) -> Row:
    def middle(record: Record) -> tuple[float, float | None]:
        taken = record[what]
        cpu = [each.cpu for each in taken if each.cpu is not None]
        return statistics.median(each.whole for each in taken), statistics.median(
            cpu
        ) if cpu else None

    def words(record: Record) -> str:
        whole, cpu = middle(record)
        return f"{whole * 1000:.0f} ms" + ("" if cpu is None else f", {cpu * 1000:.0f} ms of CPU")

    if not this[what]:
        return Row(what, "none took place")
    ratios: list[float] = []
    if base is not None and base[what]:
        pairs = zip(middle(this), middle(base), strict=True)
        ratios = [ours / theirs for ours, theirs in pairs if ours is not None and theirs]
    times = "".join(f", {ratio:.2f} ×" for ratio in ratios)
    return Row(
        what=what,
        measured=words(this) + (f";{times[1:]} base" if times else ""),
        base=words(base) if base is not None and base[what] else "",
        bar=f"≤ {BAR:g} × base",
        held=max(ratios) <= BAR if ratios else None,
        seconds={"this build": [each.whole for each in this[what]]},
    )
