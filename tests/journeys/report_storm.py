"""A storm of reports: many of them at once, and nobody who takes them lives for long.

Each agent waits at a gate. Beside it run clients that report as it would, one report after another,
and write down the answers. Meanwhile workers, and the processes that take reports or carry
one out, are killed, stopped and started; sockets vanish; and hostile clients send nonsense, halves,
floods, the same report again, and one of another attempt.
"""

import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM
from typing import Any

from journeys.callers import all_jobs, await_runs, gate, good, open_gate
from journeys.report_site import BY_SOCKET, as_agent, begin, entries_of, paths_of, server_pids
from journeys.sandbox_storm import children_of, command_of
from journeys.site import Site, wait_until
from journeys.staff import QUICK, WorkerRun, kill, launch_worker, write_program
from journeys.storm_verdict import PROMISES, processes_with
from standins import read_runs

from sow import env_vars
from sow.report_message import KEPT_SUFFIX, MARK, MOST_BYTES, Report, pack_report
from sow.schema.job import Cause, JobState

CLIENT = """
import os, random, sys, time

from sow.cli.report_client import report

name, count, answers = sys.argv[1], int(sys.argv[2]), sys.argv[3]
chance = random.Random(name)
nothing = os.open(os.devnull, os.O_WRONLY)
for number in (1, 2):
    os.dup2(nothing, number)
for number in range(count):
    body = "words " * 15000 if chance.random() < 0.1 else ""
    code = report(["agent", "log", f"note {name} {number}", "--body", body])
    with open(answers, "a") as file:
        file.write(f"{number} {code}\\n")
    time.sleep(chance.uniform(0, 0.02))
"""
"""Reports as an agent does, by the very client, and writes down the exit codes."""
CLIENTS = 2
"""For each agent at a time."""
MOST_CLIENTS = 200
ENDED = "900"
"""The task whose agent ends before the storm."""
RATE, HOSTILE_RATE = 0.25, 0.4
"""How likely at each step somebody dies, and something hostile is done."""
LONGEST_ABSENCE = 50
"""For how many steps at most there is no worker."""
LONGEST_STOP = 25
MOST_HELD = 40
"""How many connections the hostile clients hold open."""
VICTIMS = ("worker", "report server", "report")
NOTE = re.compile(r"note (\S+) (\d+)\Z")
REPLAY = re.compile(r"again (\S+) (\d+)\Z")
UNREADABLE = "Refused a report that was kept while no worker took any"


