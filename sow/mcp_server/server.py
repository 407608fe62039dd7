"""The one door to the protocol's SDK: tools and resources, as its server offers them.

Owns what goes over the wire: lists, answers, errors and progress. What a tool
is and how a call is run stands elsewhere. Each request has a task of its own, so
that one that waits holds up no other, and one that is cancelled ends its own call alone.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from difflib import get_close_matches
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from sow import __version__
from sow.errors import ExitCode, SowError, UsageError
from sow.mcp_server.answer_size import cut_text, fit_lines
from sow.mcp_server.answers import (
    Answer,
    answer_of,
    error_object,
    failure_of,
    objects_in,
    refusal,
)
from sow.mcp_server.calls import Calls
from sow.mcp_server.escrow import Escrows, Holding
from sow.mcp_server.resources import JSON_LINES, Resource, line_of, of_task
from sow.mcp_server.tool import Arguments, Line, Tool

MOST_ITEMS = 1_000
"""Of a list. Nobody names so many tasks by hand; a batch takes all that are ready."""
TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list}
NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
}
PROGRESS_SECONDS = 5.0
MOST_TASKS_LISTED = 150
"""Among the resources, each with two addresses: a list of some 45,000 characters."""
INSTRUCTIONS = """\
sow runs coding agents as queued jobs in this repository. Each tool is the sow command of its
name, with `_` between the words: what `next` and hints call `sow agent spawn implementer 010` is
agent_spawn with agent and tasks. Begin with `status` and `next`. A call answers with exit_code,
results (what the command prints with --json) and notes. Where exit_code is 75 the work goes on:
make the call in continue_with; without one it waits for what notes name. Where a command that is
named is no tool of yours, tell the person:
`sow mcp --tools all` offers them all."""
OF_AGENTS = """\
You are the agent of a sow job; these tools are about your own task alone. Log what you did with
agent_log, and end with your report."""
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "exit_code": {"type": "integer", "description": "the command's exit code"},
        "results": {
            "type": "array",
            "items": {"type": "object"},
            "description": "what the command prints with --json",
        },
        "notes": {"type": "array", "items": {"type": "string"}},
        "continue_with": {"type": "object", "description": "the call that goes on waiting"},
    },
    "required": ["exit_code", "results"],
}
Context = ServerRequestContext[Any, Any]


class UnfitArguments(UsageError):
    """A client has called a tool otherwise than its schema says."""

    def __init__(self, tool: Tool, why: str, guess: str = "") -> None:
        names = ", ".join(tool.schema["properties"]) or "none"
        super().__init__(f"{tool.name}: {why}", hint=f"{guess}Its arguments: {names}.")


def fitting(tool: Tool, arguments: Arguments) -> Arguments:
    """Return the arguments if they fit the tool's schema. Raises UnfitArguments."""
    properties: Mapping[str, Any] = tool.schema["properties"]
    for name, value in arguments.items():
        if name not in properties:
            near = get_close_matches(cut_text(name), properties, n=1)
            guess = f"Did you mean {near[0]}? " if near else ""
            raise UnfitArguments(tool, f"no such argument: {cut_text(name)!r}", guess)
        problem = _problem(properties[name], value)
        if problem:
            raise UnfitArguments(tool, f"{name} {problem}")
    for name in tool.schema["required"]:
        if name not in arguments:
            raise UnfitArguments(tool, f"{name} has to be given")
    return arguments


def _problem(schema: Mapping[str, Any], value: Any) -> str:
    """Return what is wrong with a value; nothing where it fits."""
    kind = schema["type"]
    if type(value) is not TYPES[kind]:  # True is an int to isinstance
        return f"has to be {NAMES[kind]}"
    match value:
        case list() if len(value) > MOST_ITEMS:
            return f"has more than {MOST_ITEMS} items"
        case list():
            return next(filter(None, (_problem(schema["items"], each) for each in value)), "")
        case int():
            low, high = schema.get("minimum", value), schema.get("maximum", value)
            return "" if low <= value <= high else f"is not between {low} and {high}"
        case str() if "enum" in schema and value not in schema["enum"]:
            return f"is one of {', '.join(schema['enum'])}"
        case str() if "pattern" in schema and not re.search(schema["pattern"], value):
            return "is no name"
    return ""


class Offer(Struct, frozen=True):
    """What a client is offered."""

    tools: Mapping[str, Tool]
    forms: Sequence[Resource]
    """The addresses of its resources."""
    is_agents_own: bool
    words_of_waiting: Callable[[Arguments], str]
    """How the jobs stand that a call waits for, in a few words."""
    progress_seconds: float = PROGRESS_SECONDS
    others: Collection[str] = ()
    """The names of tools that exist and are not offered here."""


