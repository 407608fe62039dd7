"""A JSON file of a person's, changed without touching more than was meant.

Owns that the order of keys, unknown keys, indentation, line ends and the last newline stay. What is
no JSON, or says one thing twice, is refused: nobody can tell what its owner meant.
"""

import json
import math
import re
from typing import Any

BOM = b"\xef\xbb\xbf"


class NotJson(ValueError):
    """A text is no JSON object; the words say why."""


def read_object(data: bytes | None) -> dict[str, Any]:
    """Return the object that a file holds; an empty one for none, and for an empty file.

    Raises NotJson.
    """
    text = _decoded(data)
    if not text.strip():
        return {}
    try:
        found = json.loads(
            text, object_pairs_hook=_without_twins, parse_constant=_number, parse_float=_number
        )
    except RecursionError:
        raise NotJson("its values are nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"it is not JSON: {error}") from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise NotJson(str(error)) from None
    if not isinstance(found, dict):
        raise NotJson("it holds no object")
    return found


def write_object(value: dict[str, Any], like: bytes | None) -> bytes:
    """Return the object as text, in the form of the file that it was read from."""
    text = _decoded(like)
    indent = re.search(r"^\{\s*?\n([ \t]+)", text)
    keeps_letters = not text.isascii() or "\\u" not in text
    try:
        body = _dumped(value, indent[1] if indent else "  ", ascii_only=not keeps_letters)
    except UnicodeEncodeError:  # half of a pair, which only an escape can stand for
        body = _dumped(value, indent[1] if indent else "  ", ascii_only=True)
    if not text.strip() or text.endswith("\n"):
        body += b"\n"
    if "\r\n" in text:
        body = body.replace(b"\n", b"\r\n")
    return BOM + body if (like or b"").startswith(BOM) else body


def _dumped(value: dict[str, Any], indent: str, *, ascii_only: bool) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()


def _decoded(data: bytes | None) -> str:
    try:
        return (data or b"").removeprefix(BOM).decode()
    except UnicodeDecodeError:
        raise NotJson("it is no UTF-8 text") from None


def _number(text: str) -> float:
    """Return a number that can be written again: `NaN` and what is too large are no JSON then."""
    found = float(text)
    if not math.isfinite(found):
        raise NotJson(f"{text} is no number that JSON can hold")
    return found


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"it says {twin!r} twice in one object")
    return found
