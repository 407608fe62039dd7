"""A job that another checkout runs: its work goes there and comes home by refs of the remote."""

from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from journeys.callers import good
from journeys.gitsite import git
from journeys.staff import start_worker
from journeys.two_checkouts import Pair, pair_at

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(tmp_path: Path, postgres_server: postgres.Server) -> Iterator[Pair]:
    with pair_at(tmp_path, postgres_server) as made:
        yield made


def test_a_spawn_at_home_runs_elsewhere_and_its_work_comes_home(pair: Pair) -> None:
    work = [
        {"write": ["made.txt", "made on the host\n"]},
        {"sow": ["agent", "log", "Made it"]},
    ]
    pair.give_roles()
    pair.begin("010", script=[good(*work)])
    start_worker(pair.host)
    result = pair.owner.sow("agent", "spawn", "implementer", "010")
    assert result.out.startswith("010 needs_review"), result
    task = pair.owner.task("010")
    assert task["status"] == "needs_review"
    assert task["files_modified"] == ["made.txt"]
    assert git(pair.owner, "show", f"{pair.branch_of('010')}:made.txt") == "made on the host\n"
    assert not (pair.owner.root / "made.txt").exists()
    log = (pair.owner.task_folder("010") / "log.md").read_text()
    assert log.count("Made it") == 1
