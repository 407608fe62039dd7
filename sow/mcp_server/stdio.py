"""`sow mcp` as a process: its standard streams, its signals, its end.

Standard output belongs to the protocol; while it serves, descriptor 1 is
standard error, so that nothing else can get there. It ends when its client
closes standard input, and with INT, TERM or HUP; the calls that wait then are
left in good order first.
"""

import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from sow.agents.rights import CallingAgent
from sow.errors import ExitCode
from sow.mcp_server.calls import Calls, Limits
from sow.mcp_server.escrow import Escrows
from sow.mcp_server.messages import Messages, Output, pass_in, pass_out
from sow.mcp_server.resources import forms_for
from sow.mcp_server.server import Offer, make_server
from sow.mcp_server.tool import Arguments, Tool

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
