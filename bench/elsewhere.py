"""How soon the agent of a job starts on another host, beside one over a queue in a file.

From when its job is queued, as the record of changes has it, to the first deed of its agent. On
another host its work is fetched from a git remote first, into a repository of its own: so beside it
stands one host where the agent works in a clone.
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.claiming import CALLER, HOST, name_server, opened, share_queue
from bench.place import SCRIPT, Place, make_place
from bench.price import Row
from bench.timing import Figure
from bench.warm_worker import warm_worker
from sow.paths import Workspace

BAR = 2.0
"""Times the p95 of one host with a queue in a file, in a clone."""
FILES = 300
SLOTS = 4
STARTED = "started"
TELLING = SCRIPT.replace(
    "cat >", f'date +%s.%N >"$(dirname "$0")/{STARTED}-$SOW_TASK_ID"\ncat >', 1
)
"""An agent whose first deed is to write down the time."""
WAIT_SECONDS = 60.0
QUIET_SECONDS = 0.3


def measure(url: str, rounds: int) -> list[Row]:
    """Return how long an agent's start takes on another host, and on the only one."""
    with ExitStack() as stack:
        alone = stack.enter_context(make_place(script=TELLING))
        _put_into_git(alone)
        stack.enter_context(warm_worker(alone, SLOTS))
        home, host = stack.enter_context(_two_hosts(url))
        cases = {
            "in the checkout": (alone, alone, ()),
            "in a clone": (alone, alone, ("--clone",)),
            "elsewhere": (home, host, ()),
        }
        seconds: dict[str, list[float]] = {name: [] for name in cases}
        for number in range(rounds + 1):
            for at, (name, (caller, at_work, options)) in enumerate(cases.items()):
                found = _to_start(caller, at_work, f"{2000 + 10 * number + at}", options)
                if number:
                    seconds[name].append(found)
    _, in_clone, other = figures = [Figure(name, each) for name, each in seconds.items()]
    here = "; ".join(f"{figure.name} {_words(figure)}" for figure in figures[:-1])
    return [
        Row(
            "a job is queued on one host → its agent starts on another, p50 and p95",
            f"{_words(other)}; with a file, {here}",
            bar=f"≤ {BAR:g} × in a clone",
            held=other.p95 <= BAR * in_clone.p95,
            seconds=seconds,
        )
    ]


def _words(figure: Figure) -> str:
    return f"{figure.median * 1000:.0f}, {figure.p95 * 1000:.0f} ms"


def _to_start(caller: Place, host: Place, task: str, options: Sequence[str]) -> float:
    """Return how long a job is queued before its agent does something, in seconds."""
    caller.add_task(task)
    time.sleep(QUIET_SECONDS)
    words = caller.sow("agent", "spawn", *options, "implementer", task)
    subprocess.run(words, cwd=caller.root, env=caller.env, check=True, capture_output=True)
    began = float(host.script.with_name(f"{STARTED}-{task}").read_text())
    with opened(caller) as database:
        queued = database.value(
            "select min(at) from change where task = ? and kind = 'queued'", (task,)
        )
    return began - float(queued)


@contextmanager
def _two_hosts(url: str) -> Iterator[tuple[Place, Place]]:
    """Share a queue between a checkout, which runs nothing itself, and a clone with a worker."""
    with ExitStack() as stack:
        home, other = (stack.enter_context(make_place(script=TELLING)) for _ in range(2))
        remote = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "remote.git"
        share_queue(home, url)
        home.workspace.repository_config.write_text("worker: {autostart: false}\n")
        _git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
        _put_into_git(home)
        _git("-C", home.root, "remote", "add", "origin", str(remote))
        _git("-C", home.root, "push", "--quiet", "origin", "main")
        clone = other.workspace.root.with_name("clone")
        _git("clone", "--quiet", str(remote), str(clone))
        host = replace(other, workspace=Workspace(clone))
        name_server(home, url.replace("owner@", f"{CALLER}@"))
        name_server(host, url.replace("owner@", f"{HOST}@"))
        stack.enter_context(_worker(host))
        yield home, host


def _put_into_git(place: Place) -> None:
    """Make a place a repository with some files; its project is in no commit."""
    for number in range(FILES):
        (place.workspace.root / f"{number}.txt").write_text(f"{number}\n" * 100)
    (place.workspace.root / ".gitignore").write_text(".sow/project/\n")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    _git("init", "--quiet", "--initial-branch=main", place.root)
    _git("-C", place.root, "add", ".")
    _git("-C", place.root, *who, "commit", "--quiet", "--message", "Begin")


@contextmanager
def _worker(host: Place) -> Iterator[None]:
    """Run a worker of a host until the block is left."""
    process = subprocess.Popen(
        host.sow("worker"),
        cwd=host.root,
        env=host.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


def _git(*words: str) -> None:
    subprocess.run(["git", *words], check=True)
