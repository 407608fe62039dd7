"""A storm over hosts: what is killed, cut, frozen and stopped, and which promises that broke.

Three hosts have workers, a fourth machine has the owner's checkout, whose call queues all jobs at
the beginning. A host meets one strike after another, beside the others; so does the server. All is
drawn by a seed. Agents say what they do in a file that all machines see, by the clock that these
share, and hold a lock of their task there while they live.

The promises: nothing is `lost`, nothing has `failed`, nothing is `doubled` (two agents of one task
at the same time, or a job that has ended twice), nothing is `left`. A frozen host is told of apart:
nobody can end its agents in time. They end when it goes on, and nothing that they have done counts.
"""

import heapq
import itertools
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hosts.fleet import CALLER, OWNER, Fleet
from hosts.machines import Machine, send
from hosts.storm_worker import WHOLE
from journeys.site import wait_until

from sow.jobs.server_deadlines import LEASE_SECONDS

STORM_WORKER = Path(__file__).with_name("storm_worker.py")
LONGER = (1.5, 5.0)
"""By how much a strike outlasts a lease, after which others may have taken over."""
AFTER_THAW_SECONDS = 2.0
"""How long after a host goes on its agents may still be seen whose leases had ended."""
HOSTS = ("host_a", "host_b", "host_c")
STRIKES = ("worker", "supervisor", "cut", "orphans", "reset", "death", "slow")
FREEZING = "frozen"
SERVER_STRIKES = ("restart", "crash", "standstill")
PROMISES = ("failed", "lost", "doubled", "left")
TASKS = ".sow/project/phases/implementation/tasks"
FINAL = "('done', 'failed', 'cancelled')"
AGENT_NAME, SUPERVISOR = "/shared/agent.sh", "/supervisor/program.py"
"""What is in the command lines of agents and of their supervisors."""
AGENT = """\
#!/bin/sh
host=$(hostname)
say() {
    read -r up _ </proc/uptime
    echo "$1 $SOW_TASK_ID $SOW_ATTEMPT_ID $host $up" >>"$SHARED/lives"
}
exec 9>"$SHARED/$SOW_TASK_ID.lock"
flock --nonblock 9 || say met
say begin
read -r ticks <"$SHARED/$SOW_TASK_ID.work"
while [ "$ticks" -gt 0 ]; do
    sleep 0.2
    say tick
    ticks=$((ticks - 1))
done
echo "$SOW_ATTEMPT_ID" >"$SOW_TASK_ID.txt"
say report
if sow task set status needs_review; then say reported; else say refused; fi
say end
"""


@dataclass(frozen=True)
class Plan:
    """How a storm is made."""

    seed: int
    jobs: int = 18
    longest: float = 8.0
    """Seconds that an agent works at the most."""
    strikes: int = 2
    """How many each host meets."""
    server_strikes: int = 1
    kinds: tuple[str, ...] = (*STRIKES, FREEZING)
    struck: tuple[str, ...] = HOSTS
    """The hosts that are."""
    lease: float = 12.0
    """A tenth of the usual one, so that a storm takes a minute: all moments are a tenth then."""
    shortest: float = 1.0
    concurrency: int = 3
    """How many agents each host runs at once."""
    limit: int | None = None
    """How many all hosts together may run at once."""
    worker: str = WHOLE
    """What `storm_worker` leaves of the worker."""
    longest_seconds: float = 300.0
    """How long a storm may take in all; what has not ended then is lost."""


@dataclass
class Life:
    """One run of an agent, by its own words. Times are seconds since the machine's start."""

    task: str
    attempt: str
    host: str
    signs: list[tuple[str, float]] = field(default_factory=list)

    @property
    def began(self) -> float:
        return self.signs[0][1]

    @property
    def last_sign(self) -> float:
        return self.signs[-1][1]

    def has(self, sign: str) -> bool:
        return any(name == sign for name, _ in self.signs)


