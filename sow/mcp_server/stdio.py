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

import anyio
from mcp.server.stdio import stdio_server

from sow.agents.rights import CallingAgent
from sow.errors import ExitCode
from sow.mcp_server.calls import Calls
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
    words_of_waiting: Callable[[Arguments], str],
) -> None:
    """Serve one client on this process's standard streams until it has gone."""
    offer = offer_of(tools, agent, words_of_waiting, others)
    anyio.run(_serve, offer, Calls(environ, folder, sys.stdout.encoding))


async def _serve(offer: Offer, calls: Calls) -> None:
    server = make_server(offer, calls)
    try:
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            group.start_soon(_leave_when_told, calls)
            await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:  # nobody reads our answers any more: that is a client that has gone
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await calls.close()


async def _leave_when_told(calls: Calls) -> None:
    """End the process with the first signal, once no call is left.

    At once, for a thread sits in a read of standard input that nothing else would end.
    """
    with anyio.open_signal_receiver(*LEAVING) as signals:
        async for _ in signals:
            await calls.close()
            os._exit(int(ExitCode.INTERRUPTED))
