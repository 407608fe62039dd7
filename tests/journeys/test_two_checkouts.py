"""A job that another checkout runs: its work goes there and comes home by refs of the remote."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from journeys.callers import good, report
from journeys.gitsite import commit, git
from journeys.site import wait_until
from journeys.staff import shell_executor, start_worker
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
    names = sorted(name.partition(":")[2] for (name,) in pair.ask("select name from host"))
    roots = sorted({str(pair.owner.root), str(pair.host.root)})
    assert sorted(set(names)) == roots, "an agent's commands are its host's"


def test_caller_and_host_are_roles_that_hear_the_queue_and_bring_their_own_path(
    pair: Pair,
) -> None:
    evil = pair.owner.base / "evil/claude"
    evil.parent.mkdir()
    evil.write_text(f"#!/bin/sh\ntouch {pair.owner.base}/ran\nexit 1\n")
    evil.chmod(0o755)
    pair.give_roles()
    pair.begin("010", "020", script=[good(pair.gate("{task}"))])
    worker = start_worker(pair.host)
    path = f"{evil.parent}:{pair.owner.environment()['PATH']}"
    waiting = pair.owner.start("agent", "spawn", "implementer", "010", env={"PATH": path})
    pair.await_runs(pair.host, 1)
    with pair.connected() as connection:

        def listeners() -> list[str]:
            sql = """
                select distinct usename from pg_stat_activity
                 where query like 'listen %%' and usename = any(%s) order by 1
            """
            return [str(row[0]) for row in connection.execute(sql, (pair.roles,))]

        wait_until(lambda: listeners() == pair.roles, "both hear the queue")
    pair.open_gate("010")
    out, errors = waiting.communicate(timeout=300)
    assert out.startswith("010 needs_review"), errors
    pair.host.sow("worker", "stop")
    assert "error" not in worker.log_text.lower(), "nothing that a worker does is refused"
    assert pair.owner.job(1)["state"] == "done"
    assert not (pair.owner.base / "ran").exists()
    pair.owner.sow("agent", "spawn", "implementer", "020", "--detach", expect=None)
    pair.owner.sow("agent", "cancel", "020")
    assert pair.owner.task("020")["status"] == "pending"


BOTH = """
if [ "$SOW_AGENT" = reviewer ]; then
    sow review accept {task} --summary Good.
else
    echo "made on the host" >{task}.txt
    sow task set status needs_review
fi
"""
"""What agents do, by their role: each clone counts the runs in it alone."""


def test_a_batch_at_home_has_its_authors_elsewhere(pair: Pair) -> None:
    """The owner's worker drives it: reviews, checks and merges are jobs of home."""
    yolo = {"type": "claude", "settings": {"yolo_mode": True}}
    agents = {
        "executors": {"far": yolo, "near": yolo},
        "bindings": {"implementer": "far", "reviewer": "near"},
    }
    pair.begin("010", "020", script=[[{"shell": BOTH}]], agents=agents)
    pair.configure(pair.owner, "sow", executors=["near"], agents=agents)
    there, here = start_worker(pair.host), start_worker(pair.owner)
    result = pair.owner.sow("batch", "run", "--review", "--merge", expect=None)
    print(result.out, result.err, there.log_text, here.log_text)
    assert result.code == 0, result
    for task in ("010", "020"):
        assert git(pair.owner, "show", f"main:{task}.txt") == "made on the host\n"
        assert pair.owner.task(task)["status"] == "completed"


def test_a_session_goes_on_where_it_lies_and_anew_once_that_host_is_not_heard(pair: Pair) -> None:
    by_turn = [
        good({"shell": "echo work >>made.txt"}),
        good({"shell": "echo more >>made.txt"}),
    ]
    agents = {"executors": {"claude-code": {"type": "claude", "settings": {"yolo_mode": True}}}}
    pair.begin("010", script=by_turn, agents=agents)
    owner, host = pair.owner, pair.host
    there = start_worker(host)
    owner.sow("agent", "spawn", "implementer", "010")
    here = start_worker(owner)
    owner.sow("agent", "resume", "010", "Go on.")
    first, second = pair.runs(host)
    assert (second.session_id, second.cwd) == (first.session_id, first.cwd)
    assert git(owner, "show", f"{pair.branch_of('010')}:made.txt") == "work\nmore\n"
    assert pair.runs(owner) == []

    there.kill()
    pair.ask("update host set heard_at = heard_at - 500 where id <> %s", here.name.split("@")[1])
    owner.sow("agent", "resume", "010", "And again.")
    (third,) = pair.runs(owner)
    assert third.session_id != first.session_id
    assert "You take this task over from another agent" in third.prompt
    assert "And again." in third.prompt
    (warning,) = pair.job(3)["warnings"]
    assert warning.startswith(f"session {first.session_id} lies on ")
    assert git(owner, "show", f"{pair.branch_of('010')}:made.txt") == "work\nmore\nwork\n"
    assert pair.log_of("010").count("Continues in a new session") == 1


def test_anywhere_is_where_the_session_does_not_lie_as_well(pair: Pair) -> None:
    pair.begin("010", script=[good()])
    there = start_worker(pair.host)
    pair.owner.sow("agent", "spawn", "implementer", "010")
    there.signal(signal.SIGTERM)
    assert there.wait() == 0
    start_worker(pair.owner)
    waits = pair.owner.sow("agent", "resume", "010", "Go on.", "--wait", "3s", expect=75)
    assert pair.runs(pair.owner) == [], waits
    pair.owner.sow("agent", "cancel", "010")
    pair.owner.sow("agent", "resume", "010", "Go on.", "--anywhere")
    (run,) = pair.runs(pair.owner)
    assert "You take this task over from another agent" in run.prompt


