"""The stores of a queue: a file, and a server, where the tests of a process share one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import postgres

from sow.jobs.database import Database, open_queue
from sow.paths import Workspace

FILE, SERVER = "file", "server"
NAME = "test"
"""What the queue of each test is called on the server: one after the other has it."""
EMPTY = """
    set session_replication_role = replica;
    do $$
    declare its name;
    begin
        for its in select tablename from pg_tables
            where schemaname = current_schema and tablename <> 'control'
        loop
            execute format('delete from %I', its);
        end loop;
    end $$;
    set session_replication_role = origin;
    delete from control where name not in ('format', 'made_by', 'file_id');
    insert into fence values (1, 0);
"""
"""Empties a queue on the tests' own server. Making it anew takes a tenth of a second."""


def name_server(home: Path, server: postgres.Server) -> None:
    """Have the user of a home keep queues on a server."""
    configuration = home / ".config/sow/config.yaml"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(f"queue:\n  url: {server.url}\n")


@contextmanager
def opened(workspace: Workspace, url: str) -> Iterator[Database]:
    """Open the queue of a test, empty; `url` is that of its server, if it has one."""
    (workspace.sow / ".queue").write_text(NAME)
    if url:
        empty(url)
    with closing(open_queue(workspace)) as database:
        yield database


def empty(url: str) -> None:
    """Empty the queue of the tests on a server, if it is there."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"set search_path = sow_{NAME}, pg_catalog")
        if connection.execute("select to_regclass('control') is not null").fetchone() == (True,):
            connection.execute(EMPTY)
