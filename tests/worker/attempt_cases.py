"""The supervisor run as it is, on an attempt's folder of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from sow.ids import JobId
from sow.paths import AttemptPaths, Workspace
from sow.processes import process_facts, procfs
from sow.processes.life import Life
from sow.schema.job import ProcessIdentity
from worker.supervisor.foreign_processes import NO_ATTEMPT
from worker.supervisor.instructions import pack
from worker.supervisor.secret_orders import pack_secrets

PROJECT = Path(__file__).parents[2]
ONE_SUPERVISOR = f"""
import sys
sys.path[:0] = [{str(PROJECT)!r}]
from worker.supervisor import supervise
from worker.supervisor.own_processes import load_tree
sys.exit(supervise.main(load_tree(*sys.argv[1:] or [None])))
"""
"""A program that is what the fork server forks: a supervisor with its orders on standard input."""
FEW_RELAYS = "from worker.supervisor import relay\nrelay.MOST_RELAYS = 2\nsys.exit("
PSUTIL = str(Path(psutil.__file__).parents[1])
"""The folder by which a supervisor is told to use the portable back end."""
WITHOUT_GROUP = "from sow.processes import tree_linux\ntree_linux.fence = lambda: ''"
"""Lines of a supervisor's program by which it has no control group."""
SECONDS = 240.0
FIRST_JOB = JobId(1)
IMPATIENT = f"""
import sys
sys.path[:0] = [{str(PROJECT)!r}]
from worker.supervisor import supervise
from worker.supervisor.own_processes import load_tree
for name in ("GRACES", "LEFTOVER_GRACES"):
    graces = getattr(supervise, name)
    setattr(supervise, name, tuple((signum, 0.4) for signum, _ in graces))
remember = supervise.OwnProcesses.remember
def noting(own):
    remember(own)
    with open("looks", "a") as file:
        file.write(".")
supervise.OwnProcesses.remember = noting
sys.exit(supervise.main(load_tree(*sys.argv[1:] or [None])))
"""


def wait_until(condition: Callable[[], Any], what: str = "") -> Any:
    """Return the condition's first true value; fail when it stays false too long."""
    deadline = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, f"never happened: {what or condition}"
        time.sleep(0.01)
    return value


@contextmanager
def no_threads() -> Iterator[None]:
    """Have the system refuse this process every further thread, as a limit of processes does."""
    usual = threading.stack_size(1 << 47)  # more than there are addresses
    try:
        yield
    finally:
        threading.stack_size(usual)


