"""The session law (§7), for each executor's own way of getting an id.

"A session is spawned at most once; everything after is a resume." Each way goes
through the same five moments at which a run can break off.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from journeys.callers import Step, good, ledger
from journeys.site import Result, Site
from standins import CursorDialect, install_standins, read_refusals, read_runs

pytestmark = pytest.mark.one_of
SPAWN = ("agent", "spawn", "implementer", "010")
RESUME = ("agent", "resume", "010", "Use RS256")
BEGINS_NOTHING: list[Step] = [{"forget_session": True}, {"crash": 3}]
"""The CLI dies before it has written anything of its session."""
BEGINS_UNSEEN: list[Step] = [{"crash": 3}]
"""It has written its session, and dies before it has said a word."""
BEGINS: list[Step] = [{"say": "Reading the task"}, {"crash": 3}]
LOSES: list[Step] = good({"say": "Reading the task"})
STREAM = ["claude", "-p", "--allowedTools", "Bash(sow:*)", "--output-format", "stream-json"]


def of_type(type_: str, **settings: Any) -> dict[str, Any]:
    return {"type": type_, "settings": settings}


@dataclass(frozen=True)
class Way:
    """How an executor comes by a session's id, and how it then stands to the law."""

    executor: dict[str, Any]
    dialect: CursorDialect = CursorDialect.TODAY
    same_after_crash: bool = True
    """Whether a session that never began keeps its id in the spawn that follows a crash."""
    same_after_unknown: bool = True
    """Whether it does so in the spawn that follows a resume which the CLI refused."""
    spawns_by_id: bool = True
    """Whether a spawn names a session that must not exist yet."""


WAYS = {
    "chosen before": Way(of_type("claude")),
    "created by a command": Way(
        of_type("cursor", yolo_mode=True),
        same_after_crash=False,
        same_after_unknown=False,
        spawns_by_id=False,
    ),
    "chosen, in the seeds' dialect of cursor": Way(
        of_type("cursor", yolo_mode=True),
        dialect=CursorDialect.SEEDS,
        same_after_unknown=False,
    ),
    "chosen, for a command": Way(
        of_type(
            "command",
            command=[*STREAM, "--verbose", "--session-id", "{session_id}"],
            resume=[*STREAM, "--verbose", "--resume", "{session_id}"],
        )
    ),
    "learned from the first event": Way(
        of_type(
            "command",
            command=[*STREAM, "--verbose"],
            resume=[*STREAM, "--verbose", "--resume", "{session_id}"],
        ),
        same_after_crash=False,
        same_after_unknown=False,
        spawns_by_id=False,
    ),
}

Begin = Callable[..., Site]


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


@pytest.fixture
def begin(site: Site, way: Way) -> Begin:
    """Return what makes a project whose implementer is run in this way."""

    def begun(*runs: list[Step], retries: int = 2) -> Site:
        install_standins(site.base / "bin", sys.executable, cursor=way.dialect)
        site.project("010")
        site.script(runs)
        executor = {**way.executor, "retries": retries}
        agents = {"executors": {"mine": executor}, "bindings": {"implementer": "mine"}}
        site.configure({"agents": agents})
        return site

    return begun


def forget_sessions(site: Site) -> None:
    """Lose what the CLIs keep of their sessions."""
    for kept in (site.base / "home").glob(".c*/**/*.jsonl"):
        kept.unlink()


def test_a_crash_before_the_session_exists_is_followed_by_a_spawn(begin: Begin, way: Way) -> None:
    site = begin(BEGINS_NOTHING, good())
    record = site.sow(*SPAWN, "--json").json
    first, second = read_runs(site.root)
    assert {verb for verb, _ in ledger(site)} == {"spawn"}
    assert ledger(site)[0] == ("spawn", "crashed")
    assert ledger(site)[-1] == ("spawn", "reported")
    assert (first.session_id == second.session_id) is way.same_after_crash
    assert site.task("010")["session_id"] == second.session_id == record["session_id"]
    assert "This task was run before" in second.prompt
    assert "your program ended in the middle" in second.prompt


