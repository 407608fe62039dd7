"""What a command prints with `--json`, held against what `sow schema` says that it prints."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from sow.schema.catalogue import ErrorView, printed_by


def hold(command: str, lines: Sequence[Any]) -> None:
    """Each object is one of the command's own, or an error: every key there, none besides."""
    for line in lines:
        problems = [_differs(line, form) for form in (*printed_by(command), ErrorView)]
        assert "" in problems, f"sow {command} --json: {line}\n{problems}"


def _differs(line: Any, form: type[msgspec.Struct]) -> str:
    try:
        understood = msgspec.convert(line, form)
    except msgspec.ValidationError as error:
        return f"{form.__name__}: {error}"
    again = json.loads(msgspec.json.encode(understood))
    return "" if again == line else f"{form.__name__}: other keys than {list(again)}"