def test_what_an_agent_has_made_comes_home_however_its_job_ends(pair: Pair) -> None:
    """One is cancelled while it runs, one asks and is answered; neither has committed anything."""
    paused = [{"write": ["asked.txt", "half\n"]}, report("paused")]
    runs = [{"write": ["{task}.txt", "half\n"]}, pair.gate("{task}")]
    pair.begin("010", "020", script=[runs])
    pair.owner.script([paused, good({"write": ["asked.txt", "whole\n"]})], task="020")
    commit(pair.owner)
    start_worker(pair.host)
    pair.owner.sow("agent", "spawn", "implementer", "010", "--detach")
    pair.await_runs(pair.host, 1)
    clones = pair.host.base / "home/.local/state/sow/clones"
    wait_until(lambda: [*clones.glob("*/*/010/010.txt")], "it has written its file")
    pair.owner.sow("agent", "cancel", "010")
    wait_until(lambda: pair.job(1)["ended_at"], "it is cancelled")
    assert pair.owner.sow("agent", "wait", "010", expect=None).code == 7
    assert pair.owner.task("010")["status"] == "paused"
    assert git(pair.owner, "show", f"{pair.branch_of('010')}:010.txt") == "half\n"

    asks = pair.owner.sow("agent", "spawn", "implementer", "020", expect=None)
    assert asks.out.startswith("020 paused"), asks
    assert git(pair.owner, "show", f"{pair.branch_of('020')}:asked.txt") == "half\n"
    pair.owner.sow("agent", "answer", "020", "It is blue.")
    first, second = (run for run in pair.runs(pair.host) if run.task == "020")
    assert second.session_id == first.session_id
    assert "It is blue." in second.prompt
    assert git(pair.owner, "show", f"{pair.branch_of('020')}:asked.txt") == "whole\n"


def test_what_nobody_can_read_is_refused_and_the_rest_comes_home(pair: Pair) -> None:
    pair.begin("010", script=[good({"write": ["made.txt", "x"]}, pair.gate("told"))])
    start_worker(pair.host)
    pair.owner.sow("agent", "spawn", "implementer", "010", "--detach")
    pair.await_runs(pair.host, 1)
    odd = ["{", "", "null", "7", '["\\ud800"]', "[" * 100_000, '{"a":' + "[" * 100_000, "{}"]
    kinds = [*("log", "file", "task") * 8, *(f"sudo {number}" for number in range(30))]
    for place, kind in enumerate(kinds, start=1):
        pair.ask(
            "insert into event (job_id, attempt, place, kind, data) values (1, 1, %s, %s, %s)",
            *(place, kind, odd[place % len(odd)]),
        )
    pair.open_gate("told")
    result = pair.owner.sow("agent", "wait", "010")
    assert result.out.startswith("010 needs_review"), result
    assert git(pair.owner, "show", f"{pair.branch_of('010')}:made.txt") == "x"
    warnings = pair.job(1)["warnings"]
    assert len(warnings) == 21, warnings
    assert warnings[-1] == "more than 20 of what its hosts have told was not taken"


def test_a_push_that_fails_queues_nothing(pair: Pair) -> None:
    pair.begin("010")
    shutil.rmtree(pair.remote)
    refused = pair.owner.sow("agent", "spawn", "implementer", "010", expect=4)
    assert "pushing to the remote origin" in refused.err
    assert pair.owner.task("010")["status"] == "pending"
    assert pair.job(1)["state"] == "cancelled"
    near = pair.owner.sow("agent", "spawn", "implementer", "010", "--no-clone", "--detach")
    assert near.code == 0


HALVES = """
if [ -e made.txt ]; then
    echo more >>made.txt
    sow task set status needs_review
else
    echo work >made.txt
    sow agent log "First half"
    exit 1
fi
"""


@pytest.mark.parametrize("goes_on", ["at home", "on a third host"])
def test_the_next_attempt_begins_with_what_the_last_one_left_on_a_host_that_is_gone(
    pair: Pair, goes_on: str
) -> None:
    executors = {"halves": shell_executor(pair.owner, "halves", HALVES, retries=1)}
    agents = {"executors": executors, "bindings": {"implementer": "halves"}}
    if goes_on != "at home":
        pair.give_roles()
    pair.begin("010", agents=agents)
    there = start_worker(pair.host)
    pair.owner.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: pair.job(1)["retry_at"], "its first attempt has failed")
    there.kill()
    pair.ask("update host set heard_at = heard_at - 500")
    pair.ask("update job set retry_at = 1")
    next_one = pair.owner if goes_on == "at home" else pair.add_host("third", agents=agents)
    worker = start_worker(next_one)
    assert pair.owner.sow("agent", "wait", "010").out.startswith("010 needs_review"), worker.log
    assert [each["cause"] for each in pair.job(1)["attempts"]] == ["crashed", "reported"]
    assert git(pair.owner, "show", f"{pair.branch_of('010')}:made.txt") == "work\nmore\n"
    assert pair.log_of("010").count("First half") == 1
    assert pair.job(1)["warnings"] == []
