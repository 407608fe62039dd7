"""Two checkouts of one repository that share a queue on a server: the owner's, and a host's."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import postgres
import yaml
from journeys.gitsite import commit, git, log_of, make_repository
from journeys.site import Site, end_agents, make_site, wait_until
from journeys.staff import QUICK, WorkerRun, shell_executor
from standins import Run, read_runs

from sow.paths import Workspace

IGNORED = """\
.sow/project/
.standin/*
!.standin/*.json
.env
"""
"""The project itself is in no commit, nor is what stand-ins note."""


class Pair:
    """The owner's checkout and a host's; both have the bare repository `remote` as `origin`."""

    def __init__(self, base: Path, url: str) -> None:
        self.owner, self.host = _site(base / "owner"), _site(base / "host")
        self.more: list[Site] = []
        """Further hosts (`add_host`)."""
        self.remote = base / "remote.git"
        self.url = url
        self.roles: list[str] = []
        """The roles of the owner and the host; without them both are whoever owns the tables."""
        self.gates = base / "gates"
        self.gates.mkdir()

    def give_roles(self) -> None:
        """Have the owner queue as a role of its own, and the host run as another one."""
        self.roles = [f"{name}_{os.urandom(4).hex()}" for name in ("caller", "host")]
        with self.connected() as connection:
            for role in self.roles:
                connection.execute(f"create role {role} login")

    def admit_owner(self) -> None:
        """Have the owner's role run jobs as well, so that its workers drive its batches."""
        site, role = self.owner, self.roles[0]
        known = site.config_file.read_text()
        self.configure(site, "sow")
        site.sow("hosts", "init", "--host", role)
        site.config_file.write_text(known)

    @property
    def schema(self) -> str:
        """The schema that has the queue."""
        return f"sow_{Workspace(self.owner.root).queue_name.read_text().strip()}"

    def ask(self, statement: str, *values: object) -> list[Any]:
        """Run a statement in the queue as its owner, and return its rows."""
        with self.connected() as connection:
            connection.execute(f'set search_path = "{self.schema}"')
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description is not None else []

    def gate(self, name: str) -> dict[str, str]:
        """Return the step of an agent that waits until `open_gate` of this name."""
        return {"wait_for": str(self.gates / name)}

    def open_gate(self, name: str) -> None:
        (self.gates / name).touch()

    def runs(self, site: Site) -> list[Run]:
        """Return what agents have run at a site, in its checkout and in its clones."""
        clones = (site.base / "home/.local/state/sow/clones").glob("*/*/*")
        return [run for root in (site.root, *sorted(clones)) for run in read_runs(root)]

    def await_runs(self, site: Site, count: int) -> None:
        wait_until(lambda: len(self.runs(site)) >= count, f"{count} agents have begun")

    def end_agents(self, site: Site) -> None:
        """Kill the agents of a site, of guests as well."""
        guests = (site.base / "home/.local/state/sow/guests").glob("*/*/*")
        for root in (site.root, *guests):
            end_agents(root)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            yield connection

    def begin(
        self, *tasks: str, script: Any = None, settings: Any = None, **configuration: Any
    ) -> None:
        """Begin a project at the owner's, share its queue, clone the repository for the host.

        `settings` are those of the repository.
        """
        owner, host = self.owner, self.host
        owner_role, host_role = self.roles or ("sow", "sow")
        self.configure(owner, "sow", **configuration)
        self.configure(host, host_role, **configuration)
        make_repository(owner)
        owner.project(*tasks)
        if script is not None:
            owner.script(script)
        if settings is not None:
            (owner.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
        (owner.root / ".gitignore").write_text(IGNORED)
        joining = ("--caller", owner_role, "--host", host_role) if self.roles else ()
        owner.sow("hosts", "init", *joining)
        self.configure(owner, owner_role, **configuration)
        commit(owner)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.remote], check=True)
        git(owner, "remote", "add", "origin", str(self.remote))
        git(owner, "push", "-q", "origin", "main")
        shutil.rmtree(host.root)
        git(host, "clone", "-q", str(self.remote), str(host.root), cwd=host.base)

    def add_host(self, name: str, **configuration: Any) -> Site:
        """Clone the repository for one more host, at which nobody has worked yet."""
        site = _site(self.owner.base.parent / name)
        self.more.append(site)
        self.configure(site, self.roles[1] if self.roles else "sow", **configuration)
        shutil.rmtree(site.root)
        git(site, "clone", "-q", str(self.remote), str(site.root), cwd=site.base)
        return site

    def begin_with_shell(
        self, *tasks: str, author: str, reviewer: str, settings: Any = None, **serves: Sequence[str]
    ) -> None:
        """Begin one whose author and reviewer are shell scripts.

        `serves` says which of the executors `author` and `judge` each site runs.
        """
        scripts = {"author": author, "judge": reviewer}
        executors = {name: shell_executor(self.owner, name, text) for name, text in scripts.items()}
        bindings = {"implementer": "author", "reviewer": "judge"}
        agents = {"agents": {"executors": executors, "bindings": bindings}}
        self.begin(*tasks, settings=settings, **agents)
        owner, host = self.roles or ("sow", "sow")
        self.configure(self.owner, owner, executors=serves["owner"], **agents)
        self.configure(self.host, host, executors=serves["host"], **agents)

    def ran(self) -> set[tuple[str, str]]:
        """Return the verbs of all jobs that had an attempt, with the id of the host of each."""
        where = "split_part(attempt.worker_id, '@', 2)"
        found = self.ask(f"select job.verb, {where} from attempt join job on job.id = job_id")
        return {(verb, host) for verb, host in found}

    def configure(
        self,
        site: Site,
        role: str,
        *,
        labels: Sequence[str] = (),
        executors: Sequence[str] = (),
        **configuration: Any,
    ) -> None:
        """Write the configuration of a site's user, who has this role and serves `executors`."""
        queue: dict[str, Any] = {"url": self.url.replace("sow@", f"{role}@")}
        for name, words in (("labels", labels), ("executors", executors)):
            if words:
                queue[name] = list(words)
        site.configure({"queue": queue, "worker": QUICK, **configuration})

    def job(self, number: int) -> dict[str, Any]:
        """Return a job as the owner's checkout tells it."""
        return self.owner.job(number)

    def refs(self, below: str = "refs/sow") -> dict[str, str]:
        """Return the refs of the remote by name."""
        lines = git(self.owner, "ls-remote", str(self.remote), f"{below}/*").splitlines()
        return {ref: commit for commit, ref in (line.split("\t") for line in lines)}

    def branch_of(self, task: str) -> str:
        """Return the name of a task's branch at the owner's."""
        names = git(self.owner, "for-each-ref", "--format=%(refname)", "refs/heads/sow")
        (found,) = [name for name in names.split() if name.endswith(f"/{task}")]
        return found

    def log_of(self, task: str) -> str:
        """Return a task's log at the owner's."""
        return log_of(self.owner, task)

    def close(self) -> None:
        for site in (self.owner, self.host, *self.more):
            site.close()
            self.end_agents(site)


@contextmanager
def pair_at(base: Path, server: postgres.Server) -> Iterator[Pair]:
    """Give two checkouts whose queue is on a server."""
    made = Pair(base, server.url)
    try:
        yield made
    finally:
        made.close()
        schema = made.schema
        with made.connected() as connection:
            connection.execute(f'drop schema if exists "{schema}" cascade')
            for role in (*made.roles, f"{schema}_callers", f"{schema}_hosts"):
                connection.execute(f'drop role if exists "{role}"')


def host_of(worker: WorkerRun) -> str:
    """Return the id of the host of a worker."""
    return worker.name.rpartition("@")[2]


def _site(base: Path) -> Site:
    base.mkdir()
    return make_site(base)
