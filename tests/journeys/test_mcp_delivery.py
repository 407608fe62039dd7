"""When an outcome counts as told to a client of `sow mcp`: once its answer has been written.

A client that reads nothing lets its server's answers pile up, so that each moment can be held.
"""

import fcntl
import json
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import termios
from contextlib import closing
from pathlib import Path

import pytest
from journeys.callers import (
    await_end,
    await_runs,
    await_state,
    await_waiters,
    claimants_of,
    gate,
    good,
    open_gate,
    queue_lock,
    task_lock,
)
from journeys.mcp_clients import HELLO, ask, calls_of, greeted, hear, say
from journeys.site import Site, wait_until
from mcp_server.place import Json

from sow.mcp_server.calls import MOST_AT_ONCE, MOST_WAITS
from sow.schema.job import JobState

FILLERS = range(100, 108)
"""Requests whose answers are more than a pipe holds."""
FULL = 60_000
"""Bytes in a pipe that takes no more of a long message: Linux gives it 65,536."""
SPAWN = 2
MOST_THREADS = 40
"""That anyio starts for what would block; each of them can read a client's words, or wait."""


def in_escrow(site: Site) -> list[str]:
    """Return the escrows that hold an outcome."""
    with closing(sqlite3.connect(site.root / ".sow/run/queue.db")) as queue:
        return [row[0] for row in queue.execute("select id from waiter where id like 'm%'")]


def bells(site: Site) -> list[str]:
    return [path.name for path in (site.root / ".sow/run/waiters").glob("m*.bell")]