def make_server(offer: Offer, calls: Calls, escrows: Escrows | None = None) -> Server[Any]:
    """Return a server of the SDK that offers this; each call is run by `calls`.

    Without `escrows` an outcome counts as told as soon as a command has printed it.
    """

    async def list_tools(_: Context, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(map(_shown, offer.tools.values())))

    async def call_tool(
        context: Context, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        given = asked.arguments or {}
        answer = await _answer(offer, calls, escrows, context, asked.name, given)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=answer.content,
            is_error=answer.is_error,
        )

    async def list_resources(_: Context, __: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await _resources(offer, calls))

    async def list_templates(_: Context, __: object) -> types.ListResourceTemplatesResult:
        templates = [
            types.ResourceTemplate(
                name=form.name,
                uri_template=form.address,
                description=form.description,
                mime_type=form.mime_type,
            )
            for form in offer.forms
            if "{" in form.address
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        context: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await _read(offer, calls, escrows, context, str(asked.uri))
        return types.ReadResourceResult(contents=[text])

    return Server(
        "sow",
        version=__version__,
        instructions=OF_AGENTS if offer.is_agents_own else INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=ANSWER_SCHEMA,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads,
            destructive_hint=tool.ends_work,
            open_world_hint=False,
        ),
    )


async def _answer(
    offer: Offer,
    calls: Calls,
    escrows: Escrows | None,
    context: Context,
    name: str,
    arguments: Arguments,
) -> Answer:
    """Run a tool. Raises MCPError where there is none of this name."""
    tool = offer.tools.get(name)
    if tool is None:
        more = "; `sow mcp --tools all` offers it" if name in offer.others else ""
        raise MCPError(types.INVALID_PARAMS, f"no such tool: {cut_text(name)}{more}")
    try:
        line = tool.line(fitting(tool, arguments))
    except SowError as error:
        return refusal(error)
    async with anyio.create_task_group() as group:
        if line.seconds is not None:
            group.start_soon(_tell_progress, offer, context, arguments, line.seconds)
        try:
            async with calls.turn(line), _holding(escrows, context, line) as holding:
                answer = answer_of(tool, arguments, await calls.run(line, holding.id))
                holding.untold = answer.untold
        except SowError as error:
            answer = refusal(error)
        group.cancel_scope.cancel()
    return answer


def _holding(
    escrows: Escrows | None, context: Context, line: Line
) -> AbstractAsyncContextManager[Holding]:
    if escrows is None:
        return nullcontext(Holding())
    return escrows.for_call(context.request_id, waits=line.seconds is not None)


async def _tell_progress(
    offer: Offer, context: Context, arguments: Arguments, seconds: float
) -> None:
    """Tell a client that wants to know how a call of it goes, until the call has ended."""
    begun = time.monotonic()
    if "progress_token" not in (context.meta or {}):
        return
    while True:
        await anyio.sleep(offer.progress_seconds)
        words = await anyio.to_thread.run_sync(offer.words_of_waiting, arguments)
        waited = round(time.monotonic() - begun, 1)
        await context.session.report_progress(waited, max(seconds, waited), words or None)


async def _resources(offer: Offer, calls: Calls) -> list[types.Resource]:
    """Return all resources that there are now."""
    found = [form for form in offer.forms if "{" not in form.address]
    if not offer.is_agents_own:
        tasks = await _tasks(calls)
        found += [each for task in tasks[:MOST_TASKS_LISTED] for each in of_task(task)]
    return [
        types.Resource(
            name=each.name,
            uri=each.address,
            description=each.description,
            mime_type=each.mime_type,
        )
        for each in found
    ]


async def _tasks(calls: Calls) -> list[str]:
    """Return the tasks' ids; none where there is no project. Raises MCPError."""
    line = Line(("task", "list", "--json"))
    try:
        async with calls.turn(line):
            listed = await calls.run(line)
    except SowError as error:
        raise MCPError(types.INTERNAL_ERROR, error.message, error_object(error)) from None
    return [found["task"] for found in objects_in(listed.output) if found.get("task")]


async def _read(
    offer: Offer, calls: Calls, escrows: Escrows | None, context: Context, address: str
) -> types.TextResourceContents:
    """Read a resource. Raises MCPError, with the command's error as its data."""
    try:
        line, form = line_of(address, offer.forms)
        async with calls.turn(line), _holding(escrows, context, line) as holding:
            ended = await calls.run(line, holding.id)
            if not ended.output and ended.exit_code != ExitCode.OK:
                raise failure_of(ended)
    except SowError as error:
        raise MCPError(types.INVALID_PARAMS, error.message, error_object(error)) from None
    for found in objects_in(ended.output):
        if "error" in found:
            raise MCPError(types.INVALID_PARAMS, found["error"]["message"], found)
    text = fit_lines(ended.output, keeps_last=form.mime_type == JSON_LINES)
    return types.TextResourceContents(uri=address, mime_type=form.mime_type, text=text)
