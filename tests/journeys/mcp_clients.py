"""What the journeys of `sow mcp` share: clients of the SDK, and a server spoken to line by line."""

import json
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
from journeys.site import Site
from mcp_server.place import PATIENCE_SECONDS, Json, Place

SPAWN = {"agent": "implementer", "detach": True}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def place_of(site: Site, **settings: Any) -> Place:
    return Place(site.root, site.environment(), **settings)


async def until(wait: Callable[..., Any], *arguments: Any) -> Any:
    """Wait for what somebody else does, while this client's other calls go on."""
    return await anyio.to_thread.run_sync(wait, *arguments)


def calls_of(site: Site) -> list[int]:
    """Return the processes of calls that a server of this repository has started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            here = (process / "cwd").readlink() == site.root
            if here and {b"--json", b"--"} <= set(words):
                found.append(int(process.name))
    return found


def greeted(site: Site, *words: str, **env: str | None) -> "subprocess.Popen[str]":
    """Start a server and greet it, as a client does."""
    server = site.start("mcp", *words, stdin=subprocess.PIPE, env=env)
    say(server, **HELLO)
    assert hear(server)["result"]["serverInfo"]["name"] == "sow"
    say(server, method="notifications/initialized")
    return server


def say(server: "subprocess.Popen[str]", **message: Any) -> None:
    say_line(server, json.dumps({"jsonrpc": "2.0", **message}))


def say_line(server: "subprocess.Popen[str]", line: str) -> None:
    assert server.stdin is not None
    server.stdin.write(f"{line}\n")
    server.stdin.flush()


def ask(server: "subprocess.Popen[str]", number: int, tool: str, **arguments: Any) -> None:
    """Call a tool, and do not wait for its answer."""
    say(server, id=number, method="tools/call", params={"name": tool, "arguments": arguments})


def hear(server: "subprocess.Popen[str]") -> Json:
    """Return the next message of a server; one that says nothing for long is killed."""
    assert server.stdout is not None
    watch = threading.Timer(PATIENCE_SECONDS, server.kill)
    watch.start()
    try:
        heard: Json = json.loads(server.stdout.readline())
    finally:
        watch.cancel()
    return heard
