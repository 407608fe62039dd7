"""What a sandbox costs: an instant agent, a report through its socket, and an agent at work.

Each is measured beside the same without a sandbox, in turns. In a sandbox an agent can report by
`sow` alone, so both do. What the sandbox itself costs shows an agent that reports nothing.
"""

import itertools
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench import memory
from bench.place import Place, make_place
from bench.price import Build, Row
from bench.timing import Figure, interleave, time_process
from bench.warm_worker import warm_worker
from sow.jobs import jobs
from sow.jobs.database import open_queue
from sow.sandbox.probe import SandboxUnavailable, usable

ROUNDS, FEW_ROUNDS = 40, 5
AGENTS, FEW_AGENTS = 32, 8
"""How many are at work where their memory is weighed."""
WHOLE_BAR, REPORT_BAR, MORE_BAR = 1.15, 1.2, 2 * memory.MEGABYTE
NONE, BWRAP = "none", "bwrap"
TASK = "0800"
SECONDS = 60.0

REPORTING = """\
#!/bin/sh
cat >/dev/null
{program} task set status needs_review >/dev/null
"""
SILENT = "#!/bin/sh\ncat >/dev/null\n"
WAITING = REPORTING.replace(
    "{program}", 'until test -e "$SOW_ROOT/go"; do sleep 1; done\n{program}', 1
)
SCRIPTS = {"reporting": REPORTING, "silent": SILENT, "waiting": WAITING}
EXECUTOR = """\
    {name}: {{type: command, retries: 0, sandbox: {sandbox}, settings: {{command: [{script}]}}}}
"""


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what a sandbox costs; a row that says why where none can be made."""
    try:
        usable("the benchmark")
    except SandboxUnavailable as error:
        return [Row("a sandbox", measured=error.message)]
    build, rounds = builds[0], FEW_ROUNDS if quick else ROUNDS
    return [
        *_whole(build, rounds),
        _report(build, rounds),
        _memory(build, FEW_AGENTS if quick else AGENTS),
    ]


@contextmanager
def _place(build: Build) -> Iterator[Place]:
    """Make a place with executors of both kinds for each script: `silent-bwrap`, and so on."""
    with make_place(build.program) as place:
        config = Path(place.env["SOW_CONFIG"])
        lines = ""
        for name, text in SCRIPTS.items():
            script = place.script.with_name(f"{name}-agent.sh")
            script.write_text(text.format(program=place.program))
            script.chmod(0o755)
            for sandbox in (NONE, BWRAP):
                lines += EXECUTOR.format(name=f"{name}-{sandbox}", sandbox=sandbox, script=script)
        before = "  executors:\n"
        config.write_text(config.read_text().replace(before, before + lines, 1))
        yield place


def _whole(build: Build, rounds: int) -> Iterator[Row]:
    """Yield what an instant agent takes from its call to its end."""
    with _place(build) as place, warm_worker(place, 1):
        numbers = itertools.count(10_000, 10)
        kinds = [f"{name}-{use}" for name in ("reporting", "silent") for use in (NONE, BWRAP)]
        actions = {kind: _spawn(place, kind, numbers) for kind in kinds}
        figures = {figure.name: figure for figure in interleave(actions, rounds)}
    for name, what, bar in (
        ("reporting", "an instant agent in a sandbox, end to end, to the plain one", WHOLE_BAR),
        ("silent", "the same of one that reports nothing", None),
    ):
        plain, fenced = figures[f"{name}-{NONE}"], figures[f"{name}-{BWRAP}"]
        yield _ratio_row(what, plain, fenced, bar)


def _spawn(place: Place, executor: str, numbers: Iterator[int]) -> Callable[[], float]:
    env = {**place.env, "SOW_AGENTS_IMPLEMENTER": executor}

    def spawn() -> float:
        task = str(next(numbers))
        place.add_task(task)
        words = place.sow("agent", "spawn", "implementer", task)
        begun = time.perf_counter()  # one that reports nothing fails
        subprocess.run(words, cwd=place.root, env=env, check=False, capture_output=True)
        return time.perf_counter() - begun

    return spawn


def _ratio_row(what: str, plain: Figure, fenced: Figure, bar: float | None) -> Row:
    """Return a row by the median of the rounds' own ratios."""
    pairs = zip(fenced.seconds, plain.seconds, strict=True)
    ratio = statistics.median(fenced / plain for fenced, plain in pairs)
    return Row(
        what,
        measured=f"{fenced.median * 1000:.0f} ms, {ratio:.2f} × {plain.median * 1000:.0f} ms",
        bar=f"≤ {bar:g} ×" if bar is not None else "",
        held=None if bar is None else ratio <= bar,
        seconds={figure.name: figure.seconds for figure in (plain, fenced)},
    )


def _report(build: Build, rounds: int) -> Row:
    """Return what a log entry takes through the socket of an agent that is at work."""
    with _place(build) as place, warm_worker(place, 2):
        env = {**place.env, "SOW_AGENTS_IMPLEMENTER": f"waiting-{BWRAP}"}
        place.add_task(TASK)
        words = place.sow("agent", "spawn", "implementer", TASK, "--detach")
        subprocess.run(words, cwd=place.root, env=env, check=True, capture_output=True)
        socket = _socket(place)
        own = {"SOW_ROOT": place.root, "SOW_TASK_ID": TASK, "SOW_AGENT": "implementer"}
        by_socket = {**own, "SOW_REPORT_SOCKET": str(socket)}
        actions = {"log": _log(place, own), "log by a socket": _log(place, by_socket)}
        plain, fenced = interleave(actions, rounds)
        (place.workspace.root / "go").touch()
        words = place.sow("agent", "wait", TASK)  # else its agent would outlive the worker
        subprocess.run(words, cwd=place.root, env=env, check=False, capture_output=True)
    return _ratio_row("sow agent log from a sandbox, to the plain one", plain, fenced, REPORT_BAR)


def _log(place: Place, variables: Mapping[str, str]) -> Callable[[], float]:
    words = place.sow("agent", "log", "measured")
    return lambda: time_process(words, place.root, {**place.env, **variables})


def _socket(place: Place) -> Path:
    """Return the socket of the only agent at work, once it is there."""
    deadline = time.monotonic() + SECONDS
    with closing(open_queue(place.workspace)) as database:
        while time.monotonic() < deadline:
            for job in jobs.active_jobs(database):
                socket = place.workspace.attempt(job.id, 1).report_folder / "socket"
                if socket.exists():
                    return socket
            time.sleep(0.05)
    raise TimeoutError("the agent's socket")


def _memory(build: Build, count: int) -> Row:
    """Return what each agent at work takes more in a sandbox, bubblewrap's processes included."""
    each = {}
    for sandbox in (NONE, BWRAP):
        with _place(build) as place:
            place.env["SOW_AGENTS_TESTER"] = f"waiting-{sandbox}"
            idle, busy = memory.measure(place, (count,))
        each[sandbox] = busy.per_agent(idle)
    more = each[BWRAP] - each[NONE]
    plain, fenced = (f"{each[use] / memory.MEGABYTE:.2f}" for use in (NONE, BWRAP))
    return Row(
        f"memory of each of {count} agents at work in a sandbox, more than without (PSS)",
        measured=f"{more / memory.MEGABYTE:.2f} MB: {fenced} and {plain}",
        bar=f"≤ {MORE_BAR / memory.MEGABYTE:g} MB",
        held=more <= MORE_BAR,
    )