@dataclass
class AttemptSite:
    """A workspace with the folder of one attempt, and what runs in it."""

    workspace: Workspace
    number: int = 1
    job_id: JobId = FIRST_JOB
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    forked: ProcessIdentity | None = None
    """A supervisor that a worker's fork server has forked: no child of the test's."""
    packages: str | None = None
    """Where psutil lies, for a supervisor with the portable back end."""

    @property
    def paths(self) -> AttemptPaths:
        return self.workspace.attempt(self.job_id, self.number)

    @property
    def attempt_id(self) -> str:
        return f"{self.job_id}.{self.number}.{self.token}"

    @property
    def root(self) -> Path:
        return self.workspace.root

    def prepare(self, prompt: str = "the prompt") -> None:
        """Make the folder and the prompt, as the worker does before it starts the supervisor."""
        self.paths.folder.mkdir(parents=True, exist_ok=True)
        self.paths.prompt.write_text(prompt)

    def start(self, *argv: str, impatient: bool = False) -> subprocess.Popen[bytes]:
        """Start the supervisor as the worker does."""
        self.prepare()
        return self.start_prepared(*argv, impatient=impatient)

    def start_prepared(
        self, *argv: str, impatient: bool = False, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the supervisor and give it its orders.

        `impatient` shortens the graces, for trees that use them up, and has each
        look noted (`await_looks`).
        """
        process = self.wait_for_orders(impatient=impatient)
        self.order(process, self.orders(*argv, env=env))
        return process

    def wait_for_orders(
        self, *, impatient: bool = False, few_relays: bool = False, before: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start a supervisor that has no orders yet; `few_relays`: it gives up after two.

        `before` are lines of its program that come before all that it does.
        """
        packages = [] if self.packages is None else [self.packages]
        program = IMPATIENT if impatient else ONE_SUPERVISOR
        program = program.replace("sys.exit(", f"{before}\nsys.exit(")
        if few_relays:
            program = program.replace("sys.exit(", FEW_RELAYS)
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, *packages],
            env={"SOW_ATTEMPT_ID": NO_ATTEMPT},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def orders(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        commands: Mapping[str, str] | None = None,
        scan: Sequence[str] = (),
        look: Sequence[str] = (),
        limits: Sequence[str] = (),
        proxy: Sequence[str] = (),
        lease: Sequence[str] = (),
    ) -> bytes:
        """Return orders to run `argv` in the workspace, with these secrets and limits.

        `proxy` are those about its proxy, `lease` those about its lease.
        """
        basis = {"PATH": os.environ["PATH"], "SOW_ATTEMPT_ID": self.attempt_id}
        environ = basis if env is None else dict(env)
        fields: Sequence[str] = ()
        if secrets or commands:
            names = ",".join((*(secrets or {}), *(commands or {})))
            users = {**environ, "HOME": str(self.root)}
            fields = pack_secrets(scan, commands or {}, users, look)
            environ |= {**(secrets or {}), "SOW_SECRETS": names}
        folder, cwd = str(self.paths.folder), str(self.root)
        return pack(folder, cwd, argv, environ, fields, limits, proxy, lease)

    def order(self, process: subprocess.Popen[bytes], orders: bytes) -> None:
        """Give a supervisor what it waits for."""
        assert process.stdin is not None
        with process.stdin as stdin:
            stdin.write(orders)

    def await_looks(self) -> None:
        """Wait until an impatient supervisor has looked round at what is there now."""
        noted = self.looks()
        wait_until(lambda: self.looks() > noted + 1, "the supervisor looks round")

    def looks(self) -> int:
        path = self.file("looks")
        return path.stat().st_size if path.exists() else 0

    def sh(self, script: str, *, impatient: bool = False) -> subprocess.Popen[bytes]:
        """Start the supervisor with a shell script for an agent."""
        return self.start("/bin/sh", "-c", script, impatient=impatient)

    def script(self, name: str, text: str) -> None:
        """Write `name`.sh for the agent to run; `{pid}` in it says its pid in the file `name`."""
        self.file(f"{name}.sh").write_text(text.replace("{pid}", say_pid(name)) + "\n")

    def run(self, script: str) -> dict[str, Any]:
        """Run a script under the supervisor to its end; return what `exit.json` says."""
        assert self.sh(script).wait(SECONDS) == 0, self.log()
        return self.exit()

    def exit(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self.paths.exit.read_text())
        return record

    def log(self) -> str:
        """Return what the supervisor has said; nothing before it has its orders."""
        log = self.paths.folder / "supervisor.log"
        return log.read_text() if log.exists() else ""

    def agent_pid(self) -> int:
        """Return the agent's pid, as soon as the supervisor tells it."""
        return int(self.started_record()["agent_pid"])

    def started_record(self) -> dict[str, Any]:
        """Return what the supervisor tells of the agent's start, as soon as it does."""
        wait_until(self.paths.started.exists, "the agent is started")
        record: dict[str, Any] = json.loads(self.paths.started.read_text())
        return record

    def file(self, name: str) -> Path:
        return self.root / name

    def pid_in(self, name: str) -> int:
        """Return the pid that a script wrote into a file (by `echo $$ >x; mv x name`)."""
        wait_until(self.file(name).exists, f"{name} is written")
        return int(self.file(name).read_text())

    def carriers(self) -> list[int]:
        return procfs.carriers("SOW_ATTEMPT_ID", self.attempt_id)

    def close(self) -> None:
        """Kill whatever the test has left."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        if self.forked is not None:
            self.kill_forked()
        self.kill_carriers()

    def kill_forked(self) -> None:
        """Kill the supervisor that a fork server has forked, and wait until it is gone."""
        identity = self.forked
        assert identity is not None
        if process_facts.life_of(identity) is Life.ALIVE:
            with suppress(ProcessLookupError):
                os.kill(identity.pid, signal.SIGKILL)
        wait_until(lambda: process_facts.life_of(identity) is Life.DEAD, "the supervisor is dead")

    def kill_carriers(self) -> None:
        """Kill what carries its id; the end of one may end another first."""
        for pid in self.carriers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    stat = procfs.read_stat(pid)
    return stat is not None and stat.state not in "ZX"


def say_pid(name: str) -> str:
    """Return shell words that write the shell's own pid into a file, whole."""
    return f"echo $$ >.{name}; mv .{name} {name}"
