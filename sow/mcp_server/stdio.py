"""`sow mcp` as a process: its standard streams, its signals, its end.

Standard output belongs to the protocol; while it serves, descriptor 1 is
standard error, so that nothing else can get there. It ends when its client
closes standard input, and with INT, TERM or HUP; the calls that wait then are
left in good order first. A request that cannot be read is answered all the same.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncIterable, Callable, Collection, Mapping, Sequence
from pathlib import Path

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from sow.agents.rights import CallingAgent
from sow.errors import ExitCode
from sow.mcp_server.calls import Calls, Limits
from sow.mcp_server.resources import forms_for
from sow.mcp_server.server import Offer, make_server
from sow.mcp_server.tool import Arguments, Tool

LONGEST_NUMBER = 20
"""In digits; of those that go on for thousands, int() makes an error."""
LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    anyio.run(_serve, offer, Calls(environ, folder, sys.stdout.encoding, limits))


async def _serve(offer: Offer, calls: Calls) -> None:
    server = make_server(offer, calls)
    try:
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception]()
            group.start_soon(_leave_when_told, calls)
            group.start_soon(_pass_on, read, passing, write)
            await server.run(passed, write, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:  # nobody reads our answers any more: that is a client that has gone
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await calls.close()


async def _pass_on(
    read: AsyncIterable[SessionMessage | Exception],
    passing: ObjectSendStream[SessionMessage | Exception],
    write: ObjectSendStream[SessionMessage],
) -> None:
    """Pass on what a client says. The SDK drops what it cannot read, and its client would wait."""
    async with passing:
        async for item in read:
            if not isinstance(item, ValidationError):
                await passing.send(item)
            elif (number := _number_of(item)) is not None:
                why = f"the message cannot be read: {item.errors()[0]['msg']}"
                error = types.ErrorData(code=types.INVALID_REQUEST, message=why)
                answer = types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
                await write.send(SessionMessage(answer))


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


async def _leave_when_told(calls: Calls) -> None:
    """End the process with the first signal, once no call is left.

    At once, for a thread sits in a read of standard input that nothing else would end.
    """
    with anyio.open_signal_receiver(*LEAVING) as signals:
        async for _ in signals:
            await calls.close()
            os._exit(int(ExitCode.INTERRUPTED))
