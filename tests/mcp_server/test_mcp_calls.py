"""The processes behind a client's calls: how many, for how long, and that none is left behind."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.abc import Process
from journeys.site import wait_until
from mcp_server.place import Json, Place, call, run

from sow.mcp_server.calls import MOST_AT_ONCE, Calls, Limits
from sow.mcp_server.tool import Line

pytestmark = pytest.mark.slow


class Silent:
    """A server that takes connections and never says a word."""

    def __init__(self, listening: socket.socket) -> None:
        self.listening = listening
        self.taken: list[socket.socket] = []
        self.address = f"https://127.0.0.1:{listening.getsockname()[1]}"

    def take(self, count: int) -> None:
        """Wait until so many more have connected."""
        self.taken += [self.listening.accept()[0] for _ in range(count)]

    def askers(self) -> list[int]:
        """Return the processes of git that ask it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.address.encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
        return found


@pytest.fixture
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(120)
        server = Silent(listening)
        yield server
        for each in server.taken:
            each.close()


def test_a_call_that_gets_no_turn_says_so_and_nothing_is_left_of_those_before_it(
    place: Place, silent: Silent
) -> None:
    """They wait for a server that is silent; cancelled, they take their git along."""
    place.limits = Limits(turn_seconds=0.5)

    async def work() -> None:
        async with place.client() as client:
            async with anyio.create_task_group() as group:
                for number in range(MOST_AT_ONCE):
                    given = {"url": f"{silent.address}/{number}.git", "id": f"id-{number}"}
                    group.start_soon(client.call_tool, "refs_add", given)
                await anyio.to_thread.run_sync(silent.take, MOST_AT_ONCE)
                answer = await call(client, "task_list")
                (error,) = answer["results"]
                assert (answer["exit_code"], error["error"]["kind"]) == (6, "queue")
                assert "4 other calls run" in error["error"]["message"]
                assert error["error"]["message"].count("sow refs add") == MOST_AT_ONCE
                assert "Nothing was done" in error["error"]["hint"]
                group.cancel_scope.cancel()
            answer = await call(client, "task_list")
            assert answer["exit_code"] == 0
            await anyio.to_thread.run_sync(wait_until, lambda: not silent.askers(), "no git")

    run(work)


def test_many_calls_at_once_wait_for_their_turns(place: Place) -> None:
    async def work() -> None:
        answers: list[Json] = []
        async with place.client() as client, anyio.create_task_group() as group:

            async def ask() -> None:
                answers.append(await call(client, "agent_log", text="Did it", task="010"))

            for _ in range(3 * MOST_AT_ONCE):
                group.start_soon(ask)
        assert [answer["exit_code"] for answer in answers] == [0] * 3 * MOST_AT_ONCE

    run(work)
    assert len(place.json("task", "log", "010")) == 3 * MOST_AT_ONCE


def test_a_command_that_prints_too_much_is_ended_with_words(place: Place) -> None:
    place.limits = Limits(most_bytes=700)

    async def work() -> None:
        async with place.client() as client:
            answer = await call(client, "agent_list")
            (error,) = answer["results"]
            assert (answer["exit_code"], error["error"]["kind"]) == (4, "state")
            assert error["error"]["message"] == "`sow agent list` prints more than 700 bytes"
            with pytest.raises(Exception, match="prints more than 700 bytes"):
                await client.read_resource("sow://status")

    run(work)


@pytest.fixture
def hears_in_loop() -> Iterator[None]:
    """Have asyncio hear of a child's end in its loop, as it does from Python 3.12 on."""
    if sys.platform != "linux":
        pytest.skip("needs pidfd_open")
    if sys.version_info >= (3, 12):
        yield
        return
    policy = asyncio.get_event_loop_policy()
    policy.set_child_watcher(asyncio.PidfdChildWatcher())
    yield
    policy.set_child_watcher(None)


class EndsUnheard:
    """A process that has ended whenever somebody looks; asyncio has not heard of it then."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def returncode(self) -> int | None:
        with suppress(ChildProcessError):  # it was collected
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        return self._process.returncode

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)


@pytest.mark.usefixtures("hears_in_loop")
def test_a_process_that_is_asked_to_leave_when_it_has_just_ended_keeps_its_exit_code(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started: list[Process] = []
    open_process = anyio.open_process

    async def open_one(*words: Any, **settings: Any) -> EndsUnheard:
        started.append(await open_process(*words, **settings))
        return EndsUnheard(started[0])

    monkeypatch.setattr(anyio, "open_process", open_one)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(Calls(place.environ, place.root).run, Line(("--version",)))
            while not started:
                await anyio.sleep(0)
            group.cancel_scope.cancel()
        assert started[0].returncode == 0

    run(work)
    assert caplog.text == ""
