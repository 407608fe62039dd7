"""`sow mcp` as a process: its standard streams, its signals, its end.

Standard output belongs to the protocol; while it serves, descriptor 1 is
standard error, so that nothing else can get there. It ends when its client
closes standard input, and with INT, TERM or HUP; the calls that wait then are
left in good order first.
"""

import fcntl
import json
import os
import signal
import sys
from collections.abc import AsyncIterable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from sow.agents.rights import CallingAgent
from sow.errors import ExitCode
from sow.mcp_server.calls import Calls, Limits
from sow.mcp_server.escrow import Escrows
from sow.mcp_server.resources import forms_for
from sow.mcp_server.server import Offer, make_server
from sow.mcp_server.tool import Arguments, Tool
from sow.terminal_text import readable

LONGEST_NUMBER = 20
"""In digits; of those that go on for thousands, int() makes an error."""

Messages = AsyncIterable[SessionMessage | Exception]
LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Output(anyio.AsyncFile[str]):
    """Standard output as the protocol has it, which tells when a message has been written."""

    def __init__(self) -> None:
        """Take descriptor 1 away from all else: what is printed there goes to standard error."""
        private = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
        os.dup2(2, 1)
        # A thread may still write when the server ends: the number must not become another file's.
        super().__init__(open(private, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        self._written = anyio.Event()

    async def flush(self) -> None:
        """Write what is buffered: with the SDK's server, one message."""
        await super().flush()
        self._written.set()

    async def written(self) -> None:
        """Return when the next flush has ended since the last call."""
        await self._written.wait()
        self._written = anyio.Event()


async def pass_in(
    read: Messages,
    to_server: ObjectSendStream[SessionMessage | Exception],
    to_client: ObjectSendStream[SessionMessage],
    escrows: Escrows,
) -> None:
    """Pass on what a client says. What the SDK cannot read is answered, where it is a request."""
    async with to_server, to_client:
        async for item in read:
            if isinstance(item, ValidationError):
                if (number := _number_of(item)) is not None:
                    await to_client.send(_unreadable(number, item))
                continue
            if isinstance(item, SessionMessage):
                _hear(item.message, escrows)
            await to_server.send(item)


async def pass_out(
    answers: AsyncIterable[SessionMessage],
    to_client: ObjectSendStream[SessionMessage],
    output: Output,
    escrows: Escrows,
) -> None:
    """Pass on what the server says, one message after the other, each when the last was written."""
    async with to_client:
        async for item in answers:
            message = _writable(item.message)
            if message is None:
                continue
            await to_client.send(replace(item, message=message))
            await output.written()
            match message:
                case types.JSONRPCResponse(id=request):
                    escrows.written(request)
                case types.JSONRPCError(id=request):
                    escrows.gone(request)


def _hear(message: object, escrows: Escrows) -> None:
    """Tell of a call that its client has cancelled."""
    match message:
        case types.JSONRPCNotification(
            method="notifications/cancelled", params={"requestId": int() | str() as request}
        ):
            escrows.gone(request)


def _writable(message: types.JSONRPCMessage) -> types.JSONRPCMessage | None:
    """Return a message as it can be written; None of one that cannot, and answers nobody.

    The SDK's writer dies of what it cannot write, and the server with it. A file's name may hold
    bytes that are no UTF-8.
    """
    for made_fit in (_as_it_is, _with_readable_texts):
        try:
            found = made_fit(message)
            found.model_dump_json(by_alias=True, exclude_unset=True)
        except (ValueError, RecursionError):
            continue
        return found
    number = getattr(message, "id", None)
    if number is None or isinstance(message, types.JSONRPCRequest):
        return None
    why = "the answer cannot be written as JSON; what was done stands"
    data = types.ErrorData(code=types.INTERNAL_ERROR, message=why)
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=data)


def _as_it_is(message: types.JSONRPCMessage) -> types.JSONRPCMessage:
    return message


def _with_readable_texts(message: types.JSONRPCMessage) -> types.JSONRPCMessage:
    plain = message.model_dump(by_alias=True, exclude_unset=True)
    return type(message).model_validate(_readable(plain))


def _readable(value: Any) -> Any:
    match value:
        case str():
            return readable(value)
        case dict():
            return {_readable(key): _readable(each) for key, each in value.items()}
        case list():
            return [_readable(each) for each in value]
    return value


def _unreadable(number: int | str, error: ValidationError) -> SessionMessage:
    why = f"the message cannot be read: {error.errors()[0]['msg']}"
    data = types.ErrorData(code=types.INVALID_REQUEST, message=why)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=data))


