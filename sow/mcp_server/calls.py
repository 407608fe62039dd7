"""Command lines of sow, each run as a process of its own for a client.

Owns the processes: how many there are at once, that they are asked to leave
where nobody waits for them any more, and that none is left behind. A call that waits goes in good
order then (`sow.cli.detaching`): its jobs go on, and their outcomes are owed.
"""

import errno
import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process

from sow.environment import own_environment, own_process
from sow.errors import QueueError, UsageError
from sow.mcp_server.answers import Ended
from sow.mcp_server.tool import Line

MOST_WAITS = 16
"""How many calls may wait at once; each is a process."""
MOST_AT_ONCE = 4
"""How many others run at once; the rest queue up."""
MOST_BYTES = 16 << 20
"""Of what a command prints. It is held in memory."""
GRACE_SECONDS = 5.0
"""How long a process has to leave before it is killed."""


class TooManyWaits(QueueError):
    """A client waits for too much at once."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST_WAITS} calls wait already",
            hint="Wait for several tasks in one call, or begin with `detach`.",
        )


class TooLong(UsageError):
    """The arguments of a call are more than the system gives to a process."""

    def __init__(self) -> None:
        super().__init__("the arguments are too long in all", hint="Name less at once.")


class Calls:
    """Runs command lines in one folder with one environment."""

    def __init__(self, environ: Mapping[str, str], folder: Path, encoding: str = "utf-8") -> None:
        self._environ = own_environment(environ)
        self._folder = folder
        self._encoding = encoding
        self._waits = 0
        self._turns = anyio.Semaphore(MOST_AT_ONCE)
        self._live: set[Process] = set()
        self._closed = False

    async def run(self, line: Line) -> Ended:
        """Run a command line to its end. Cancelled, it asks the process to leave first.

        Raises TooManyWaits and TooLong.
        """
        if line.seconds is None:
            await self._turns.acquire()
            try:
                return await self._run(line)
            finally:
                self._turns.release()
        if self._waits >= MOST_WAITS:
            raise TooManyWaits
        self._waits += 1
        try:
            return await self._run(line)
        finally:
            self._waits -= 1

    async def close(self) -> None:
        """Ask all processes to leave, and return when they have."""
        self._closed = True
        async with anyio.create_task_group() as group:
            for process in list(self._live):
                group.start_soon(_see_out, process)

    async def _run(self, line: Line) -> Ended:
        process = await self._start(line)
        self._live.add(process)
        try:
            ended = await self._to_its_end(process, line.text)
        finally:
            with anyio.CancelScope(shield=True):
                await _see_out(process)
            self._live.discard(process)
        return ended

    async def _start(self, line: Line) -> Process:
        if self._closed:
            raise anyio.ClosedResourceError
        try:
            with anyio.CancelScope(shield=True):  # else a process would be left that nobody knows
                process = await anyio.open_process(
                    own_process("sow", *line.words),
                    stdin=subprocess.DEVNULL if line.text is None else subprocess.PIPE,
                    cwd=self._folder,
                    env=self._environ,
                )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise TooLong from error
            raise
        return process

    async def _to_its_end(self, process: Process, text: str | None) -> Ended:
        output, errors = bytearray(), bytearray()
        async with anyio.create_task_group() as group:
            if text is not None:
                group.start_soon(_feed, process, text.encode())
            group.start_soon(_read, process, process.stdout, output)
            group.start_soon(_read, process, process.stderr, errors)
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


async def _read(process: Process, stream: ByteReceiveStream | None, into: bytearray) -> None:
    """Read all of a stream, as far as there is room for it; who prints more is ended."""
    assert stream is not None  # noqa: S101 - it was asked for
    async for chunk in stream:
        if len(into) < MOST_BYTES:
            into += chunk
        elif process.returncode is None:
            process.kill()


async def _see_out(process: Process) -> None:
    """Return when a process has left: it is asked to, and killed where it does not."""
    if process.returncode is None:
        _signal(process, kill=False)
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
    if process.returncode is None:
        _signal(process, kill=True)
        await process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()


def _signal(process: Process, *, kill: bool) -> None:
    try:
        process.kill() if kill else process.terminate()
    except ProcessLookupError:  # it has just ended
        return
