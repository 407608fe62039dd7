"""The page "Several hosts" as a story: what it has people do, done on machines.

Owns which section of the page is about which machine. What a block holds is run, or written, as it
stands there; only where the server's certificate lies is replaced. `make run-hosts` shows it.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts.fleet import OWNER, Fleet, open_fleet
from hosts.machines import wait_for
from repository.markdown import BLOCK, read
from standins import install_standins

PAGE = "docs/several-hosts.md"
AUTHORITY = "/etc/ssl/certs/db.example.org.pem"
"""Where the page has the certificate."""
NO_RULES = ""
NEEDS_PERSON = "sow batch run"
"""What ends with exit code 1, as the page says: each task waits for a person then."""
SERVER, HOST = "server", "builder"
SECTIONS = {"1.": SERVER, "2.": OWNER, "3.": HOST, "4.": OWNER}
"""Which machine a numbered section is about."""
HOSTS = ("builder_a", "builder_b", "builder_c")
HEADING = re.compile(r"^## ", re.MULTILINE)
WORK = '[[{"sleep": 1.5}, {"write": ["{task}.txt", "done"]}, {"sow": %s}]]'
REPORT = '["task", "set", "status", "needs_review"]'


@dataclass(frozen=True)
class Block:
    """One block of the page: for which machine, in which language, and its text."""

    machine: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    """Yield what the page has people do, in its order."""
    for section in HEADING.split(read(PAGE))[1:]:
        machine = SECTIONS.get(section.split()[0])
        for language, text in BLOCK.findall(section):
            assert machine is not None, f"a command outside of the numbered sections: {text}"
            yield Block(machine, language, text)


class Story:
    """The page's commands on a fleet. `say` hears each of them, and what it prints."""

    def __init__(self, fleet: Fleet, say: Callable[[str], None] = lambda _: None) -> None:
        self.fleet = fleet
        self.say = say
        self.printed: dict[str, str] = {}
        """By command, what it has printed last."""

    def run(self) -> None:
        """Do all that the page has people do."""
        self._prepare()
        for machine in (SERVER, OWNER, *HOSTS):
            if machine not in (SERVER,):
                self._add_machine(machine)
        every = [*blocks()]
        hosts_are_made = False
        for block in every:
            if block.machine != HOST:
                self._do(block.machine, block)
            elif not hosts_are_made:
                hosts_are_made = True
                for name in HOSTS:
                    for each in every:
                        if each.machine == HOST:
                            self._do(name, for_host(each, name))
                    self._await_worker(name)

    def _prepare(self) -> None:
        """Have a repository on the remote, with the script of the agents' stand-in."""
        remote = self.fleet.serve_git()
        install_standins(self.fleet.base / "bin", sys.executable)
        first = self.fleet.base / "first"
        (first / ".standin").mkdir(parents=True)
        (first / ".standin/default.json").write_text(WORK % REPORT)
        for words in (
            ("init", "--quiet", "-b", "main"),
            ("add", "--all"),
            ("-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-qm", "Begin"),
            ("push", "--quiet", str(remote), "main"),
        ):
            subprocess.run(["git", *words], cwd=first, check=True)

    def _add_machine(self, name: str) -> None:
        machine = self.fleet.add_machine(name)
        (machine.disk / "shop").mkdir()

    def _do(self, machine: str, block: Block) -> None:
        match block.language:
            case "sql":
                for statement in block.text.split(";\n"):
                    if statement.strip():
                        self._tell(machine, f"{statement.strip()};")
                        self.fleet.rows(statement)
            case "text":
                rules = self.fleet.server.folder / "data/pg_hba.conf"
                rules.write_text(rules.read_text() + block.text)
                self.fleet.rows("select pg_reload_conf()")
                self._tell(machine, block.text)
            case "yaml":
                place = self.fleet.machines[machine].disk / "home/.config/sow/config.yaml"
                place.parent.mkdir(parents=True)
                authority = str(self.fleet.base / "authority.pem")
                place.write_text(block.text.replace(AUTHORITY, authority))
                self._tell(machine, f"~/.config/sow/config.yaml:\n{block.text}")
            case "bash":
                for command in commands(block.text):
                    self._run(machine, command)
            case other:
                raise AssertionError(f"nobody knows what a block of {other} is for")

    def _run(self, machine: str, command: str) -> None:
        self._tell(machine, f"$ {command}")
        if command == "cd shop":
            return
        if command == "sow worker":
            self.fleet.start_worker(machine)
            return
        if command.startswith("git clone"):
            command = f"rmdir ../shop && cd .. && {command}"
        code = 1 if command.startswith(NEEDS_PERSON) else 0
        done = self.fleet.run(machine, "bash", "-e", "-c", command, expect=code)
        self.printed[command] = done.out
        if done.out.strip():
            self.say(done.out.rstrip())

    def _tell(self, machine: str, text: str) -> None:
        self.say("\n".join(f"[{machine}] {line}" for line in text.rstrip().splitlines()))

    def _await_worker(self, name: str) -> None:
        log = self.fleet.base / f"worker-{name}.log"
        wait_for(lambda: " started; runs up to 2" in log.read_text(), f"a worker on {name}")


def for_host(block: Block, name: str) -> Block:
    """Return a block of `builder_a` as another host has it."""
    last = name[-1]
    text = block.text.replace("builder_a", name).replace("change-me-a", f"change-me-{last}")
    return Block(name, block.language, text)


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a block of the shell: a loop is one of them."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(line)
        if lines[0].startswith("for ") and not line.startswith("done"):
            continue
        yield "\n".join(lines)
        lines.clear()


def ran_on(fleet: Fleet) -> list[str]:
    """Return the roles whose workers have run an agent."""
    fleet.database = "sow"
    ((schema,),) = fleet.rows("select schemaname from pg_tables where tablename = 'lease'")
    return [
        role for (role,) in fleet.rows(f"select distinct host from {schema}.attempt order by 1")
    ]


def main() -> None:
    """Show the story, and where its tasks have run."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="sow-hosts-") as folder,
            open_fleet(Path(folder), rules=NO_RULES) as fleet,
        ):
            Story(fleet, lambda text: print(text, flush=True)).run()
            print(f"\nThe batch ran on: {', '.join(ran_on(fleet))}")
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
