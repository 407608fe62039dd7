"""A batch whose authors are the real Claude Code on three hosts, which share a queue on a server.

A host is a checkout with a home of its own. All of them are in the one network that has loopback
alone, and reach the server by a socket of the file system, as the remote by its path.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import postgres
import psycopg
import pytest
from journey import Journey
from sandbox import Sandbox, end_of, wait_until
from scripted_model import REPORT

pytestmark = pytest.mark.real

HOSTS = ("a", "b", "c")
TASKS = ("100", "200", "300", "400", "500", "600")
WORK = (
    'sh "$HOME/meet.sh" {task_id}',
    "if [ -z \"$SOW_REVIEW\" ]; then echo 'a line of task {task_id}' > work-{task_id}.txt; fi",
    'sh "$HOME/report.sh" {task_id}',
)
"""What either role runs. The sentences that report are in a file, for a line that names what a role
may not run is refused to it as a whole."""
MEET = """
[ -z "$SOW_REVIEW" ] || exit 0
touch "{met}/$1"
until [ $(ls "{met}" | wc -l) -ge 3 ]; do sleep 0.1; done
"""
"""An author works once there are three: so each of three hosts has one."""
REPORT_SCRIPT = f"""
if [ -n "$SOW_REVIEW" ]; then
  sow review accept "$1" --summary 'It does what was asked.'
else
  {" && ".join(REPORT).replace("{task_id}", "$1")}
fi
"""


@dataclass(frozen=True)
class Shop:
    """The owner's checkout, three hosts, and the address of their queue."""

    owner: Journey
    hosts: dict[str, Sandbox]
    url: str


def git(sandbox: Sandbox, *words: str) -> str:
    """Run git in a checkout, and return what it prints."""
    done = sandbox.run("git", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def configure(sandbox: Sandbox, url: str, met: Path, *, serves: Sequence[str]) -> None:
    """Write a user's configuration, who serves these executors, and the scripts of agents."""
    executor = {"type": "claude", "settings": {"allowed_tools": ["Bash"]}}
    config = {
        "agents": {
            "executors": {"far": executor, "near": executor},
            "bindings": {"implementer": "far", "reviewer": "near"},
        },
        "queue": {"url": url, "executors": [*serves]},
        "worker": {"concurrency": 1},
    }
    file = sandbox.home / ".config/sow/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    (sandbox.home / "report.sh").write_text(REPORT_SCRIPT, encoding="utf-8")
    (sandbox.home / "meet.sh").write_text(MEET.format(met=met), encoding="utf-8")
    person = "[user]\n\tname = A Person\n\temail = person@example.org\n"
    (sandbox.home / ".gitconfig").write_text(person, encoding="utf-8")


@pytest.fixture
def shop(journey: Journey, tmp_path: Path) -> Iterator[Shop]:
    """Share the queue of a repository with a commit and six tasks, and clone it for three hosts."""
    owner, met, remote = journey.sandbox, tmp_path / "met", tmp_path / "remote.git"
    met.mkdir()
    with postgres.running(*postgres.UNSAFE) as server:
        configure(owner, server.url, met, serves=["near"])
        for task in TASKS:
            done = owner.sow("task", "add", f"Task {task}", "--agent", "implementer", "--id", task)
            assert done.returncode == 0, done.stderr
        done = owner.sow("hosts", "init")
        assert done.returncode == 0, done.stderr
        (owner.repository / "README.md").write_text("Read me.\n")
        (owner.repository / ".gitignore").write_text(".sow/project/\n")
        git(owner, "add", "-A")
        git(owner, "commit", "-q", "-m", "First")
        git(owner, "init", "-q", "--bare", str(remote))
        git(owner, "remote", "add", "origin", str(remote))
        git(owner, "push", "-q", "origin", "HEAD")
        hosts = {name: _host(owner, tmp_path / f"host-{name}", remote) for name in HOSTS}
        for host in hosts.values():
            configure(host, server.url, met, serves=["far"])
        workers = [host.start_sow("worker") for host in hosts.values()]
        yield Shop(journey, hosts, server.url)
        for sandbox in (owner, *hosts.values()):
            sandbox.sow("worker", "stop", "--end-agents")
        for worker in workers:
            end_of(worker)


def _host(owner: Sandbox, base: Path, remote: Path) -> Sandbox:
    repository, home, temporary = base / "repository", base / "home", base / "tmp"
    for new in (home, temporary):
        new.mkdir(parents=True)
    git(owner, "clone", "-q", str(remote), str(repository))
    environ = {
        **owner.environ,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "CLAUDE_CODE_TMPDIR": str(temporary),
    }
    return replace(owner, repository=repository, home=home, environ=environ)


def ran_on(shop: Shop) -> dict[str, int]:
    """Return how many agents each host has run, by the name of the folder that it is in."""
    with psycopg.connect(shop.url) as connection:
        ((schema,),) = connection.execute(
            "select schemaname from pg_tables where tablename = 'lease'"
        )
        connection.execute(f'set search_path = "{schema}"')
        rows = connection.execute(
            """select host.name, count(*) from attempt, host
                where host.id = substr(attempt.worker_id, strpos(attempt.worker_id, '@') + 1)
                group by host.name"""
        )
        return {Path(name.partition(":")[2]).parent.name: count for name, count in rows}


@pytest.mark.one_of("real authors in clones")
def test_claude_code_on_three_hosts_does_six_tasks_that_are_reviewed_and_merged_at_home(
    shop: Shop,
) -> None:
    owner = shop.owner.sandbox
    owner.behave(commands=WORK)
    done = owner.sow("batch", "run", *TASKS, "--detach", "--review", "--merge", "--json")
    assert done.returncode in (0, 75), done.stdout + done.stderr
    batch: dict[str, Any] = {}

    def has_ended() -> bool:
        shown = owner.sow("batch", "wait", "1", "--wait", "100s", "--json")
        assert shown.returncode in (0, 75), shown.stdout + shown.stderr
        batch.update(json.loads(shown.stdout.splitlines()[-1]))
        return shown.returncode == 0

    wait_until(has_ended, "the end of the batch", seconds=900)
    assert [item["state"] for item in batch["items"]] == ["done"] * len(TASKS)
    for task in TASKS:
        assert git(owner, "show", f"HEAD:work-{task}.txt") == f"a line of task {task}\n"
    assert owner.failures() == []
    ran = ran_on(shop)
    hosts = {place: count for place, count in ran.items() if place.startswith("host-")}
    assert sorted(hosts) == ["host-a", "host-b", "host-c"], ran
    assert sum(hosts.values()) == len(TASKS), "each author ran once"
    assert all(item["cost_usd"] > 0 for item in batch["items"])
