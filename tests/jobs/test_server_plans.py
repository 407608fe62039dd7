"""On a server too, every query over what grows has an index; `test_query_plans` has the queries."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from queue_cases import insert
from test_query_plans import GROWING, QUERIES

from sow.jobs import leases
from sow.jobs.database import Database
from sow.paths import Workspace

pytestmark = pytest.mark.slow
BY_INDEX = ("Index Scan", "Index Only Scan", "Bitmap Index Scan")


@pytest.fixture
def database(on_server: Any) -> Any:
    # The rows that earlier tests have deleted would make other plans seem better.
    on_server.connection.execute(f"truncate {', '.join(GROWING)}, batch, lease")
    for task in ("010", "020"):
        leases.enqueue(on_server, insert(on_server, task).id, now=1.0)
    return on_server


def nodes(
    plan: dict[str, Any], *, is_limited: bool = False
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each node of a plan, and whether a limit stands above it."""
    yield plan, is_limited
    for below in plan.get("Plans", ()):
        yield from nodes(below, is_limited=is_limited or plan["Node Type"] == "Limit")


def noting(database: Any) -> Any:
    """Return the same queue over another connection, with every statement that is asked of it."""
    from sow.jobs.queue_server import QueueServer

    class Noting(QueueServer):
        def _execute(self, sql: str, parameters: Any) -> Any:
            asked.append((sql, parameters))
            return super()._execute(sql, parameters)

    asked: list[tuple[str, Any]] = []
    made = Noting(database._url, database.schema, database.run_folder)
    made.checkout = database.checkout
    made.asked = asked  # type: ignore[attr-defined]
    return made


def plans(database: Any, asked: list[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each statement with its plan, where reading a table whole is the last resort."""
    from sow.jobs.server_statements import translated, values_for

    # As with many rows: of two, any way is as good.
    for way in ("seqscan", "hashjoin", "mergejoin"):
        database.connection.execute(f"set enable_{way} = off")
    for sql, parameters in asked:
        if re.match(r"\s*(select|update|delete|with)", sql):
            explained = f"explain (format json) {translated(sql)}"
            (found,) = database.connection.execute(
                explained, values_for(sql, parameters)
            ).fetchone()
            plan = found if isinstance(found, list) else json.loads(found)
            yield sql, plan[0]["Plan"]


@pytest.mark.few(5)
@pytest.mark.parametrize("name", QUERIES)
def test_no_query_reads_a_growing_table_whole(
    name: str, database: Database, workspace: Workspace
) -> None:
    partial = {
        row["name"]
        for row in database.rows(
            "select relname as name from pg_class join pg_index on indexrelid = oid"
            " where indpred is not null"
        )
    }
    with closing(noting(database)) as through:
        QUERIES[name](through, workspace)
    assert through.asked
    whole = [
        f"{node['Node Type']} of {node.get('Relation Name', node.get('Index Name'))}: {sql}"
        for sql, plan in plans(database, through.asked)
        for node, is_limited in nodes(plan)
        if (node["Node Type"] == "Seq Scan" and node["Relation Name"] in GROWING)
        or (
            node["Node Type"] in BY_INDEX
            and node.get("Relation Name", GROWING[0]) in GROWING
            and "Index Cond" not in node
            and node["Index Name"] not in partial
            and not is_limited
        )
    ]
    assert whole == []
