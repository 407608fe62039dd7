"""Command lines of sow, each run as a process of its own for a client.

Owns the processes: how many there are at once, that they are asked to leave
where nobody waits for them any more, and that none is left behind. A call that waits goes in good
order then (`sow.cli.detaching`): its jobs go on, and their outcomes are owed.
"""

import errno
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process
from msgspec import Struct

from sow import env_vars
from sow.environment import own_environment, own_process
from sow.errors import QueueError, StateError, UsageError
from sow.mcp_server.answers import Ended
from sow.mcp_server.tool import Line

MOST_WAITS = 16
"""How many calls may wait at once; each is a process."""
MOST_AT_ONCE = 4
"""How many others run at once; the rest wait for a turn."""
GRACE_SECONDS = 5.0
"""How long a process has to leave before it is killed."""


class Limits(Struct, frozen=True):
    """How much a client may have at once."""

    turn_seconds: float = 25.0
    """How long a call waits for its turn: half of what a tool waits, so that the other half is left
    for the call itself."""
    most_bytes: int = 16 << 20
    """Of what a command prints. It is held in memory."""


USUAL = Limits()


class Calls:
    """Runs command lines in one folder with one environment."""

    def __init__(
        self,
        environ: Mapping[str, str],
        folder: Path,
        encoding: str = "utf-8",
        limits: Limits = USUAL,
    ) -> None:
        self._environ = own_environment(environ)
        self._folder = folder
        self._encoding = encoding
        self._waits = 0
        self._turns = anyio.Semaphore(MOST_AT_ONCE)
        self._limits = limits
        self._running: list[str] = []
        self._live: set[Process] = set()
        self._closed = False

    async def run(self, line: Line, escrow: str | None = None) -> Ended:
        """Run a command line to its end. Cancelled, it asks the process to leave first.

        Call it within a `turn`. `escrow` is where it puts the outcomes that it prints.
        Raises UsageError, StateError.
        """
        process = await self._start(line, escrow)
        self._live.add(process)
        try:
            ended = await self._to_its_end(process, line)
        finally:
            with anyio.CancelScope(shield=True):
                await _see_out(process)
            self._live.discard(process)
        return ended

    def turn(self, line: Line) -> AbstractAsyncContextManager[None]:
        """Wait until a call may run; what it needs is taken then.

        A client may have said a thousand things at once, and a process has as many open files.
        Raises QueueError.
        """
        return self._turn(line) if line.seconds is None else self._wait()

    @asynccontextmanager
    async def _turn(self, line: Line) -> AsyncIterator[None]:
        """Let a call that does not wait run as one of a few."""
        with anyio.move_on_after(self._limits.turn_seconds) as waiting:
            await self._turns.acquire()
        if waiting.cancelled_caught:
            seconds = self._limits.turn_seconds
            running = self._running
            raise QueueError(
                f"{MOST_AT_ONCE} other calls run, and none of them has ended in {seconds:g} s:"
                f" {', '.join(running)}",
                hint="Nothing was done. Call again when one of them has ended, or cancel one.",
            )
        self._running.append(line.command)
        try:
            yield
        finally:
            self._running.remove(line.command)
            self._turns.release()

    @asynccontextmanager
    async def _wait(self) -> AsyncIterator[None]:
        if self._waits >= MOST_WAITS:
            raise QueueError(
                f"{MOST_WAITS} calls wait already",
                hint="Wait for several tasks in one call, or begin with `detach`.",
            )
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1

    async def close(self) -> None:
        """Ask all processes to leave, and return when they have."""
        self._closed = True
        async with anyio.create_task_group() as group:
            for process in list(self._live):
                group.start_soon(_end, process)

    async def _start(self, line: Line, escrow: str | None) -> Process:
        if self._closed:
            raise anyio.ClosedResourceError
        own = {env_vars.ESCROW: escrow} if escrow else {}
        try:
            with anyio.CancelScope(shield=True):  # else a process would be left that nobody knows
                process = await anyio.open_process(
                    own_process("sow", *line.words),
                    stdin=subprocess.DEVNULL if line.text is None else subprocess.PIPE,
                    cwd=self._folder,
                    env={**self._environ, **own},
                )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise UsageError(
                    "the arguments are too long in all", hint="Name less at once."
                ) from error
            remedy = (
                "Call again when fewer processes run and fewer files are open; where that does not"
                " help, have your client start `sow mcp` anew."
            )
            if not self._folder.is_dir():
                remedy = (
                    "Put the folder back, or have your client start `sow mcp` in the one where the"
                    " repository lies now."
                )
            reason = (error.strerror or str(error)).lower()
            raise StateError(
                f"no command can be started in {self._folder}: {reason}",
                hint=f"Nothing was done. {remedy}",
            ) from error
        return process

    async def _to_its_end(self, process: Process, line: Line) -> Ended:
        output, errors, most = bytearray(), bytearray(), self._limits.most_bytes
        async with anyio.create_task_group() as group:
            if line.text is not None:
                group.start_soon(_feed, process, line.text.encode())
            for stream, into in ((process.stdout, output), (process.stderr, errors)):
                group.start_soon(_read, stream, into, most, group.cancel_scope)
        if max(len(output), len(errors)) > most:
            command = line.command
            raise StateError(
                f"`{command}` prints more than {most} bytes",
                hint="Ask for less at once: with `last`, `limit` or `since`,"
                " where the tool has them.",
            )
        exit_code = await process.wait()
        words = [bytes(each).decode(self._encoding, "replace") for each in (output, errors)]
        return Ended(exit_code if exit_code >= 0 else 128 - exit_code, *words)


async def _feed(process: Process, data: bytes) -> None:
    """Give a process what it reads; one that does not read it has ended, or will."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    try:
        await process.stdin.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return
    finally:
        await process.stdin.aclose()


async def _read(
    stream: ByteReceiveStream | None, into: bytearray, most: int, reading: anyio.CancelScope
) -> None:
    """Read all of a stream; of a process that prints too much nothing more is read."""
    assert stream is not None  # noqa: S101 - it was asked for
    async for chunk in stream:
        into += chunk
        if len(into) > most:
            reading.cancel()


async def _see_out(process: Process) -> None:
    """End a process whose streams nobody reads any more, and close them.

    What it still prints is read: else it might stand in the middle of that, and could not leave.
    """
    async with anyio.create_task_group() as group:
        for stream in (process.stdout, process.stderr):
            group.start_soon(_drain, stream)
        await _end(process)
        group.cancel_scope.cancel()
    for each in (process.stdin, process.stdout, process.stderr):
        if each is not None:
            await each.aclose()


async def _drain(stream: ByteReceiveStream | None) -> None:
    assert stream is not None  # noqa: S101 - it was asked for
    async for _ in stream:
        pass


async def _end(process: Process) -> None:
    """Return when a process has ended: it is interrupted, and killed where it does not leave.

    Interrupted as at a terminal: a command takes a git or a gh along then that it has started.
    """
    for signum in (signal.SIGINT, signal.SIGKILL):
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it has just ended
                # Not by `send_signal`: that collects a process that has just ended, and asyncio,
                # which comes too late then, writes to stderr and tells 255 as its exit code.
                os.kill(process.pid, signum)
            with anyio.move_on_after(GRACE_SECONDS if signum is signal.SIGINT else None):
                await process.wait()
