"""200 instant agents in one call, beside `xargs -P 4` with the same script; and what a job takes.

Processor time is that of the caller, the worker and all below it, less what the same agents
have taken below `xargs` in the same round (with xargs's own, which starts them).
"""

import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bench.place import SCRIPT, Place, make_place
from bench.price import Build, Row, in_turns
from bench.processor_time import collecting, dead_children, own_share, spent
from bench.timing import time_process
from bench.warm_worker import warm_worker

AGENTS, FEW_AGENTS = 200, 50
ROUNDS, FEW_ROUNDS = 5, 2
SLOTS = 4
BY_ARGUMENT = SCRIPT.replace("state=", ': "${SOW_TASK_ID:=$1}"\nstate=', 1)
"""The agent finds its task in its first argument where nothing else names it: under `xargs`."""
BASE_BAR, XARGS_BAR, CPU_BAR = 0.4, 5.0, 0.4


class Taken(Struct, frozen=True):
    """What one call of so many agents has taken, in seconds."""

    whole: float
    """From the call's start to its end."""
    caller: float
    worker: float
    """Of a processor, by the worker itself."""
    below: float
    """By all that it has started, the agents among them."""

    @property
    def cpu(self) -> float:
        """Of processors, in all."""
        return self.caller + self.worker + self.below


class Peer(Struct, frozen=True):
    """What the same agents take below `xargs`, in seconds."""

    whole: float
    cpu: float


def measure(builds: Sequence[Build], *, quick: bool) -> list[Row]:
    """Return what a call and each of its jobs take."""
    agents, rounds = (FEW_AGENTS, FEW_ROUNDS) if quick else (AGENTS, ROUNDS)
    taken: dict[str, list[Taken]] = {build.name: [] for build in builds}
    peers: list[Peer] = []
    with collecting():
        for number in range(rounds):
            for build in in_turns(builds, number):
                with make_place(build.program, BY_ARGUMENT) as place:
                    taken[build.name].append(_one_call(place, agents))
            with make_place(script=BY_ARGUMENT) as place:
                peers.append(_xargs(place, agents))
    return list(_rows(agents, taken, peers))


def _one_call(place: Place, agents: int) -> Taken:
    tasks = _add(place, agents)
    words = place.sow("agent", "spawn", "implementer", *tasks)
    with warm_worker(place, SLOTS) as worker:
        own, before, waited = own_share(worker), spent(), dead_children()
        whole = time_process(words, place.root, place.env)
        caller = dead_children() - waited
        all_of_them, own = spent() - before, own_share(worker) - own
    return Taken(whole, caller, own, all_of_them - caller - own)


def _xargs(place: Place, agents: int) -> Peer:
    tasks = _add(place, agents)
    words = ["xargs", "-P", str(SLOTS), "-n", "1", str(place.script)]
    waited, begun = dead_children(), time.perf_counter()
    subprocess.run(
        words,
        input="\n".join(tasks).encode(),
        cwd=place.root,
        env={**place.env, "SOW_ROOT": place.root},
        check=True,
    )
    return Peer(time.perf_counter() - begun, dead_children() - waited)


def _add(place: Place, agents: int) -> list[str]:
    tasks = [f"{10_000 + 10 * number}" for number in range(agents)]
    for task in tasks:
        place.add_task(task)
    return tasks


def _rows(agents: int, taken: Mapping[str, Sequence[Taken]], peers: Sequence[Peer]) -> list[Row]:
    """Medians over the rounds; a ratio is the median of the rounds' own ratios."""
    names = list(taken)
    peer = statistics.median(each.whole for each in peers)
    agent = statistics.median(each.cpu for each in peers)
    this, base = taken[names[0]], taken[names[1]] if len(names) > 1 else None

    def whole(calls: Sequence[Taken]) -> str:
        return f"{statistics.median(call.whole for call in calls):.2f} s"

    def to_xargs(calls: Sequence[Taken]) -> float:
        pairs = zip(calls, peers, strict=True)
        return statistics.median(call.whole / beside.whole for call, beside in pairs)

    def each_job(calls: Sequence[Taken]) -> float:
        pairs = zip(calls, peers, strict=True)
        return statistics.median((call.cpu - beside.cpu) / agents for call, beside in pairs)

    def parts(calls: Sequence[Taken]) -> str:
        caller, worker, below = (
            1000 * statistics.median(part) / agents
            for part in zip(*((c.caller, c.worker, c.below) for c in calls), strict=True)
        )
        supervisors = below - 1000 * agent / agents
        return (
            f"{1000 * each_job(calls):.1f} ms: caller {caller:.1f}, worker {worker:.1f},"
            f" supervisors {supervisors:.1f}"
        )

    to_base = cpu_to_base = None
    if base is not None:
        to_base = statistics.median(a.whole / b.whole for a, b in zip(this, base, strict=True))
        cpu_to_base = each_job(this) / each_job(base)
    beside = f"xargs -P {SLOTS} {peer:.2f} s"
    seconds = {
        **{name: [call.whole for call in calls] for name, calls in taken.items()},
        "xargs": [each.whole for each in peers],
    }
    return [
        Row(
            what=f"{agents} instant agents in one call, {SLOTS} slots, to base",
            measured=whole(this) + _times(to_base),
            base=whole(base) if base else "",
            bar=f"≤ {BASE_BAR:g} × base",
            held=None if to_base is None else to_base <= BASE_BAR,
            seconds=seconds,
        ),
        Row(
            what="the same, to xargs with the same script",
            measured=f"{to_xargs(this):.1f} ×, {beside}",
            base=f"{to_xargs(base):.1f} ×" if base else "",
            bar=f"≤ {XARGS_BAR:g} ×",
            held=to_xargs(this) <= XARGS_BAR,
        ),
        Row(
            what="processor time of a job, without its agent",
            measured=parts(this) + _times(cpu_to_base),
            base=parts(base) if base else "",
            bar=f"≤ {CPU_BAR:g} × base",
            held=None if cpu_to_base is None else cpu_to_base <= CPU_BAR,
            seconds={
                **{name: [call.cpu for call in calls] for name, calls in taken.items()},
                "xargs": [each.cpu for each in peers],
            },
        ),
    ]


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"; {ratio:.2f} × base"