@dataclass(frozen=True)
class Verdict:
    """What a storm has come to."""

    jobs: int
    agents: int
    strikes: Counter[tuple[str, str]]
    """By where it struck, and what."""
    ran_twice: int
    """Agents that came to their end after another one of their task had."""
    frozen_overlaps: list[float]
    """How long agents of a host that had been frozen were seen beside those that followed them."""
    broken: list[str]
    seconds: float

    @property
    def facts(self) -> dict[str, Any]:
        """Return what is handed in to a proof."""
        return {
            "jobs": self.jobs,
            "agents": self.agents,
            "kills": [
                [where, what, count] for (where, what), count in sorted(self.strikes.items())
            ],
            "moments": sum(count for (_, what), count in self.strikes.items() if what == "death"),
            "stops": sum(count for (_, what), count in self.strikes.items() if what == FREEZING),
            "broken": {
                each: sum(sentence.startswith(f"{each}:") for sentence in self.broken)
                for each in PROMISES
            },
            "seconds": round(self.seconds),
        }

    def table(self) -> str:
        strikes = ", ".join(f"{where} {what} {n}" for (where, what), n in self.strikes.items())
        overlaps = ", ".join(f"{seconds:.2f} s" for seconds in self.frozen_overlaps) or "none"
        return (
            f"{self.jobs} jobs, {self.agents} agents, {self.seconds:.0f} s; {strikes}\n"
            f"ran to their end twice: {self.ran_twice}; seen beside others after a freeze:"
            f" {overlaps}"
        )


