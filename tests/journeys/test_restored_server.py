"""The server of a shared queue is restored from an older backup, while an agent works."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from journeys.callers import good
from journeys.site import Site, wait_until
from journeys.staff import start_worker
from journeys.two_checkouts import Pair, pair_at

from sow.jobs.server_seen import SEEN_NAME, SURE_SECONDS

pytestmark = pytest.mark.slow
SPAWN = ("agent", "spawn", "implementer")
RESTORED = "was restored from a backup"


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    with postgres.running(*postgres.UNSAFE) as started:
        yield started


@pytest.fixture
def hosts(tmp_path: Path, server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, server) as made:
        writes = {"write": ["{task}.txt", "work"]}
        made.begin("010", "020", script=[good(writes, made.gate("{task}"))])
        yield made


def copy_data(server: postgres.Server, source: str, to: str) -> None:
    """Stop a server, copy one folder of its data over another one, and start it."""
    server.stop(signal.SIGINT)
    user = (server.folder / source).stat()
    shutil.rmtree(server.folder / to, ignore_errors=True)
    shutil.copytree(server.folder / source, server.folder / to)
    for folder, _, files in os.walk(server.folder / to):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            os.chown(path, user.st_uid, user.st_gid)
    server.start()


def newest(hosts: Pair) -> int:
    ((seq,),) = hosts.ask("select seq from sqlite_sequence where name = 'change'")
    return int(seq)


def listeners(hosts: Pair) -> int:
    """Return how many connections wait for what others change."""
    ((count,),) = hosts.ask("select count(*) from pg_stat_activity where query like 'listen %%'")
    return int(count)


def heard_since(hosts: Pair, began: float) -> float:
    """Return for how many seconds the server hears the worker since then; it looks at each beat."""
    ((heard,),) = hosts.ask("select max(beat_at) from worker")
    return float(heard) - float(began)


def sure_of(site: Site) -> int:
    """Return up to which change a checkout knows that it was there."""
    note = site.root / ".sow/run" / SEEN_NAME
    return int(note.read_text().split()[1]) if note.exists() else 0


def test_what_ran_since_the_backup_is_fenced_kept_and_made_known(
    hosts: Pair, server: postgres.Server
) -> None:
    owner, other = hosts.owner, hosts.host
    hosts.ask("update control set value = '24' where name = 'lease seconds'")
    there = start_worker(other)
    hosts.open_gate("010")
    owner.sow(*SPAWN, "010")
    copy_data(server, "data", "backup")
    saved = newest(hosts)
    owner.sow(*SPAWN, "020", "--detach", expect=None)
    hosts.await_runs(other, 2)
    ((token, began),) = hosts.ask("select token, clock() from lease")
    wait_until(
        lambda: owner.sow("status").code == 0 and sure_of(owner) > saved, "the owner too", 60
    )
    waiting = owner.start("agent", "wait", "020")
    wait_until(lambda: listeners(hosts) == 2, "a call waits, and hears what changes")
    wait_until(lambda: heard_since(hosts, began) > 4 * SURE_SECONDS, "the worker is sure", 120)
    copy_data(server, "backup", "data")
    _, errors = waiting.communicate(timeout=300)
    assert (waiting.returncode, RESTORED in errors) == (6, True), errors
    assert "run the command again" in errors
    assert there.wait() == 6
    assert RESTORED in there.log_text
    refs = {ref.rpartition("/")[2].rpartition("-")[0] for ref in hosts.refs("refs/sow/attempts")}
    assert refs == {"1-1", "2-1"}, "what its agent has made is kept"
    owner.sow("job", "list", expect=None)  # the first command after it may say so once more
    listed = owner.sow("job", "list", "--json").json_lines
    assert [(job["job"], job["state"]) for job in listed] == [(1, "done")]
    assert "nobody is at it" in owner.sow("status").out
    hosts.open_gate("020")
    start_worker(owner)
    resumed = owner.sow("agent", "resume", "020", "Go on.", "--wait", "60s", expect=None)
    assert resumed.code == 0, resumed
    assert owner.job(2)["state"] == "done"
    ((later,),) = hosts.ask("select token from fence")
    assert later > token, "what the first lease would write is fenced"
