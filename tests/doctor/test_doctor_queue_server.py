"""What the doctor says of the server that has the queue."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import postgres
import pytest

from sow.config.load import load_configuration
from sow.doctor.queue import examine_queue
from sow.doctor.queue_server import shortcomings
from sow.findings import Finding, Level
from sow.jobs.database import open_queue
from sow.jobs.server_state import ServerState
from sow.paths import Workspace, user_config_path

WELL: dict[str, Any] = {
    "place": "db.example.org/sow",
    "version": "15.18",
    "is_too_old": False,
    "answer_seconds": 0.001,
    "ahead_seconds": 0.1,
    "is_encrypted": True,
    "is_local": False,
    "lacking": (),
    "unfit_encoding": "",
    "may_make": True,
}


def test_of_a_server_that_is_well_nothing_more_is_said() -> None:
    assert list(shortcomings(ServerState(**WELL))) == []
    here = {**WELL, "is_encrypted": False, "is_local": True}
    assert list(shortcomings(ServerState(**here))) == []


@pytest.mark.parametrize(
    ("what", "level", "text"),
    [
        ({"version": "13.4", "is_too_old": True}, Level.ERROR, "PostgreSQL 13.4: too old"),
        ({"lacking": ("update", "delete")}, Level.ERROR, "may not update, delete"),
        ({"unfit_encoding": "LATIN1"}, Level.ERROR, "keeps text in LATIN1"),
        ({"may_make": False}, Level.ERROR, "may not create a schema"),
        ({"answer_seconds": 0.2}, Level.WARNING, "far away: 200 ms an answer"),
        ({"ahead_seconds": 5.2}, Level.WARNING, "is 5 s ahead of this machine's"),
        ({"ahead_seconds": -61.0}, Level.WARNING, "is 61 s behind this machine's"),
        ({"is_encrypted": False}, Level.WARNING, "is not encrypted"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_with_a_remedy(what: dict[str, Any], level: Level, text: str) -> None:
    (finding,) = shortcomings(ServerState(**{**WELL, **what}))
    assert (finding.check, finding.level) == ("queue", level)
    assert text in finding.text
    assert finding.remedy


def examined(home: Path, root: Path, url: str) -> list[Finding]:
    """Return what is found of the queue of a repository whose user names a server."""
    config = home / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"queue: {{url: '{url}'}}\n")
    (root / ".sow").mkdir(exist_ok=True)
    configuration = load_configuration(
        path=user_config_path({}), repository_path=None, environ={}, roles=[]
    )
    return list(examine_queue(Workspace(root), configuration, now=0.0))


@pytest.mark.slow
def test_a_server_is_looked_at_before_it_has_a_queue_and_after(
    poisoned_home: Path, tmp_path: Path, postgres_server: postgres.Server
) -> None:
    nothing, server = examined(poisoned_home, tmp_path, postgres_server.url)
    assert "No queue yet" in nothing.text
    assert (server.level, "PostgreSQL" in server.text) == (Level.OK, True)
    with closing(open_queue(Workspace(tmp_path))) as made:
        queue: Any = made
        found = {each.check: each for each in examined(poisoned_home, tmp_path, queue._url)}
        queue.connection.execute(f'drop schema "{queue.schema}" cascade')
    assert found["queue"].level is Level.OK
    assert "One checkout at a time" in found["checkouts"].text


def test_a_server_that_is_not_there_is_told_before_the_first_job(
    poisoned_home: Path, tmp_path: Path
) -> None:
    *_, away = examined(poisoned_home, tmp_path, "postgresql://me:hush@127.0.0.1:1/sow")
    assert (away.level, "127.0.0.1:1/sow cannot be used" in away.text) == (Level.ERROR, True)
    assert "hush" not in f"{away}"


@pytest.mark.parametrize(
    ("mode", "url", "is_told"),
    [
        (0o644, "postgresql://me:hush@127.0.0.1:1/sow", True),
        (0o640, "postgresql://me@127.0.0.1:1/sow?password=hush", True),
        (0o600, "postgresql://me:hush@127.0.0.1:1/sow", False),
        (0o644, "postgresql://me@127.0.0.1:1/sow", False),
    ],
)
def test_a_password_that_others_can_read_is_told(
    poisoned_home: Path, tmp_path: Path, mode: int, url: str, is_told: bool
) -> None:
    config = poisoned_home / ".config/sow/config.yaml"
    config.parent.mkdir(parents=True)
    config.touch()
    config.chmod(mode)
    found = [each for each in examined(poisoned_home, tmp_path, url) if "can read" in each.text]
    assert [each.level for each in found] == ([Level.WARNING] if is_told else [])
    assert all(f"chmod 600 {config}" in each.remedy for each in found)


def test_without_psycopg_it_says_what_to_install(
    poisoned_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    _, lacking = examined(poisoned_home, tmp_path, "postgresql://me@127.0.0.1:1/sow")
    assert (lacking.level, "has no psycopg" in lacking.text) == (Level.ERROR, True)
    assert "pip install 'sow-agents[postgres]'" in lacking.remedy