def test_a_crash_after_the_session_exists_is_followed_by_a_resume(begin: Begin) -> None:
    """ "A retry of a spawn whose session exists becomes a resume ("your last command may …")"."""
    site = begin(BEGINS, good())
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    assert ledger(site) == [("spawn", "crashed"), ("resume", "reported")]
    assert (second.verb, second.session_id) == ("resume", first.session_id)
    assert "You are resumed on task 010" in second.prompt
    assert "your program ended in the middle" in second.prompt
    assert "it may have run: check the tree before you repeat it" in second.prompt


def test_a_session_that_exists_unseen_is_not_spawned_twice(begin: Begin, way: Way) -> None:
    """ "session in use …: the session law; not counted"."""
    site = begin(BEGINS_UNSEEN, good(), retries=1)
    site.sow(*SPAWN)
    first, second = read_runs(site.root)
    if way.spawns_by_id:
        assert [cause for _, cause in ledger(site)] == ["crashed", "session_in_use", "reported"]
        assert ledger(site)[-1][0] == "resume"
        assert len(read_refusals(site.root)) == 1
        assert "your program ended in the middle" in second.prompt
        assert "check the tree" in second.prompt
        assert second.session_id == first.session_id
    else:
        assert [cause for _, cause in ledger(site)] == ["crashed", "reported"]
    assert site.job(1)["retries"] == 1


KILLED_UNSEEN: list[Step] = [{"signal": 9}]


def test_a_session_in_use_is_resumed_however_often_its_agent_is_killed(
    begin: Begin, way: Way
) -> None:
    """Killed, killed, then fine, without a word: what the CLI said last of the session stands."""
    site = begin(KILLED_UNSEEN, KILLED_UNSEEN, KILLED_UNSEEN, good(), retries=3)
    site.sow(*SPAWN)
    if not way.spawns_by_id:  # a spawn names no session: it is never refused
        causes = [cause for _, cause in ledger(site)]
        assert causes == ["crashed", "crashed", "crashed", "reported"]
        return
    assert ledger(site) == [
        ("spawn", "crashed"),
        ("spawn", "session_in_use"),
        ("resume", "crashed"),
        ("resume", "crashed"),
        ("resume", "reported"),
    ]
    assert len({run.session_id for run in read_runs(site.root)}) == 1


def test_a_resume_of_a_session_that_never_began_becomes_a_spawn(begin: Begin, way: Way) -> None:
    """ "a resume whose session the CLI does not know, and which never started, becomes a spawn"."""
    site = begin(BEGINS_NOTHING, good(), retries=0)
    site.sow(*SPAWN, expect=1)
    site.sow(*RESUME)
    first, second = read_runs(site.root)
    assert ledger(site, 2) == [("resume", "session_unknown"), ("spawn", "reported")]
    assert site.job(2)["retries"] == 0
    assert (first.session_id == second.session_id) is way.same_after_unknown
    assert site.task("010")["session_id"] == second.session_id
    assert site.task("010")["session"]["started"] is True
    assert "Execute task 010" in second.prompt
    assert "Use RS256" in second.prompt


def test_a_session_that_began_and_was_lost_is_an_error_with_choices(begin: Begin) -> None:
    """ "a started session that the CLI has lost is an error … Never silently a fresh session"."""
    site = begin(LOSES)
    site.sow(*SPAWN)
    session = site.task("010")["session_id"]
    forget_sessions(site)
    lost: Result = site.sow(*RESUME, expect=5)
    assert f"no longer knows session {session} of task 010" in lost.out
    assert "Restore the CLI's own session files" in lost.err
    assert "sow agent spawn implementer 010 --fresh" in lost.err
    assert ledger(site, 2) == [("resume", "session_unknown")]
    assert len(read_runs(site.root)) == 1
    assert site.task("010")["session_id"] == session
    site.sow(*SPAWN, "--fresh")
    assert site.task("010")["session_id"] != session
