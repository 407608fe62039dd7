"""`sow hosts`: who may use a queue on a server; `sow doctor` tells what one's own role may."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import pytest
from journeys.json_contract import hold

from sow.ids import WorkerId
from sow.jobs import workers
from sow.jobs.database import open_queue
from sow.jobs.hosts import put_on_record
from sow.jobs.store import Serves
from sow.paths import Workspace
from sow.processes import process_facts
from sow.schema.job import WorkerRecord

pytestmark = pytest.mark.slow
SCHEMA = "sow_hostscommand"
CALLER, HOST = "queues_hosts_command", "runs_hosts_command"


@pytest.fixture
def url(
    begun: Callable[..., Any], tmp_path: Path, poisoned_home: Path, postgres_server: postgres.Server
) -> Iterator[str]:
    """Keep the queue of a project on a server that knows two more roles."""
    import psycopg

    use(poisoned_home, postgres_server.url)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        for role in (CALLER, HOST):
            connection.execute(f"create role {role} login")
        Workspace(tmp_path).queue_name.write_text(SCHEMA.removeprefix("sow_"))
        yield postgres_server.url
        connection.execute(f"drop schema if exists {SCHEMA} cascade")
        for role in (CALLER, HOST, f"{SCHEMA}_callers", f"{SCHEMA}_hosts"):
            connection.execute(f"drop role if exists {role}")


def use(home: Path, url: str) -> None:
    configuration = home / ".config/sow/config.yaml"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(f"queue:\n  url: {url}\n")


def test_it_says_who_may_use_the_queue_and_again_when_somebody_joins(
    begun: Callable[..., Any], url: str
) -> None:
    first = begun("hosts", "init", "--host", HOST, "--executor", "gpu", "--json")
    assert first.code == 0, first.err
    hold("hosts init", [first.json])
    assert (first.json["callers"], first.json["lease_seconds"]) == ([], 120.0)
    limits = ("--concurrency", "9", "--max-parallel", "codex=2", "--max-parallel", "gpu=1")
    assert (
        "  at once      9 agents in all, 2 of codex, 1 of gpu\n"
        in begun("hosts", "init", *limits).out
    )
    less = begun("hosts", "init", "--concurrency", "none", "--max-parallel", "gpu=none", "--json")
    assert (less.json["concurrency"], less.json["max_parallel"]) == (None, {"codex": 2})
    words = begun("hosts", "init", "--caller", CALLER, "--lease", "10m").out
    assert "is shared; leases last 10m" in words
    assert f"queue jobs   {CALLER}\n" in words
    assert f"runs jobs    {HOST}: of everybody, gpu\n" in words
    assert "travels by refs of the git remote" in words


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("sow", "your role sow may do everything"),
        (CALLER, f"{CALLER} may queue jobs"),
        (HOST, f"{HOST} may run jobs"),
    ],
)
def test_the_doctor_tells_what_ones_own_role_may(
    begun: Callable[..., Any], url: str, poisoned_home: Path, role: str, words: str
) -> None:
    assert begun("hosts", "init", "--host", HOST, "--caller", CALLER).code == 0
    use(poisoned_home, url.replace("sow@", f"{role}@"))
    findings = begun("doctor", "--json").json["findings"]
    (hosts,) = [each for each in findings if each["check_name"] == "hosts"]
    assert "leases last 2m" in hosts["text"]
    assert words in hosts["text"]
    assert [each for each in findings if "in the queue's tables" in each["text"]] == []


def test_a_call_that_cannot_be_meant_is_refused(begun: Callable[..., Any]) -> None:
    for words, reason in (
        (("--lease", "30s"), "too short"),
        (("--lease", "soon"), "not a duration"),
        (("--executor", "gpu"), "no --host is given"),
        (("--concurrency", "0"), "no number of agents"),
        (("--max-parallel", "=2"), "names no executor"),
    ):
        result = begun("hosts", "init", *words)
        assert (result.code, reason in result.err) == (2, True), result.err


def test_a_queue_in_a_file_is_shared_with_nobody(begun: Callable[..., Any]) -> None:
    result = begun("hosts", "init")
    assert (result.code, "which no other host can use" in result.err) == (4, True)


def listed(begun: Callable[..., Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in begun("hosts", "list", "--json").out.splitlines()]


def test_it_lists_the_hosts_what_each_serves_and_when_it_was_heard(
    begun: Callable[..., Any], url: str, tmp_path: Path, poisoned_home: Path
) -> None:
    not_shared = begun("hosts", "list")
    assert (not_shared.code, "is not shared" in not_shared.err) == (4, True)
    assert begun("hosts", "init", "--host", HOST, "--executor", "gpu").code == 0
    (idle,) = listed(begun)
    hold("hosts list", [idle])
    assert (idle["role"], idle["worker_count"], idle["silent_seconds"]) == (HOST, 0, None)
    assert "no worker  0        0     -" in begun("hosts", "list").out

    use(poisoned_home, url.replace("sow@", f"{HOST}@"))
    with closing(open_queue(Workspace(tmp_path))) as database:
        process = process_facts.identify(os.getpid())
        assert process is not None
        record = WorkerRecord(
            id=WorkerId(database.named("w1-aaaaaa")),
            process=process,
            concurrency=1,
            version="1",
            background=False,
            started_at=1.0,
        )
        workers.register(database, record)
        serves = Serves('{"codex": null}', '["alice"]', '["gpu", "linux", "host:x"]')
        put_on_record(database, serves, version="1")
    use(poisoned_home, url)
    (host,) = listed(begun)
    hold("hosts list", [host])
    assert host["name"].endswith(f":{tmp_path.resolve()}")
    assert (host["executors"], host["owners"]) == (["codex"], ["alice"])
    assert host["labels"] == ["gpu", "linux", "host:x"]
    assert (host["worker_count"], host["job_count"], host["is_silent"]) == (1, 0, False)
    assert host["silent_seconds"] < 60
    with closing(open_queue(Workspace(tmp_path))) as database:
        database.run("update worker set beat_at = beat_at - 500")
    assert f"{HOST}  silent  1        0     8m2" in begun("hosts", "list").out
    findings = [each["text"] for each in begun("doctor", "--json").json["findings"]]
    silent = f"Host {host['name']} (role {HOST}) has been silent for 8m2"
    assert [text for text in findings if text.startswith(silent)] != []


def test_a_queue_in_a_file_has_no_hosts(begun: Callable[..., Any]) -> None:
    result = begun("hosts", "list")
    assert (result.code, "which no other host can use" in result.err) == (4, True)
