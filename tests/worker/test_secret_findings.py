"""What is told of the search of an agent's work for secrets where that has left no result."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from attempts.job_values import make_job
from reports.job_cases import make_attempt

from sow.paths import AttemptPaths
from worker.running import Running
from worker.secret_findings import findings_of

NOT_STARTED = {"code": 126, "signal": None}
RAN = {"code": 0, "signal": None, "cpu_seconds": 0.0}


@pytest.mark.parametrize(
    ("records", "is_told"),
    [
        ({"exit": NOT_STARTED}, False),
        ({"exit": RAN}, True),
        ({"exit": NOT_STARTED | {"attempt": "1.9.0"}}, True),
        ({"exit": NOT_STARTED, "started": {}}, True),
        ({}, True),
    ],
    ids=["no agent", "an agent", "of another attempt", "it may have lied", "no record"],
)
def test_a_search_that_left_nothing_is_told_where_an_agent_may_have_run(
    tmp_path: Path, records: dict[str, dict[str, object]], *, is_told: bool
) -> None:
    paths, attempt = AttemptPaths(tmp_path), make_attempt(id=f"1.1.{'a' * 16}")
    paths.scan_orders.write_text("{}")
    for name, record in records.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"attempt": attempt.id, **record}))
    nothing = cast(Any, None)
    running = Running(nothing, make_job(), attempt, None, paths, None, nothing)
    words = " ".join(findings_of(running))
    assert ("its work was not searched for secrets" in words) is is_told
