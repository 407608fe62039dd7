"""What a batch costs: beside the ideal schedule of its tasks, and how its commands grow.

The tasks of the schedule lie in layers of diamonds; each works in a clone, is checked,
reviewed and merged. Agents and checks only sleep, for as long as `Terms` says, so that
what the batch takes beyond the ideal is sow's own.
"""

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import yaml
from msgspec import Struct, structs

from bench.ideal import Terms, ideal_seconds
from bench.place import SOW, Place, make_place
from bench.scale import Growth, each_place
from bench.timing import time_process
from sow.jobs import workers
from sow.jobs.database import open_queue
from sow.state.tasks import add_task

TERMS = Terms(author=16.0, reviewer=8.0, check=2.0, slots=8, checks=2)
"""Short beside what an agent of a model takes, so that what sow takes is seen."""
TASKS, FEW_TASKS = 60, 12
BATCHES = (2, 20)
"""How many batches wait for a person."""
TASKS_OF_A_BATCH = 10
IDLE_SECONDS = 20.0
WINDOWS = 3
"""How often a worker that idles is looked at: a minute after its start it prunes, once."""

AUTHOR = """\
#!/bin/sh
cat >/dev/null
sleep {author}
echo "$SOW_TASK_ID" >"work-$SOW_TASK_ID"
exec sow task set status needs_review
"""
REVIEWER = """\
#!/bin/sh
cat >/dev/null
sleep {reviewer}
exec sow review accept "$SOW_TASK_ID" --summary Good
"""
ASKING = """\
#!/bin/sh
cat >/dev/null
exec sow task set status paused
"""
"""An agent whose batch goes on for ever: it asks, and nobody answers."""


class Schedule(Struct, frozen=True):
    """One batch: how long it took, and could have taken, in seconds."""

    tasks: int
    terms: Terms
    ideal: float
    taken: float

    in_a_row: int
    """How many tasks the longest chain has: each begins when the one before is merged."""

    @property
    def ratio(self) -> float:
        """How often its ideal the batch has taken."""
        return self.taken / self.ideal

    @property
    def beyond(self) -> float:
        """What each task of the longest chain took beyond the ideal, in seconds."""
        return (self.taken - self.ideal) / self.in_a_row


class IdleShare(Struct, frozen=True):
    """What a worker takes of one core while so many batches wait for a person."""

    batches: int
    cpu_share: float


class BatchCosts(Struct, frozen=True):
    """All that was measured of batches."""

    schedule: Schedule
    growths: Sequence[Growth]
    idle: Sequence[IdleShare]


def measure(rounds: int, *, quick: bool) -> BatchCosts:
    """Return what batches cost."""
    schedule = measure_schedule(FEW_TASKS if quick else TASKS)
    if quick:
        return BatchCosts(schedule, (), ())
    with waiting(BATCHES[0]) as few, waiting(BATCHES[1]) as many:
        idle = [IdleShare(n, _cpu_share(at)) for n, at in zip(BATCHES, (few, many), strict=True)]
        return BatchCosts(schedule, _growths((few, many), rounds), idle)


def diamonds(count: int) -> dict[str, list[str]]:
    """Return tasks with those that each waits for, in layers of diamonds.

    Of each four, two wait for the first, and the last for both; a diamond's first task waits
    for the first one of the diamond above.
    """
    tasks = [f"{10 * number:04d}" for number in range(1, count + 1)]
    before: dict[str, list[str]] = {}
    for number, task in enumerate(tasks):
        top = number - number % 4
        above = [tasks[top - 4]] if top >= 4 else []
        sides = [tasks[top + 1 : top + 3], [tasks[top]]]
        before[task] = above if number == top else sides[number % 4 != 3]
    return before


def longest_chain(before: Mapping[str, Sequence[str]]) -> int:
    """Return how many tasks the longest chain has. Those that a task waits for come before it."""
    depth: dict[str, int] = {}
    for task, needed in before.items():
        depth[task] = 1 + max((depth[other] for other in needed), default=0)
    return max(depth.values())


