"""A repository with a project, and clients of `sow mcp` in this process and as a program."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from sow.agents.rights import calling_agent
from sow.cli.mcp import words_of_waiting
from sow.cli.mcp_tools import tools_for
from sow.cli.tree import root
from sow.mcp_server.calls import USUAL, Calls, Limits
from sow.mcp_server.server import make_server
from sow.mcp_server.stdio import offer_of

Json = dict[str, Any]
PATIENCE_SECONDS = 120.0
SOW = [sys.executable, "-P", "-m", "sow"]


@dataclass
class Place:
    """A repository, and the variables of whoever works in it."""

    root: Path
    environ: dict[str, str]
    bound: float = 30.0
    progress_seconds: float = 0.05
    limits: Limits = USUAL
    heard: list[tuple[float, float | None, str | None]] = field(default_factory=list)

    def sow(self, *words: str, text: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command as a person or a program does."""
        return subprocess.run(
            [*SOW, *words],
            cwd=self.root,
            env=self.environ,
            input=text,
            stdin=None if text is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def json(self, *words: str, text: str | None = None) -> list[Json]:
        """Return what a command prints with `--json`."""
        done = self.sow(*words, "--json", text=text)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A client and a server in this process; the calls are processes all the same."""
        agent = calling_agent(self.environ)

        def words(given: Mapping[str, Any]) -> str:
            return words_of_waiting(self.environ, self.root, given)

        offer = offer_of(tools_for(root, agent, self.bound), agent, words)
        server = make_server(
            type(offer)(
                offer.tools, offer.forms, offer.is_agents_own, words, self.progress_seconds
            ),
            calls := Calls(self.environ, self.root, limits=self.limits),
        )
        async with Client(server, mode="legacy") as client:
            yield client
        await calls.close()

    def over_stdio(self, *options: str) -> AbstractAsyncContextManager[Client]:
        """A client of `sow mcp` as a program."""
        return Client(
            stdio_client(
                StdioServerParameters(
                    command=SOW[0],
                    args=[*SOW[1:], "mcp", *options],
                    env=self.environ,
                    cwd=self.root,
                )
            )
        )


async def call(client: Client, tool: str, **arguments: Any) -> Json:
    """Call a tool and return its answer; text and structure say the same."""
    result = await client.call_tool(tool, arguments)
    answer: Json = result.structured_content
    assert json.loads(result.content[0].text) == answer
    assert result.is_error is any("error" in found for found in answer["results"])
    return answer


def run(work: Callable[[], Any]) -> None:
    """Run some asynchronous work to its end, in a time that is bounded."""

    async def bounded() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            await work()

    anyio.run(bounded)


def make_place(folder: Path) -> Place:
    """Return a repository with a project of two tasks."""
    repository = folder / "repo"
    repository.mkdir()
    found = Place(repository, dict(os.environ))
    for words in (
        ("init",),
        ("project", "new", "Sign-in", "--type", "quick"),
        ("task", "add", "Add JWT auth", "--agent", "implementer"),
        ("task", "add", "Review it", "--agent", "reviewer", "--depends-on", "010"),
    ):
        assert found.sow(*words).returncode == 0
    return found
