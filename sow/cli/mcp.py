"""`sow mcp`: these commands as tools for a client of the Model Context Protocol.

The server and the protocol's SDK are imported when it serves; no other command needs them.
Owns whose server it is, and what a client is told while a tool of it waits: the words of the line
that a terminal shows.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from sow import env_vars
from sow.agents.rights import calling_agent
from sow.cli import late_click as click
from sow.cli.arguments import working_folder
from sow.cli.live_rows import in_one_line, row_of
from sow.cli.output import echo_json_lines, echo_table, json_option
from sow.config.units import parse_duration
from sow.errors import ConfigurationError, SowError, StateError, UsageError
from sow.ids import ProjectId
from sow.jobs import jobs
from sow.jobs.database import open_existing_queue
from sow.mcp_server.tool import Arguments, Tool
from sow.paths import find_workspace
from sow.processes import process_facts
from sow.reports.prospects import look_around
from sow.state.kept.lost import find_or_bring_back
from sow.state.kept.store import project_id_at

MOST_SHOWN = 3
"""How many of the jobs that a tool waits for are told of; of the others the number is."""
BOUND = "50s"
"""Shorter than the minute after which many clients give a call up."""


def environment_of_caller(environ: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """Return the server's environment, with the variables of the agent below which it runs.

    In a repository that is not that agent's, it is as it was: an agent may try there what it
    has built, as on the command line.
    """
    if calling_agent(environ) is not None:
        return environ
    for pid in process_facts.ancestors(os.getpid()):
        above = process_facts.variables(pid) or {}
        if env_vars.ATTEMPT_ID in above and calling_agent(above) is not None:
            own = {name: above[name] for name in env_vars.OF_AGENTS if name in above}
            elsewhere = _is_elsewhere(Path(own[env_vars.ROOT]), environ, folder)
            return environ if elsewhere else {**environ, **own}
    return environ


def _is_elsewhere(root: Path, environ: Mapping[str, str], folder: Path) -> bool:
    """Whether the server works in a repository that is another one than the agent's."""
    try:
        return find_workspace(folder, environ).root.resolve() != root.resolve()
    except StateError:
        return False


@click.command()
@click.option(
    "--wait",
    "bound",
    metavar="TIME",
    default=BOUND,
    show_default=True,
    help="The longest wait of a tool; less than your client's time limit for a call.",
)
@click.option(
    "--tools",
    "which",
    type=click.Choice(["orchestrator", "all"]),
    default="orchestrator",
    show_default=True,
    help="The tools to offer: those that lead a project from start to end, or all.",
)
@click.option("--list", "lists", is_flag=True, help="Print the tools, and exit.")
@json_option
@click.pass_context
def mcp(context: click.Context, bound: str, which: str, lists: bool, as_json: bool) -> None:
    """Serve sow's commands as tools to an MCP client, on standard input and output.

    The client starts it in a folder of the repository (see docs/mcp.md). It ends
    with its client; queued jobs continue. An agent that sow has started gets only
    the tools that report on its own task, unless its role orchestrates.
    """
    from sow.calls.recorded_agent import agent_by_record
    from sow.cli.mcp_tools import tools_for

    root = context.find_root().command
    assert isinstance(root, click.Group)  # noqa: S101 - `sow` is one
    folder = working_folder()
    environ = dict(environment_of_caller(os.environ, folder))
    agent, seconds = agent_by_record(environ), _seconds(bound)
    tools = tools_for(root, agent, seconds, leading=which == "orchestrator")
    if lists:
        _print(tools, as_json=as_json)
        return
    try:
        from sow.mcp_server.stdio import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sow."):
            raise
        missing = error.name or "mcp"
        from sow.doctor.mcp_package import how_to_install

        raise ConfigurationError(
            f"`sow mcp` needs the Python package mcp with what that needs; {missing} is missing",
            hint=how_to_install(),
        ) from error

    if sys.stdin.isatty():
        click.echo("Waiting for an MCP client on standard input; clients start this.", err=True)
    serve(
        tools,
        agent,
        others={tool.name for tool in tools_for(root, agent, seconds)},
        environ=environ,
        folder=folder,
        bound=seconds,
        words_of_waiting=lambda given: words_of_waiting(environ, folder, given),
    )


def _seconds(bound: str) -> float:
    try:
        seconds = parse_duration(bound)
    except ValueError as error:
        raise UsageError(f"--wait: {error}", hint="For example: --wait 50s") from None
    if seconds <= 0:
        raise UsageError("--wait: no tool could wait", hint="For example: --wait 50s")
    return seconds


def _print(tools: Sequence[Tool], *, as_json: bool) -> None:
    if as_json:
        # A person's table needs no forms.
        from sow.schema.output.guidance import ToolView

        echo_json_lines(
            ToolView(
                tool=tool.name,
                command=f"sow {' '.join(tool.command)}",
                description=tool.description,
                arguments=tool.schema,
                only_reads=tool.only_reads,
            )
            for tool in tools
        )
        return
    rows = [
        (
            tool.name,
            ", ".join(tool.schema["properties"]) or "-",
            tool.description.partition("\n")[0],
        )
        for tool in tools
    ]
    echo_table(("TOOL", "ARGUMENTS", "WHAT IT DOES"), rows, spare=("ARGUMENTS",))


def words_of_waiting(environ: Mapping[str, str], folder: Path, arguments: Arguments) -> str:
    """Return how the jobs stand that a call waits for; empty where nobody can tell."""
    try:
        return _words(environ, folder, arguments)
    except (SowError, OSError):
        return ""


def _words(environ: Mapping[str, str], folder: Path, arguments: Arguments) -> str:
    workspace = find_or_bring_back(folder, environ)
    database = open_existing_queue(workspace)
    if database is None:
        return ""
    wanted, numbers = _named(arguments, "task"), _named(arguments, "job")
    project = ProjectId(project_id_at(workspace.root))
    with closing(database):
        live = [job for job in jobs.active_jobs(database) if job.project_id == project]
        if numbers:
            live = [job for job in live if str(job.id) in numbers]
        elif wanted:
            live = [job for job in live if wanted & set(job.tasks)]
        now = time.time()
        shown = [
            in_one_line(row_of(job, look_around(workspace, database, job, now=now), now))
            for job in live[:MOST_SHOWN]
        ]
    more = len(live) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _named(arguments: Arguments, noun: str) -> set[str]:
    return {*arguments.get(f"{noun}s", ()), *filter(None, [arguments.get(noun)])}
