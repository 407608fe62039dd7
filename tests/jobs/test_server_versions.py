"""Versions that differ: of the server, and of the sows that share a queue on it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import pytest
from queue_cases import MANY, NOW, WORKER, insert
from stores import name_server

from sow.errors import QueueError
from sow.ids import JobId, WorkerId
from sow.jobs import jobs, leases
from sow.jobs.database import FORMAT, open_queue
from sow.jobs.faults import QueueChanged
from sow.jobs.server_rights import Joining, share
from sow.paths import Workspace

pytestmark = pytest.mark.slow
NAME = "versions"
HOST = "older_host"
NEWER = FORMAT + 1


@pytest.fixture
def owner(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path
) -> Iterator[Any]:
    """Return a queue as its owner has it, which is shared with a host's role."""
    name_server(poisoned_home, postgres_server)
    workspace.queue_name.write_text(NAME)
    with closing(open_queue(workspace)) as opened:
        database: Any = opened
        ask = database.connection.execute
        ask(f"create role {HOST} login")
        try:
            share(database, Joining(hosts=[HOST]), lease_seconds=None)
            insert(database)
            yield database
        finally:
            ask(f"drop schema sow_{NAME} cascade")
            for role in (HOST, f"sow_{NAME}_callers", f"sow_{NAME}_hosts"):
                ask(f"drop role {role}")


@pytest.fixture
def is_host(owner: Any, poisoned_home: Path) -> None:
    """Have the user be the host's."""
    config = poisoned_home / ".config/sow/config.yaml"
    config.write_text(config.read_text().replace("//sow@", f"//{HOST}@"))


@pytest.fixture
def is_newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have this sow be one whose queues have another table."""
    forms = tmp_path / "forms"
    forms.mkdir()
    (forms / f"{NEWER}.sql").write_text("create table of_newer (id bigint);")
    monkeypatch.setattr("sow.jobs.server_making.FORMS", forms)
    for module in ("server_making", "server_faults"):
        monkeypatch.setattr(f"sow.jobs.{module}.FORMAT", NEWER)


def test_a_host_with_a_newer_sow_waits_until_the_owner_has_it_too(
    workspace: Workspace, owner: Any, is_host: None, is_newer: None
) -> None:
    with pytest.raises(
        QueueError, match=f"has format {FORMAT}; this sow .* reads {NEWER}"
    ) as caught:
        open_queue(workspace)
    assert "Whoever owns its tables runs a command of this sow first" in caught.value.hint
    assert owner.noted("format") == str(FORMAT)
    assert owner.value("select to_regclass('of_newer') is null")


def test_the_owner_s_newer_sow_upgrades_a_shared_queue_with_its_rights(
    workspace: Workspace, owner: Any, is_newer: None
) -> None:
    with closing(open_queue(workspace)) as newer:
        assert newer.noted("format") == str(NEWER)
        assert jobs.newest_id(newer) == 1
        sql = "select has_table_privilege(?, 'of_newer', 'select')"
        assert newer.value(sql, (HOST,)), "rights of the new table"


def test_an_older_sow_of_a_host_leaves_when_the_queue_is_upgraded(
    workspace: Workspace, owner: Any, is_host: None
) -> None:
    leases.enqueue(owner, JobId(1), now=NOW)
    with closing(open_queue(workspace)) as older:
        owner.connection.execute(f"update control set value = '{NEWER}' where name = 'format'")
        worker = WorkerId(older.named(WORKER))
        with pytest.raises(
            QueueChanged, match=f"has format {NEWER}; this sow .* reads {FORMAT}"
        ) as caught:
            leases.claim(older, worker, total=MANY, own=MANY, now=NOW)
    assert "or a newer one. Nothing was changed." in caught.value.hint
    assert owner.value("select count(*) from lease") == 0
    with pytest.raises(QueueChanged, match=f"has format {NEWER}"):
        open_queue(workspace)
    owner.connection.execute(f"update control set value = '{FORMAT}' where name = 'format'")


def test_an_old_server_is_refused_before_anything_is_made(
    workspace: Workspace, postgres_server: postgres.Server, poisoned_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    name_server(poisoned_home, postgres_server)
    workspace.queue_name.write_text("oldserver")
    monkeypatch.setattr("sow.jobs.server_making.OLDEST", 99)
    with pytest.raises(QueueError, match=r"the server is PostgreSQL \d+") as caught:
        open_queue(workspace)
    assert "PostgreSQL 99 or newer" in caught.value.hint
    import psycopg

    with psycopg.connect(postgres_server.url) as connection:
        found = connection.execute("select 1 from pg_namespace where nspname = 'sow_oldserver'")
        assert found.fetchone() is None
