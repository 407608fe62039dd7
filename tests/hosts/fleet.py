"""Hosts that share a queue: the server, the remote, the owner's checkout and workers' machines.

The server is PostgreSQL with TLS at an address of the network; beside it the project's remote is
served over HTTPS. `owner` is a machine on which the project was begun; each host has a clone of it,
a home, and a role on the server. All of them see their home and checkout at the same paths.
"""

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import postgres
import yaml
from certificates import DAY, certificate, show
from hosts.machines import NAMES, SERVER_ADDRESS, Machine, Network, open_network
from journeys.site import SOW, Result

from sow.paths import Workspace
from sow.state.tasks import add_task

OWNER = "owner"
CALLER = "alice"
"""The role of the calls on the owner's machine."""
RULES = f"hostssl all all {SERVER_ADDRESS}/24 trust\n"
GIT_PORT = 443
REMOTE = f"https://{SERVER_ADDRESS}/shop.git"
ANSWERS = ("bash", "-c", f"true >/dev/tcp/{SERVER_ADDRESS}/{GIT_PORT}")
"""Fails while nobody serves there."""
GIT_SERVER = Path(__file__).with_name("git_server.py")
GIT_SETTINGS = """\
[user]
    name = A Tester
    email = tester@example.invalid
[init]
    defaultBranch = main
[http]
    sslCAInfo = {authority}
"""