def unread(server: "subprocess.Popen[str]") -> int:
    """Return how many bytes of a server's answers lie in the pipe."""
    assert server.stdout is not None
    return int.from_bytes(fcntl.ioctl(server.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)


def server_that_has_told(site: Site) -> "subprocess.Popen[str]":
    """Start a server whose client reads nothing, and have it hold an answer with an outcome."""
    site.project("010")
    site.script([good(gate("go"))])
    (site.task_folder("010") / "description.md").write_text("Long. " * 4_000)
    server = greeted(site)
    ask(server, SPAWN, "agent_spawn", agent="implementer", tasks=["010"])
    await_waiters(site, "010")
    await_runs(site)
    for number in FILLERS:
        ask(server, number, "task_show", tasks=["010"], description=True)
    wait_until(lambda: unread(server) > FULL, "the pipe is full")
    open_gate(site, "go")
    await_end(site, "010")
    wait_until(lambda: not calls_of(site), "the outcome was printed")
    wait_until(lambda: in_escrow(site), "it waits to be written")
    return server


def heard_until(server: "subprocess.Popen[str]", numbers: set[int]) -> dict[int, Json]:
    """Read a server's messages until these requests are answered."""
    heard: dict[int, Json] = {}
    while not numbers <= set(heard):
        message = hear(server)
        if "id" in message:
            heard[message["id"]] = message
    return heard


def has_heard_signal(server: "subprocess.Popen[str]") -> bool:
    """Whether no signal waits for a server."""
    status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return all(int(line.split()[1], 16) == 0 for line in status if line.startswith("ShdPnd"))


def is_leaving(call: int) -> bool:
    """Whether a call has taken its first signal, and ignores what follows."""
    status = Path(f"/proc/{call}/status").read_text().splitlines()
    (ignored,) = [int(line.split()[1], 16) for line in status if line.startswith("SigIgn")]
    return bool(ignored & 1 << signal.SIGINT - 1)


def is_owed(site: Site) -> bool:
    return bool(site.sow("agent", "wait", "010", "--json").json["owed"])


def test_an_outcome_that_was_read_is_owed_to_nobody(site: Site) -> None:
    server = server_that_has_told(site)
    answer = heard_until(server, {SPAWN, *FILLERS})[SPAWN]
    assert answer["result"]["structuredContent"]["results"][0]["status"] == "needs_review"
    wait_until(lambda: not in_escrow(site) and not bells(site), "it counts as told")
    assert not is_owed(site)
    server.kill()
    server.wait()


@pytest.mark.one_of("outcomes of which a client has not heard")
def test_a_call_that_is_cancelled_before_its_answer_was_written_is_owed_its_outcome(
    site: Site,
) -> None:
    server = server_that_has_told(site)
    (escrow,) = in_escrow(site)
    assert f"{escrow}.bell" in bells(site)
    say(server, method="notifications/cancelled", params={"requestId": SPAWN})
    wait_until(lambda: f"{escrow}.bell" not in bells(site), "the call was given up")
    heard_until(server, set(FILLERS))
    ask(server, 3, "agent_wait", tasks=["010"])
    heard = heard_until(server, {3})
    (outcome,) = heard[3]["result"]["structuredContent"]["results"]
    assert (outcome["owed"], outcome["status"]) == (True, "needs_review")
    server.kill()
    server.wait()


@pytest.mark.one_of
@pytest.mark.parametrize("loss", ["cancelled", signal.SIGTERM])
def test_a_call_that_has_to_leave_before_its_job_is_queued_is_owed_nothing(
    site: Site, loss: str | signal.Signals
) -> None:
    site.project("010")
    site.script([good()])
    server = greeted(site)
    with task_lock(site):
        # Its job is queued by a commit of its own: so is not the first turn of a task otherwise.
        ask(server, SPAWN, "agent_spawn", agent="implementer", tasks=["010"], fresh=True)
        await_state(site, "010", JobState.PREPARING)
        (call,) = calls_of(site)
        if isinstance(loss, signal.Signals):
            server.send_signal(loss)
        else:
            say(server, method="notifications/cancelled", params={"requestId": SPAWN})
        wait_until(lambda: is_leaving(call), "it was told to leave")
    wait_until(lambda: not calls_of(site), "the call is over")
    assert await_end(site, "010").state is JobState.CANCELLED
    assert claimants_of(site, 1) == []
    assert site.task("010")["status"] == "pending"
    server.kill()
    server.communicate()


@pytest.mark.one_of("outcomes of which a client has not heard")
def test_a_call_that_is_cancelled_as_its_answer_comes_is_owed_its_outcome_again(
    site: Site,
) -> None:
    """By the protocol a client that has cancelled a call does not look at its answer."""
    server = server_that_has_told(site)
    heard_until(server, {SPAWN, *FILLERS})
    wait_until(lambda: not in_escrow(site), "it counts as told")
    say(server, method="notifications/cancelled", params={"requestId": SPAWN})
    wait_until(lambda: in_escrow(site), "it is owed again")
    assert is_owed(site)
    assert not is_owed(site)
    server.kill()
    server.wait()


@pytest.mark.one_of("outcomes of which a client has not heard")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_a_server_that_goes_before_its_answer_was_written_owes_the_outcome(
    site: Site, how: signal.Signals | None
) -> None:
    """So it is where its client goes (None): nobody reads standard output, or writes to it."""
    server = server_that_has_told(site)
    if how is None:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        server.stdout.close()
        server.stdin = server.stdout = None
    else:
        server.send_signal(how)
    server.wait(timeout=240)
    assert is_owed(site)
    assert not is_owed(site)


def test_what_other_commands_tell_a_client_lies_in_an_escrow_too(site: Site) -> None:
    """`job show` and `job wait` tell an outcome that was owed to somebody else."""
    site.project("010")
    site.script([good(gate("go"))])
    caller = site.start("agent", "spawn", "implementer", "010")
    await_waiters(site, "010")
    await_runs(site)  # one that dies sooner has started no worker
    site.kill(caller.pid)
    open_gate(site, "go")
    await_end(site, "010")
    for tool, arguments in (("job_show", {"job": "1"}), ("job_wait", {"jobs": ["1"]})):
        server = greeted(site, "--tools", "all")
        ask(server, 2, tool, **arguments)
        assert hear(server)["result"]["structuredContent"]["exit_code"] == 0
        wait_until(lambda: not in_escrow(site), "it counts as told")
        say(server, method="notifications/cancelled", params={"requestId": 2})
        wait_until(lambda: in_escrow(site), "it is owed again")
        server.kill()
        server.wait()
    assert is_owed(site)


@pytest.mark.one_of("outcomes of which a client has not heard")
def test_a_server_that_is_told_to_leave_finishes_what_it_owes_again(site: Site) -> None:
    server = server_that_has_told(site)
    heard_until(server, {SPAWN, *FILLERS})
    wait_until(lambda: not in_escrow(site), "it counts as told")
    with queue_lock(site):
        say(server, method="notifications/cancelled", params={"requestId": SPAWN})
        say(server, id=3, method="ping")
        heard_until(server, {3})
        server.terminate()
        wait_until(lambda: server.poll() is not None or has_heard_signal(server), "it was told")
    server.wait(timeout=240)
    assert is_owed(site)


def test_a_locked_queue_holds_up_nothing_else_that_a_client_says(site: Site) -> None:
    """Each look at it takes a thread for long, and the client's streams need threads too."""
    server = server_that_has_told(site)
    heard_until(server, {SPAWN, *FILLERS})
    requests = range(200, 200 + 3 * MOST_WAITS)
    for first in requests[::MOST_WAITS]:
        waits = range(first, first + MOST_WAITS)
        for number in waits:
            ask(server, number, "agent_wait", tasks=["010"])
        heard_until(server, set(waits))
    wait_until(lambda: not in_escrow(site) and not bells(site), "they count as told")
    with queue_lock(site):
        for number in requests:
            say(server, method="notifications/cancelled", params={"requestId": number})
        say(server, id=3, method="ping")
        heard_until(server, {3})
        assert len(list(Path(f"/proc/{server.pid}/task").iterdir())) < MOST_THREADS
    server.kill()
    server.wait()


def test_only_calls_that_run_hold_an_escrow(site: Site) -> None:
    """A client may say a thousand things at once; a server has that many open files in all."""
    server = server_that_has_told(site)
    for number in range(200, 260):
        ask(server, number, "task_show", tasks=["010"])
    heard_until(server, {SPAWN, *FILLERS, 200})
    assert len(bells(site)) <= 2 * MOST_AT_ONCE
    server.kill()
    server.wait()


def test_a_client_on_one_socket_that_goes_without_reading_is_no_fault(site: Site) -> None:
    """So socat and inetd start a server. The kernel tells it with another error than of a pipe."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = site.start("mcp", stdin=theirs, stdout=theirs)
        theirs.close()
        ours.sendall(f"{json.dumps(HELLO)}\n".encode())
        wait_until(lambda: select.select([ours], [], [], 0)[0], "an answer lies there")
    _, err = server.communicate(timeout=240)
    assert (server.returncode, err) == (0, "")
