"""What is wrong with a YAML file, and where in it.

Owns places: lines, columns, keys, excerpts. Knows no schema and imports no
YAML library: marks and nodes come in as arguments.
"""

from pathlib import Path
from typing import Any

EXCERPT_WIDTH = 100

Key = str | int
KeyPath = tuple[Key, ...]

_STRING_TAG = "tag:yaml.org,2002:str"


class YamlProblem(Exception):
    """A YAML file that cannot be used: where, which key, and why.

    `line` and `column` count from 1. `key` is dotted, empty where the file as
    a whole is meant. `caret` is the line and a `^` below the place, or empty.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: Path,
        line: int | None = None,
        column: int | None = None,
        key: str = "",
        caret: str = "",
    ) -> None:
        self.path = path
        self.line = line
        self.column = column
        self.key = key
        self.reason = reason
        self.caret = caret
        super().__init__(f"{self.place}: {reason}")

    @property
    def place(self) -> str:
        """Where it is: file, line and key, as far as they are known."""
        line = f", line {self.line}" if self.line is not None else ""
        key = f", {self.key}" if self.key else ""
        return f"{self.path}{line}{key}"


def problem_at(reason: str, text: str, mark: Any, *, path: Path, key: str = "") -> YamlProblem:
    """Return the problem at a mark of the YAML library (line and column from 0; None: nowhere)."""
    if mark is None:
        return YamlProblem(reason, path=path, key=key)
    return YamlProblem(
        reason,
        path=path,
        line=mark.line + 1,
        column=mark.column + 1,
        key=key,
        caret=_excerpt(text, mark.line, mark.column),
    )


def problem_at_key(reason: str, text: str, root: Any, keys: KeyPath, *, path: Path) -> YamlProblem:
    """Return the problem of what stands at `keys` in the node tree `root` of `text`."""
    node, key_node = find_node(root, keys)
    place = key_node if key_node is not None else node
    mark = place.start_mark if place is not None else None
    return problem_at(reason, text, mark, path=path, key=dotted(keys))


def _excerpt(text: str, line: int, column: int) -> str:
    """Return the line and a caret below `column`, cut to a readable width."""
    lines = text.splitlines()
    if line >= len(lines):
        return ""
    start = max(0, column - EXCERPT_WIDTH // 2)
    shown = lines[line][start : start + EXCERPT_WIDTH].replace("\t", " ")
    return f"{shown}\n{' ' * (column - start)}^"


def dotted(keys: KeyPath) -> str:
    """Return a key path for people: `task.depends_on[0]`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text


def find_node(root: Any, keys: KeyPath) -> tuple[Any, Any]:
    """Return the nodes of the value at `keys` and of its key; the nearest parent's if absent."""
    node, key_node = root, None
    for key in keys:
        child = _child(node, key)
        if child is None:
            break
        node, key_node = child
    return node, key_node


def _child(node: Any, key: Key) -> tuple[Any, Any] | None:
    if node is None or is_scalar(node):
        return None
    if isinstance(key, int) and node.id == "sequence":
        return (node.value[key], None) if key < len(node.value) else None
    pairs = node.value if node.id == "mapping" else ()
    for key_node, value_node in pairs:
        if key_node.value == key or (not isinstance(key, str) and key_node.tag != _STRING_TAG):
            return value_node, key_node
    return None


def is_scalar(node: Any) -> bool:
    """Whether `node` is there and holds one value."""
    return node is not None and node.id == "scalar"
