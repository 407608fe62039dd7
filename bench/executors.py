"""What the kinds of agent CLI cost: a command with many of them configured, and their events.

The events are those that the real CLIs have printed (`tests/recordings`), over and over, as many
bytes as a run of hours has. They are read as a worker reads them.
"""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.place import LOUD_BYTES, Place, make_place
from bench.price import Build, Row
from bench.timing import interleave, time_process
from bench.warm_worker import warm_worker
from sow.executors.registry import make_executor
from sow.schema.executor import ExecutorConfig
from sow.schema.executor_type import ExecutorType
from worker.running import OutputReader

RECORDINGS = Path(__file__).parents[1] / "tests/recordings"
ROUNDS, FEW_ROUNDS = 5, 2
QUICK_BYTES = LOUD_BYTES // 20
MEGABYTE = 1_000_000
REFERENCE = ExecutorType.CLAUDE
HELD_TO_REFERENCE = (ExecutorType.CODEX, ExecutorType.OPENCODE)

TYPES = (
    *("claude", "cursor", "windsurf"),
    *("codex", "gemini", "opencode", "qwen", "copilot"),
    *("acp, settings: {command: [an-agent]}", "acp, settings: {command: [cline], preset: cline}"),
    "command, settings: {command: [an-agent]}",
)
"""One executor each, beside the one that runs."""
FEW, MANY = 4, 1 + len(TYPES)
COMMAND_ROUNDS = 40
COMMAND_BAR = 1.03
"""× the time with few executors: no slower, but for the noise of whole processes."""


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what commands take with many executors to few, and what reading events takes."""
    rounds = COMMAND_ROUNDS // 4 if quick else COMMAND_ROUNDS
    size = QUICK_BYTES if quick else LOUD_BYTES
    return [*_commands(builds[0], rounds), *_events(FEW_ROUNDS if quick else ROUNDS, size)]


def _commands(build: Build, rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        places = {number: stack.enter_context(make_place(build.program)) for number in (FEW, MANY)}
        actions: dict[str, Callable[[], float]] = {}
        for number, place in places.items():
            _configure(place, number)
            stack.enter_context(warm_worker(place, 1))
            place.add_task("900")
            actions[f"log {number}"] = _timed(place, "agent", "log", "measured", "--task", "900")
            actions[f"spawn {number}"] = _spawn(place)
        figures = {figure.name: figure for figure in interleave(actions, rounds)}
    for what, name in (("sow agent log", "log"), ("sow agent spawn, warm worker", "spawn")):
        few, many = figures[f"{name} {FEW}"], figures[f"{name} {MANY}"]
        yield Row(
            f"{what}, {MANY} executors to {FEW}",
            measured=f"{many.median * 1000:.0f} ms, {many.median / few.median:.2f} ×",
            bar=f"≤ {COMMAND_BAR:g} ×",
            held=many.median <= COMMAND_BAR * few.median,
            seconds={figure.name: figure.seconds for figure in (few, many)},
        )


def _configure(place: Place, number: int) -> None:
    config = Path(place.env["SOW_CONFIG"])
    lines = [f"    another-{at}: {{type: {kind}}}\n" for at, kind in enumerate(TYPES[: number - 1])]
    before = "  executors:\n"
    config.write_text(config.read_text().replace(before, before + "".join(lines), 1))


def _timed(place: Place, *words: str) -> Callable[[], float]:
    return lambda: time_process(place.sow(*words), place.root, place.env)


def _spawn(place: Place) -> Callable[[], float]:
    numbers = itertools.count(10_000, 10)

    def spawn() -> float:
        task = str(next(numbers))
        place.add_task(task)
        return _timed(place, "agent", "spawn", "implementer", task)()

    return spawn


def _events(rounds: int, size: int) -> Iterator[Row]:
    """Yield what a worker takes to read so many bytes of events of each CLI."""
    with tempfile.TemporaryDirectory(prefix="sow-bench-") as folder:
        files = {kind: _output(Path(folder), kind, size) for kind in _recorded()}
        actions = {
            kind.value: lambda kind=kind: _reading_seconds(files[kind], kind) for kind in files
        }
        figures = {figure.name: figure for figure in interleave(actions, rounds)}
        sizes = {kind: files[kind].stat().st_size / MEGABYTE for kind in files}
    reference = figures[REFERENCE].median / sizes[REFERENCE]
    for kind, megabytes in sizes.items():
        each = figures[kind].median / megabytes
        held = each <= reference if kind in HELD_TO_REFERENCE else None
        yield Row(
            f"{megabytes:.0f} MB of events of {kind}, processor time of a worker",
            measured=f"{each * 1000:.1f} ms/MB, {each / reference:.2f} × {REFERENCE}",
            bar=f"≤ {REFERENCE}" if held is not None else "",
            held=held,
            seconds={kind.value: figures[kind].seconds},
        )


def _recorded() -> list[ExecutorType]:
    """Return the CLIs with a recording, the reference first."""
    kinds = [kind for kind in ExecutorType if list(RECORDINGS.glob(f"{kind}-*"))]
    return sorted(kinds, key=lambda kind: kind is not REFERENCE)


def _output(folder: Path, kind: ExecutorType, size: int) -> Path:
    """Write a file of events of a CLI's newest recorded version."""
    newest = max(
        RECORDINGS.glob(f"{kind}-*"),
        key=lambda path: [int(part) for part in path.name.rpartition("-")[2].split(".")],
    )
    run = (newest / "spawn.jsonl").read_bytes()
    path = folder / kind
    with path.open("wb") as file:
        for _ in range(size // len(run)):
            file.write(run)
    return path


def _reading_seconds(path: Path, kind: ExecutorType) -> float:
    executor = make_executor(ExecutorConfig(name=kind.value, type=kind))
    before = time.process_time()
    OutputReader(path, executor).read_new()
    return time.process_time() - before