def _number_of(error: ValidationError) -> int | str | None:
    """Return the number of the request that could not be read, where it tells one."""
    found = (_id_in(part["input"]) for part in error.errors())
    return next((each for each in found if each is not None), None)


def _id_in(message: object) -> int | str | None:
    """Return the number of a request: of its line, or of what was read of that.

    Python reads what the SDK does not: half of a surrogate pair, or an endless number.
    """
    if isinstance(message, str):
        try:
            message = json.loads(message, parse_int=_small)
        except (ValueError, RecursionError):
            return None
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _small(digits: str) -> int | None:
    return int(digits) if len(digits) < LONGEST_NUMBER else None


def offer_of(
    tools: Sequence[Tool],
    agent: CallingAgent | None,
    words_of_waiting: Callable[[Arguments], str] = lambda _: "",
    others: Collection[str] = (),
) -> Offer:
    """Return what is offered to a person's client (no agent), or to an agent of a job.

    `others` are the names of tools that `--tools all` would offer as well.
    """
    is_own = agent is not None and (agent.reviews or not agent.orchestrates)
    own_task = agent.task_id if agent is not None and is_own else None
    by_name = {tool.name: tool for tool in tools}
    return Offer(by_name, forms_for(own_task=own_task), is_own, words_of_waiting, others=others)


def serve(
    tools: Sequence[Tool],
    agent: CallingAgent | None,
    *,
    others: Collection[str],
    environ: Mapping[str, str],
    folder: Path,
    bound: float,
    words_of_waiting: Callable[[Arguments], str],
) -> None:
    """Serve one client on this process's standard streams until it has gone.

    `bound`: how long a tool waits at most, in seconds.
    """
    offer = offer_of(tools, agent, words_of_waiting, others)
    limits = Limits(turn_seconds=bound / 2)
    calls = Calls(environ, folder, sys.stdout.encoding, limits)
    anyio.run(_serve, offer, environ, folder, calls)


async def _serve(offer: Offer, environ: Mapping[str, str], folder: Path, calls: Calls) -> None:
    """Serve the client until it has gone. Raises OSError where it cannot be written to."""
    output = Output()
    escrows: Escrows | None = None
    failed: BaseException | None = None
    try:
        async with stdio_server(stdout=output) as (read, write), anyio.create_task_group() as group:
            escrows = Escrows(environ, folder, group)
            group.start_soon(_leave_when_told, calls, escrows)
            await _converse(make_server(offer, calls, escrows), read, write, output, escrows)
            await escrows.close()
            group.cancel_scope.cancel()
    except* (BrokenPipeError, ConnectionResetError):  # of a pipe, of a socket: the client has gone
        pass
    except* OSError as group:  # of a full disk, say
        failed = _first_in(group)
    finally:
        with anyio.CancelScope(shield=True):
            await _close(calls, escrows)
    if failed is not None:
        raise failed


def _first_in(group: BaseException) -> BaseException:
    """Return the first error of a group, which the command line shows as it shows its like."""
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


async def _converse(
    server: "Server[Any]",
    read: Messages,
    write: ObjectSendStream[SessionMessage],
    output: Output,
    escrows: Escrows,
) -> None:
    """Let the server talk with its client until that says no more, and all is written."""
    to_server, heard = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_client, answers = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as group:
        group.start_soon(pass_in, read, to_server, to_client.clone(), escrows)
        group.start_soon(pass_out, answers, write, output, escrows)
        async with to_client:
            await server.run(heard, to_client, server.create_initialization_options())


async def _close(calls: Calls, escrows: Escrows | None) -> None:
    await calls.close()
    if escrows is not None:
        await escrows.close()


async def _leave_when_told(calls: Calls, escrows: Escrows) -> None:
    """End the process with the first signal, once no call is left.

    At once, for a thread sits in a read of standard input that nothing else would end.
    """
    with anyio.open_signal_receiver(*LEAVING) as signals:
        async for _ in signals:
            await _close(calls, escrows)
            os._exit(int(ExitCode.INTERRUPTED))