class Storm:
    """One storm over a fleet that has no project yet."""

    def __init__(self, fleet: Fleet, plan: Plan) -> None:
        self.fleet = fleet
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.strikes: Counter[tuple[str, str]] = Counter()
        self.workers: dict[str, int] = {}
        """By host: the worker's pid."""
        self.frozen: list[tuple[str, float, float]] = []
        """Which host, from when to when."""
        self.tasks: list[str] = []
        self.most_leases = 0
        """How many jobs were seen to run at once; it is looked at where there is a limit."""
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    def run(self) -> Verdict:
        """Let the storm pass, wait until all is quiet, and judge."""
        self._begin()
        begun = time.monotonic()
        self._draw()
        self._queue()
        self._pass(begun + self.plan.longest_seconds)
        return self._judge(time.monotonic() - begun)

    def _begin(self) -> None:
        fleet, plan = self.fleet, self.plan
        self.tasks = fleet.begin_project(plan.jobs)
        fleet.publish()
        fleet.admit(HOSTS, *(() if plan.limit is None else ("--concurrency", str(plan.limit))))
        fleet.rows(f"update control set value = '{plan.lease}' where name = '{LEASE_SECONDS}'")
        agent = Path(f"{fleet.base}{AGENT_NAME}")
        agent.write_text(AGENT)
        agent.chmod(0o755)
        for task in self.tasks:
            ticks = round(self.chance.uniform(plan.shortest, plan.longest) / 0.2)
            (fleet.shared / f"{task}.work").write_text(f"{ticks}\n")
        executor = {"type": "command", "retries": 99, "settings": {"command": [str(agent)]}}
        config = {
            "agents": {"executors": {"sh": executor}, "bindings": {"implementer": "sh"}},
            "worker": {"autostart": False, "concurrency": plan.concurrency},
        }
        fleet.configure(OWNER, {"queue": {"url": fleet.url(CALLER)}, **config})
        for name in HOSTS:
            fleet.add_host(name, config)
            self._start_worker(name)

    def _start_worker(self, name: str) -> None:
        program = (str(STORM_WORKER), self.plan.worker)
        self.workers[name] = self.fleet.start_worker(name, program)

    def _queue(self) -> None:
        self.fleet.sow(OWNER, "agent", "spawn", "implementer", *self.tasks, "--detach")

    def _at(self, seconds: float, action: Callable[[], object]) -> None:
        heapq.heappush(self._events, (time.monotonic() + seconds, next(self._numbers), action))

    def _draw(self) -> None:
        """Draw when each host and the server meets what."""
        for name in self.plan.struck:
            kinds = self.chance.sample(self.plan.kinds * 9, self.plan.strikes)
            self._next(name, kinds, dict.fromkeys(self.plan.kinds, self._strike_host))
        kinds = self.chance.choices(SERVER_STRIKES, k=self.plan.server_strikes)
        self._next("server", kinds, dict.fromkeys(SERVER_STRIKES, self._strike_server))

    def _next(
        self, place: str, kinds: list[str], strikes: Mapping[str, Callable[..., float]]
    ) -> None:
        """Have a place meet the first of these strikes soon, and then the others."""
        if not kinds:
            return
        kind, *others = kinds

        def strike() -> None:
            if kind == "cut off" and not self._has_agents(place) and self._living():
                self._at(0.2, strike)  # it would cut off nobody
                return
            lasts = strikes[kind](place, kind)
            where = "server" if place == "server" else "host"
            self.strikes[where, kind] += 1
            self._at(lasts, lambda: self._next(place, others, strikes))

        self._at(self.chance.uniform(1.0, 4.0), strike)

    def _strike_host(self, name: str, kind: str) -> float:
        """Strike a host; return after how many seconds it has been put right again."""
        machine, lasts = self.fleet.machines[name], self.chance.uniform(0.5, 4.0)
        match kind:
            case "worker":
                send(self.workers[name], signal.SIGKILL)
                self._at(lasts, lambda: self._start_worker(name))
            case "supervisor":
                for pid in self.supervisors(machine)[:1]:
                    send(pid, signal.SIGKILL)
                    self.strikes["host", "supervisor alone"] += 1
            case "cut":
                lasts = self.chance.choice([self.chance.uniform(2.0, 9.0), self._long()])
                machine.cut()
                self._at(lasts, machine.mend)
            case "cut off":
                lasts = self._long() + self.plan.lease
                machine.cut()
                self._at(lasts, machine.mend)
            case "orphans":  # nobody is left to end its agents but their guards
                lasts = self._long()
                machine.cut()
                for pid in (self.workers[name], *self.supervisors(machine)):
                    send(pid, signal.SIGKILL)
                self._at(lasts, machine.mend)
                self._at(lasts, lambda: self._start_worker(name))
            case "reset":
                machine.reset()
            case "slow":
                machine.slow()
                self._at(lasts, machine.quicken)
            case "death":
                machine.die()
                self._at(lasts, machine.boot)
                self._at(lasts, lambda: self._start_worker(name))
            case "frozen":
                lasts = self._long()
                machine.freeze()
                self._at(lasts, lambda: self._thaw(name, boot_seconds() - lasts))
            case _:
                raise AssertionError(kind)
        return lasts

    def _long(self) -> float:
        """Draw how long a strike lasts after which others may have taken over."""
        return self.plan.lease + self.chance.uniform(*LONGER)

    def _thaw(self, name: str, since: float) -> None:
        self.fleet.machines[name].thaw()
        self.frozen.append((name, since, boot_seconds()))

    def _strike_server(self, place: str, kind: str) -> float:
        server, lasts = self.fleet.server, self.chance.uniform(0.5, 4.0)
        match kind:
            case "restart":
                server.stop()
                self._at(lasts, server.start)
            case "crash":
                server.stop(signal.SIGQUIT)
                self._at(lasts, server.start)
            case "standstill":
                stands = server.frozen()
                stands.__enter__()
                self._at(lasts, lambda: stands.__exit__(None, None, None))
            case _:
                raise AssertionError(kind)
        return lasts

    def _has_agents(self, name: str) -> bool:
        """Whether an agent is at work on a host."""
        return any(AGENT_NAME in command(pid) for pid in self.fleet.machines[name].processes())

    def supervisors(self, machine: Machine) -> list[int]:
        """Return the supervisors of a host that have an agent, in an order that is drawn."""
        agents = [pid for pid in machine.processes() if AGENT_NAME in command(pid)]
        parents = {parent_of(pid) for pid in agents}
        found = sorted(pid for pid in parents if SUPERVISOR in command(pid))
        return self.chance.sample(found, len(found))

    def _pass(self, deadline: float) -> None:
        """Carry out what is due, until all is put right and all jobs have ended."""
        while time.monotonic() < deadline:
            while self._events and self._events[0][0] <= time.monotonic():
                heapq.heappop(self._events)[2]()
            if not self._events and not self._living():
                return
            if self.plan.limit is not None:
                ((count,),) = self.fleet.rows("select count(*) from lease")
                self.most_leases = max(self.most_leases, int(count))
            time.sleep(0.05)

    def _living(self) -> int:
        ((count,),) = self.fleet.rows(f"select count(*) from job where state not in {FINAL}")
        return int(count)

    def lives(self) -> list[Life]:
        """Return the runs of agents, in the order of their beginnings."""
        known: dict[str, Life] = {}
        path = self.fleet.shared / "lives"
        for line in path.read_text().splitlines() if path.exists() else ():
            sign, task, attempt, host, at = line.split()
            life = known.setdefault(attempt, Life(task, attempt, host))
            life.signs.append((sign, float(at)))
        return sorted(known.values(), key=lambda life: life.began)

    def _judge(self, seconds: float) -> Verdict:
        broken = [*self._of_records()]
        lives = self.lives()
        overlaps: list[float] = []
        twice = 0
        for task in self.tasks:
            ran = [life for life in lives if life.task == task]
            twice += max(0, sum(life.has("end") for life in ran) - 1)
            for place, first in enumerate(ran):
                for second in ran[place + 1 :]:
                    if first.last_sign > second.began:
                        self._of_overlap(first, second, overlaps, broken)
        broken += self._of_the_rest()
        return Verdict(
            jobs=len(self.tasks),
            agents=len(lives),
            strikes=self.strikes,
            ran_twice=twice,
            frozen_overlaps=overlaps,
            broken=broken,
            seconds=seconds,
        )

    def _of_overlap(
        self, first: Life, second: Life, overlaps: list[float], broken: list[str]
    ) -> None:
        """Tell two agents at the same time from what a host does that was frozen meanwhile."""
        seen = first.last_sign - second.began
        thawed = [
            until
            for host, since, until in self.frozen
            if host == first.host and since < second.began < until
        ]
        if thawed and first.last_sign < thawed[0] + AFTER_THAW_SECONDS:
            overlaps.append(max(0.0, first.last_sign - thawed[0]))
            return
        broken.append(
            f"doubled: {first.task} ran on {first.host} and {second.host} at the same time"
            f" for {seen:.2f} s: {first.attempt} and {second.attempt}"
        )

    def _of_records(self) -> Iterator[str]:
        """Each task has one job, which has ended once, as its agent has said."""
        sql = """
            select job.task_id, job.state, job.cause, job.outcome_status, job.reason, job.settled,
                (select max(number) from attempt where attempt.job_id = job.id),
                (select count(*) from change where change.job = job.id
                    and change.kind in ('done', 'failed', 'cancelled'))
            from job order by job.id
        """
        rows = self.fleet.rows(sql)
        counts = Counter(row[0] for row in rows)
        for task in self.tasks:
            if counts[task] != 1:
                yield f"{'doubled' if counts[task] else 'lost'}: {task} has {counts[task]} jobs"
        for task, state, cause, status, reason, settled, last, ends in rows:
            if state not in ("done", "failed", "cancelled"):
                yield f"lost: {task} is still {state}: {reason!r}"
            elif (state, cause, status) != ("done", "reported", "needs_review"):
                yield f"failed: {task} is {state}, {cause}, {status}: {reason!r}"
            if ends > 1:
                yield f"doubled: {task} has ended {ends} times"
            if settled != last and state == "done":
                yield f"doubled: {task} was settled by attempt {settled} after attempt {last}"

    def _of_work(self) -> Iterator[str]:
        """What the last attempt of each task has made and said is in the owner's checkout."""
        root = self.fleet.checkout(OWNER)
        sql = """
            select task_id, attempt.id from job
            left join attempt on attempt.job_id = job.id and number = settled
        """
        settled = dict(self.fleet.rows(sql))
        for task in self.tasks:
            state = (root / TASKS / task / "state.yaml").read_text()
            if "status: needs_review\n" not in state:
                yield f"lost: at the owner's {task} is not as its agent has said"
            branches = git(root, "branch", "--format=%(refname:short)", "--list", f"sow/*/{task}")
            shown = [git(root, "show", f"{it}:{task}.txt").strip() for it in branches.split()]
            if shown != [settled.get(task)]:
                yield f"lost: of {task} {shown} came home, and {settled.get(task)} was settled"

    def _of_the_rest(self) -> Iterator[str]:
        for table in ("lease", "task", "aside"):
            if rows := self.fleet.rows(f"select * from {table}"):
                yield f"left: in {table}: {rows}"
        waited = self.fleet.sow(OWNER, "agent", "wait", *self.tasks, expect=None)
        if waited.code != 0:
            yield f"lost: the owner was told {waited}"
        yield from self._of_work()
        for name in HOSTS:
            machine = self.fleet.machines[name]
            stopped = self.fleet.sow(name, "worker", "stop", expect=None)
            if stopped.code != 0:
                yield f"left: a worker of {name} cannot be stopped: {stopped}"
            with suppress(AssertionError):
                wait_until(lambda it=machine: len(it.processes()) == 1, "all have left", seconds=15)
            if len(left := machine.processes()) > 1:
                yield f"left: on {name}: {[command(pid) for pid in left]}"


def git(root: Path, *words: str) -> str:
    """Return what git prints in a checkout, from outside of its machine."""
    argv = ["git", "-C", str(root), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def boot_seconds() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 for one that has gone."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return str(pid)
