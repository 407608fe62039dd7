"""What goes to and fro between a client and the SDK's server, message by message.

Owns three things that the SDK leaves out: a request that it cannot read is answered, where its
client would wait; what is no UTF-8 in a message does not keep it, or all others, from being
written; and `Escrows` hears which answers were written and which calls were cancelled.
"""

import fcntl
import json
import os
from collections.abc import AsyncIterable
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from sow.mcp_server.escrow import Escrows
from sow.terminal_text import readable

LONGEST_NUMBER = 20
"""In digits; of those that go on for thousands, int() makes an error."""

Messages = AsyncIterable[SessionMessage | Exception]


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