class Fleet:
    """Machines around one queue. Processes are known by their pids outside of the machines."""

    def __init__(self, base: Path, network: Network, server: postgres.Server) -> None:
        self.base = base
        self.network = network
        self.server = server
        self.shared = base / "shared"
        """A folder that all machines see: for what the test and the agents tell each other."""
        self.shared.mkdir()
        self.machines: dict[str, Machine] = {}
        self.schema = ""
        self.database = "postgres"

    def add_machine(self, name: str) -> Machine:
        """Make and boot a machine that has a home and no checkout yet."""
        machine = Machine(self.network, len(self.machines), name, self.base)
        home = machine.disk / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(GIT_SETTINGS.format(authority=self.base / "authority.pem"))
        self.machines[name] = machine
        machine.boot()
        return machine

    def url(self, role: str) -> str:
        """Return the address of the queue's server for a role, as machines know it."""
        verified = f"sslmode=verify-full&sslrootcert={self.base}/authority.pem"
        return f"postgresql://{role}@{SERVER_ADDRESS}/postgres?{verified}"

    def configure(self, name: str, content: Mapping[str, Any]) -> None:
        """Write the user's configuration of a machine."""
        path = self.machines[name].disk / "home/.config/sow/config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(content)))

    def environment(self, name: str) -> dict[str, str]:
        folders = (self.base / "bin", SOW.parent, "/usr/bin", "/bin")
        path = os.pathsep.join(map(str, folders))
        home = self.machines[name].place / "home"
        return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "SHARED": str(self.shared)}

    def checkout(self, name: str) -> Path:
        """Return where a machine's checkout lies, as it is known outside."""
        return self.machines[name].disk / "shop"

    def run(self, name: str, *argv: str, folder: str = "shop", expect: int | None = 0) -> Result:
        """Run a program on a machine, in a folder of its disk."""
        machine = self.machines[name]
        done = machine.run(argv, folder=machine.place / folder, env=self.environment(name))
        result = Result(done.returncode, done.stdout, done.stderr)
        if expect is not None:
            assert result.code == expect, f"{name}: {' '.join(argv)}: {result}\n{self.logs()}"
        return result

    def sow(self, name: str, *words: str, expect: int | None = 0) -> Result:
        """Run sow in a machine's checkout."""
        return self.run(name, str(SOW), *words, expect=expect)

    def start(self, name: str, *argv: str, log: str) -> int:
        """Start a program in a machine's checkout; what it prints goes to a file of that name."""
        machine = self.machines[name]
        return machine.start(
            argv,
            folder=machine.place / "shop",
            env=self.environment(name),
            log=self.base / f"{log}.log",
        )

    def start_worker(self, name: str, program: Sequence[str] = (), *options: str) -> int:
        """Start a worker; `program` is a Python file to run instead, with its arguments."""
        argv = [sys.executable, "-P", *program] if program else [str(SOW), "worker"]
        return self.start(name, *argv, *options, log=f"worker-{name}")

    def logs(self) -> str:
        """Return what the workers have printed, for a test that fails."""
        paths = sorted(self.base.glob("worker-*.log"))
        return "\n".join(f"--- {path.stem}\n{path.read_text()}" for path in paths)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the queue itself, as the server's superuser, whatever is cut."""
        import psycopg

        url = self.server.url.replace("/postgres?", f"/{self.database}?")
        with psycopg.connect(url, autocommit=True) as connection:
            if self.schema:
                connection.execute(f'set search_path = "{self.schema}", pg_catalog')
            cursor = connection.execute(sql)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def begin_project(self, tasks: int, *, config: str = "") -> list[str]:
        """Begin a project with tasks at the owner's; return their ids. The role `sow` owns it."""
        owner = self.add_machine(OWNER)
        (owner.disk / "shop").mkdir()
        self.configure(OWNER, {"queue": {"url": self.url("sow")}})
        self.run(OWNER, "git", "init", "--quiet")
        (owner.disk / "shop/code.txt").write_text("code\n")
        self.sow(OWNER, "init")
        if config:
            (owner.disk / "shop/.sow/config.yaml").write_text(config)
        self.sow(OWNER, "project", "new", "shop", "--type", "quick")
        add_tasks(
            owner.disk / "shop", ids := [f"{10 * number:03}" for number in range(1, tasks + 1)]
        )
        self.sow(OWNER, "hosts", "init")
        ((name,),) = self.rows("select schemaname from pg_tables where tablename = 'lease'")
        self.schema = str(name)
        return ids

    def serve_git(self) -> Path:
        """Serve an empty repository, `shop`, to all machines; return where it lies."""
        folder = self.base / "remotes/shop.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", folder], check=True)
        where = (SERVER_ADDRESS, str(GIT_PORT), str(folder.parent))
        proof = (str(self.base / "authority.pem"), str(self.base / "authority.key"))
        self.network.serve(
            (sys.executable, str(GIT_SERVER), *where, *proof),
            lambda: self.network.hub.run(ANSWERS, timeout=60).returncode == 0,
        )
        return folder

    def publish(self) -> None:
        """Commit all that the owner has, and give it to the remote, which is made for it."""
        self.serve_git()
        self.run(OWNER, "git", "add", "--all")
        self.run(OWNER, "git", "commit", "--quiet", "--message", "Begin")
        self.run(OWNER, "git", "remote", "add", "origin", REMOTE)
        self.run(OWNER, "git", "push", "--quiet", "--set-upstream", "origin", "main")

    def add_host(self, name: str, config: Mapping[str, Any]) -> Machine:
        """Make a machine with a clone, whose user's role on the server has the machine's name."""
        machine = self.add_machine(name)
        self.run(name, "git", "clone", "--quiet", REMOTE, "shop", folder=".")
        self.configure(name, {"queue": {"url": self.url(name)}, **config})
        return machine

    def admit(self, hosts: Sequence[str], *options: str) -> None:
        """Let the owner's calls queue jobs, and these hosts run them."""
        for role in (CALLER, *hosts):
            self.rows(f"create role {role} login")
        words = [word for host in hosts for word in ("--host", host)]
        self.sow(OWNER, "hosts", "init", "--caller", CALLER, *words, *options)

    def close(self) -> None:
        for machine in self.machines.values():
            machine.die()


def add_tasks(root: Path, ids: Sequence[str]) -> None:
    """Add tasks to a project in process: thirty commands take their time."""
    for task in ids:
        add_task(
            Workspace(root), name=f"Task {task}", agent="implementer", now=time.time(), task_id=task
        )


@contextmanager
def open_fleet(base: Path, *settings: str, rules: str = RULES) -> Iterator[Fleet]:
    """Open a fleet without machines; `settings` are its server's, `rules` say who may log in."""
    with open_network() as network:
        where = (f"listen_addresses={SERVER_ADDRESS}", *postgres.UNSAFE, *settings)
        with postgres.running(*where, enter=network.hub.enter) as server:
            with (server.folder / "data/pg_hba.conf").open("a") as file:
                file.write(rules)
            now = datetime.datetime.now(datetime.UTC)
            shown, key = certificate(SERVER_ADDRESS, now - DAY / 2, *NAMES)
            (base / "authority.pem").write_bytes(shown)
            (base / "authority.key").write_bytes(key)
            show(server, shown, key)
            fleet = Fleet(base, network, server)
            try:
                yield fleet
            finally:
                fleet.close()