def measure_schedule(count: int, terms: Terms = TERMS) -> Schedule:
    """Run one batch in a fresh repository."""
    before = diamonds(count)
    with make_place() as place:
        prepare(place, terms, {"implementer": AUTHOR, "reviewer": REVIEWER})
        _add(place, before)
        begun = time.perf_counter()
        run(place, "batch", "run", "--clone", "--check", "--review", "--merge")
        taken = time.perf_counter() - begun
    return Schedule(count, terms, ideal_seconds(before, terms), taken, longest_chain(before))


def prepare(
    place: Place, terms: Terms, scripts: Mapping[str, str], check: str | None = None
) -> None:
    """Make the place a repository with a check, and its agents what is asked for."""
    root = place.workspace.root
    executors = {}
    for role, script in scripts.items():
        path = root.with_name(f"{role}.sh")
        path.write_text(script.format(**structs.asdict(terms)))
        path.chmod(0o755)
        executors[role] = {"type": "command", "settings": {"command": [str(path)]}}
    config = {
        "agents": {"executors": executors, "bindings": {role: role for role in scripts}},
        "worker": {"concurrency": terms.slots, "checks": terms.checks, "idle_exit": "1h"},
    }
    Path(place.env["SOW_CONFIG"]).write_text(yaml.safe_dump(config))
    checks = {"sleep": check or f"sleep {terms.check}", "default": ["sleep"]}
    place.workspace.repository_config.write_text(yaml.safe_dump({"checks": checks}))
    (root / ".gitignore").write_text(".sow/run\n.sow/project\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Bench"),
        ("config", "user.email", "bench@example.invalid"),
        ("add", "-A"),
        ("commit", "-q", "-m", "Settings"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)
    run(place, "trust", "--yes")


def _add(place: Place, before: Mapping[str, Sequence[str]]) -> None:
    for task, needed in before.items():
        add_task(
            place.workspace,
            name=f"Task {task}",
            agent="implementer",
            now=time.time(),
            task_id=task,
            depends_on=needed,
        )


def run(place: Place, *words: str, codes: Sequence[int] = (0,)) -> None:
    env = {**place.env, "PATH": f"{place.sow()[0].rpartition('/')[0]}:{place.env['PATH']}"}
    done = subprocess.run(
        place.sow(*words), cwd=place.root, env=env, check=False, capture_output=True, text=True
    )
    if done.returncode not in codes:
        raise RuntimeError(f"sow {' '.join(words)}: {done.stdout}{done.stderr}")


@contextmanager
def waiting(batches: int, program: Path = SOW) -> Iterator[Place]:
    """Make a place with so many batches, each task of which waits for a person."""
    with make_place(program) as place:
        prepare(place, TERMS, {"implementer": ASKING})
        tasks = [f"{10 * n:05d}" for n in range(1, batches * TASKS_OF_A_BATCH + 1)]
        _add(place, dict.fromkeys(tasks, ()))
        for first in range(0, len(tasks), TASKS_OF_A_BATCH):
            words = tasks[first : first + TASKS_OF_A_BATCH]
            run(place, "batch", "run", *words, "--no-clone", codes=(1,))
        yield place


def _growths(places: Sequence[Place], rounds: int) -> list[Growth]:
    """Return how long what one looks at a batch with takes, by the number of batches."""
    of = f"batches of {TASKS_OF_A_BATCH} tasks"
    commands = (("batch", "show", "1"), ("batch", "list"), ("job", "list"))

    def timed(words: Sequence[str]) -> Callable[[Place], float]:
        return lambda place: time_process(place.sow(*words), place.root, place.env)

    return [
        Growth(f"sow {' '.join(words)}", of, BATCHES, each_place(places, rounds, timed(words)))
        for words in commands
    ]


def _cpu_share(place: Place) -> float:
    """Return what the place's worker takes of one core while nothing is to be done."""
    with closing(open_queue(place.workspace)) as database:
        (record,) = workers.registered(database)
    worker = psutil.Process(record.process.pid)
    return statistics.median(_share_of(worker) for _ in range(WINDOWS))


def _share_of(worker: psutil.Process) -> float:
    before, begun = worker.cpu_times(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    after, ended = worker.cpu_times(), time.monotonic()
    return (after.user + after.system - before.user - before.system) / (ended - begun)
