"""Whether a client's arguments fit a tool's schema, and in plain words what does not.

Owns as much of JSON Schema as our own schemas use. A mistake is a usage error like
one of the command line.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from sow.errors import UsageError
from sow.mcp_server.room import cut_text
from sow.mcp_server.tool import Arguments, Tool

MOST_ITEMS = 1_000
"""Of a list. Nobody names so many tasks by hand; a batch takes all that are ready."""
TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list}
NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
}


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