class ReportStorm:
    """A storm over one empty site."""

    def __init__(self, site: Site, seed: int, *, agents: int, reports: int, kills: int) -> None:
        self.site, self.chance = site, random.Random(seed)
        self.begun = time.monotonic()
        self.left, self.kills = kills, Counter[str]()
        self.hostile = Counter[str]()
        self.stops = 0
        self.tasks = [f"{10 * number:03}" for number in range(1, agents + 1)]
        self.job_of = {task: number for number, task in enumerate([*self.tasks, ENDED], 1)}
        self.held: list[socket.socket] = []
        self.stopped: dict[int, int] = {}
        """Processes that were stopped, and how many steps that goes on."""
        self.absence = 0
        self.reports = reports
        begin(site, *self.tasks, ENDED)
        site.configure({"worker": {**QUICK, "concurrency": len(self.job_of)}})
        site.script([good(gate("go"))])
        site.script([good()], task=ENDED)
        site.sow("agent", "spawn", "implementer", *self.tasks, ENDED, "--detach")
        self.worker: WorkerRun | None = self._hire()
        await_runs(site, len(self.job_of))
        for task in self.tasks:
            wait_until(lambda task=task: self._folder(task).joinpath("socket").exists(), "a socket")
        self.program = write_program(site, "client.py", CLIENT)
        self.clients: dict[str, subprocess.Popen[bytes]] = {}
        self._send_clients()

    def _hire(self, *options: str) -> WorkerRun:
        return launch_worker(self.site, *options, **BY_SOCKET)

    def _client(self, task: str, name: str, count: int) -> "subprocess.Popen[bytes]":
        """Start a client that reports as the agent of a task."""
        environ = self.site.environment(
            {
                **as_agent(self.site, self.job_of[task]),
                env_vars.ROOT: str(self.site.root),
                env_vars.TASK_ID: task,
            }
        )
        words = [
            sys.executable,
            "-P",
            str(self.program),
            name,
            str(count),
            str(self._answers(name)),
        ]
        process = subprocess.Popen(words, env=environ, cwd=self.site.base)
        self.site.started.append(process)  # type: ignore[arg-type]
        return process

    def _send_clients(self) -> None:
        """Start more clients for each agent."""
        for task in self.tasks:
            for _ in range(CLIENTS):
                name = f"{task}-{len(self.clients)}"
                self.clients[name] = self._client(task, name, self.reports)

    def _answers(self, name: str) -> Path:
        return self.site.base / f"answers-{name}"

    def _folder(self, task: str) -> Path:
        return paths_of(self.site, self.job_of[task]).report_folder

    def run(self, seconds: float) -> None:
        """Let the storm pass, and have all agents end after it."""
        wait_until(self._step, "all clients have ended", seconds=seconds)
        self._calm()
        last = self._hire("--drain")
        self.codes_of_ended = self._report_for_ended()
        open_gate(self.site, "go")
        assert last.process.wait(300) == 0, last.log_text

    def _calm(self) -> None:
        """Wake who is stopped, let go of all connections, and send the worker home."""
        for pid in [*self.stopped]:
            self._wake(pid)
        for connection in self.held:
            connection.close()
        self.held.clear()
        if self.worker is not None and self.worker.process.poll() is None:
            self.worker.signal(SIGTERM)
            self.worker.process.wait(120)

    def _report_for_ended(self) -> list[str]:
        """Return what a client is told that reports for an attempt that has ended."""
        wait_until(lambda: not self._folder(ENDED).exists(), "the first agent has ended")
        self._client(ENDED, ENDED, 3).wait(120)
        return [line.split()[1] for line in self._answers(ENDED).read_text().splitlines()]

    def _step(self) -> bool:
        if all(client.poll() is not None for client in self.clients.values()):
            if not self.left or len(self.clients) >= MOST_CLIENTS:
                return True
            self._send_clients()
        self._see_to_worker()
        for pid in [*self.stopped]:
            self.stopped[pid] -= 1
            if self.stopped[pid] <= 0:
                self._wake(pid)
        if self.left and self.chance.random() < RATE:
            self._strike()
        if self.chance.random() < HOSTILE_RATE:
            act = self.chance.choice(HOSTILE)
            with suppress(OSError):  # nobody listens now
                act(self, self._folder(self.chance.choice(self.tasks)))
            self.hostile[act.__name__.strip("_").replace("_", " ")] += 1
        while len(self.held) > MOST_HELD:
            self.held.pop(0).close()
        return False

    def _see_to_worker(self) -> None:
        """Start a worker where there is none, after a while."""
        if self.worker is not None and self.worker.process.poll() is None:
            return
        if self.worker is not None:
            self.worker, self.absence = None, self.chance.randint(0, LONGEST_ABSENCE)
        self.absence -= 1
        if self.absence < 0:
            self.worker = self._hire()

    def _strike(self) -> None:
        """Kill somebody who takes reports, or stop who listens; nobody where nobody does."""
        if self.worker is None or not (servers := server_pids(self.worker.pid)):
            return
        found = {
            "worker": [self.worker.pid],
            "report server": servers,
            "report": [child for pid in servers for child in children_of(pid)],
        }
        victim = self.chance.choice([each for each in VICTIMS if found[each]])
        pid = self.chance.choice(found[victim])
        if victim == "report server" and self.chance.random() < 0.5:
            with suppress(ProcessLookupError):
                os.kill(pid, SIGSTOP)
                self.stopped[pid] = self.chance.randint(1, LONGEST_STOP)
                self.stops += 1
            return
        kill(pid)
        self.kills[victim] += 1
        self.left -= 1

    def _wake(self, pid: int) -> None:
        del self.stopped[pid]
        if b"worker.reports.server" in command_of(pid):
            os.kill(pid, SIGCONT)

    # What hostile clients do. `folder` is that of an attempt's reports.

    def _connect(self, folder: Path) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        opened = os.open(folder, os.O_RDONLY)
        try:
            connection.connect(f"/proc/self/fd/{opened}/socket")
        except OSError:
            connection.close()
            raise
        finally:
            os.close(opened)
        self.held.append(connection)
        return connection

    def _sends_nonsense(self, folder: Path) -> None:
        self._connect(folder).send(self.chance.randbytes(self.chance.randint(1, 9999)))

    def _sends_a_half(self, folder: Path) -> None:
        data = pack_report(report("agent", "log", "half"))
        connection = self._connect(folder)
        connection.send(data[: self.chance.randrange(len(data))])
        if self.chance.random() < 0.5:
            connection.shutdown(socket.SHUT_WR)

    def _sends_slowly(self, folder: Path) -> None:
        self._connect(folder)
        for connection in self.held:
            with suppress(OSError):
                connection.send(MARK[:1])

    def _floods(self, folder: Path) -> None:
        connection = self._connect(folder)
        connection.send(MARK + self.chance.choice((MOST_BYTES, MOST_BYTES + 1)).to_bytes(4, "big"))
        for _ in range(8):
            connection.send(b"x" * (1 << 20))

    def _sends_it_again(self, folder: Path) -> None:
        """Send one report several times, at once, and to another attempt too."""
        number = self.chance.randrange(10)
        name = f"{folder.parents[2].name}"  # of the job
        data = pack_report(report("agent", "log", f"again {name} {number}", id=number))
        other = self._folder(self.chance.choice(self.tasks))
        for each in (folder, folder, other):
            self._connect(each).send(data)

    def _asks_for_more(self, folder: Path) -> None:
        """Send what is no report of an agent's."""
        lines = (("trust", "--yes"), ("agent", "cancel", "010"), ("task", "set", "status", "x\x1b"))
        self._connect(folder).send(pack_report(report(*self.chance.choice(lines))))

    def _keeps_nonsense(self, folder: Path) -> None:
        number = self.chance.randrange(1 << 30)
        path = folder / f"{number:020d}-{self.chance.randbytes(16).hex()}{KEPT_SUFFIX}"
        match self.chance.randrange(6):
            case 0:
                path.write_bytes(self.chance.randbytes(99))
            case 1:
                path.symlink_to("/etc/passwd")
            case 2:
                os.mkfifo(path)
            case 3:
                path.touch()
                os.truncate(path, 1 << 40)
            case 4:
                path.mkdir()
            case _:
                (folder / f"{number}\x1b[2J\n").touch()

    def _takes_the_socket_away(self, folder: Path) -> None:
        if self.chance.random() < 0.1:
            (folder / "socket").unlink()

    # What it has come to.

    def broken(self) -> list[str]:
        """Return the promises that were broken, a sentence each."""
        return [*self._of_jobs(), *self._left()] + [
            sentence for task in self.tasks for sentence in self._of_task(task)
        ]

    def _of_jobs(self) -> Iterator[str]:
        for job in all_jobs(self.site):
            if (job.state, job.cause) != (JobState.DONE, Cause.REPORTED):
                yield f"failed: {job.task_id} is {job.state} by {job.cause}, {job.reason!r}"
        runs = Counter(run.task for run in read_runs(self.site.root))
        if again := {task: count for task, count in runs.items() if count != 1}:
            yield f"doubled: run again: {again}"
        if set(self.codes_of_ended) != {"4"}:
            yield f"failed: an attempt that has ended reports: {self.codes_of_ended}"
        if any(not entry.event for entry in entries_of(self.site, ENDED)):
            yield f"doubled: reports of {ENDED}, which had ended"

    def _of_task(self, task: str) -> Iterator[str]:
        logged: dict[str, list[int]] = {}
        raw = (self.site.task_folder(task) / "log.md").read_text().splitlines()
        for line, count in Counter(raw).items():
            if line.startswith("action: note ") and count > 1:
                yield f"doubled: {task}: {count} times {line!r}"
        for entry in entries_of(self.site, task):
            if entry.event:
                continue
            if (entry.agent, entry.job, entry.attempt) != ("implementer", self.job_of[task], 1):
                if entry.agent != "sow" or entry.action != UNREADABLE:
                    yield f"failed: {task}: who says {entry.action!r}?"
            elif note := NOTE.match(entry.action):
                logged.setdefault(note[1], []).append(int(note[2]))
            elif REPLAY.match(entry.action) is None:
                yield f"failed: {task}: {entry.action!r} was carried out"
        names = {name for name in self.clients if name.startswith(f"{task}-")}
        for name in sorted(names):
            yield from self._of_client(task, name, logged)
        if strange := set(logged) - names:
            yield f"doubled: {task} has reports of {strange}"

    def _of_client(self, task: str, name: str, logged: dict[str, list[int]]) -> Iterator[str]:
        answers = [line.split() for line in self._answers(name).read_text().splitlines()]
        if len(answers) != self.reports:
            yield f"failed: the client {name} was told of {len(answers)} reports"
        mine = logged.get(name, [])
        if any(second <= first for first, second in pairwise(mine)):
            yield f"doubled: {task}: the order of {name}'s reports: {mine}"
        if lost := [
            int(number) for number, code in answers if code == "0" and int(number) not in mine
        ]:
            yield f"lost: {task}: reports of {name} that were taken: {lost}"

    def _left(self) -> Iterator[str]:
        marker = f"HOME={self.site.env['HOME']}"
        with suppress(AssertionError):
            wait_until(lambda: not processes_with(marker), "no process is left", seconds=30)
        if left := [command_of(pid) for pid in processes_with(marker)]:
            yield f"left: running: {left}"
        for job in self.job_of.values():
            if paths_of(self.site, job).reports.exists():
                yield f"left: {paths_of(self.site, job).reports}"

    def facts(self, broken: Sequence[str]) -> dict[str, Any]:
        """Return what the storm has come to, as a proof's page has it."""
        counts = [len(entries_of(self.site, task)) for task in self.tasks]
        return {
            "jobs": len(self.job_of),
            "agents": len(self.job_of),
            "kills": [["reporting", victim, self.kills[victim]] for victim in VICTIMS],
            "moments": 0,
            "stops": self.stops,
            "broken": {
                word: sum(each.startswith(f"{word}:") for each in broken) for word in PROMISES
            },
            "seconds": round(time.monotonic() - self.begun),
            "reports": sum(counts),
        }


def report(*words: str, id: int | None = None) -> Report:
    name = os.urandom(16).hex() if id is None else f"{id:032x}"
    return Report(name.encode(), [word.encode() for word in words], None)


HOSTILE: tuple[Callable[[ReportStorm, Path], None], ...] = (
    ReportStorm._sends_nonsense,
    ReportStorm._sends_a_half,
    ReportStorm._sends_slowly,
    ReportStorm._floods,
    ReportStorm._sends_it_again,
    ReportStorm._asks_for_more,
    ReportStorm._keeps_nonsense,
    ReportStorm._takes_the_socket_away,
)
