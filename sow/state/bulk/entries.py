"""A file of tasks: YAML, a list of mappings, or JSON, an object a line.

Owns how the two are told apart, and where in the file each thing stands. What
the tasks in it would change is `plan`'s.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from sow.errors import UsageError
from sow.schema.task_entry import FIELDS, TaskEntry
from sow.yamlfile import YamlProblem, problem_in, read_yaml
from sow.yamlfile.schema_problems import schema_problem

FORM = (
    "Each task has `key`, `name` and `agent`; it may have "
    + ", ".join(f"`{name}`" for name in FIELDS if name not in ("key", "name", "agent"))
    + ". `sow task export` prints the existing tasks."
)
STDIN = "standard input"


class InvalidEntry(UsageError):
    """A file of tasks that cannot be taken, with the place, the reason and what to do about it."""

    def __init__(self, problem: YamlProblem, remedy: str) -> None:
        self.line = problem.line
        self.key = problem.key
        caret = f"{problem.caret}\n\n" if problem.caret else ""
        super().__init__(str(problem), hint=f"{caret}{remedy} Nothing was changed.")


@dataclass(frozen=True)
class GivenTasks:
    """The tasks of a file, and what tells where each stands in it."""

    path: Path
    text: bytes
    entries: Sequence[TaskEntry]
    lines: Sequence[int] | None = None
    """Of JSON lines, the number of each one's line."""

    def fault(self, index: int, *keys: str | int, reason: str, remedy: str) -> InvalidEntry:
        """Return the error that a rule makes of what stands at `keys` of one task."""
        if self.lines is None:
            problem = problem_in(self.text, (index, *keys), reason, path=self.path)
        else:
            key = ".".join(map(str, keys))
            problem = YamlProblem(reason, path=self.path, line=self.lines[index], key=key)
        return InvalidEntry(problem, remedy)


def read_entries(text: bytes, path: Path) -> GivenTasks:
    """Return the tasks of a file; `path` is for messages only. Raises InvalidEntry."""
    text = text.removeprefix(codecs.BOM_UTF8)
    try:
        if text.lstrip().startswith(b"{"):
            found = _json_lines(text, path)
        else:
            entries = read_yaml(text, list[TaskEntry], path=path) if _has_any(text) else []
            found = GivenTasks(path, text, entries)
    except YamlProblem as problem:
        raise InvalidEntry(problem, FORM) from problem
    if not found.entries:
        raise InvalidEntry(YamlProblem("it has no tasks", path=path), FORM)
    return found


def with_priority(given: GivenTasks, priority: int | None) -> GivenTasks:
    """Return the tasks with a priority for those that name none; as they are where it is None."""
    if priority is None:
        return given
    entries = [
        entry if entry.priority is not None else msgspec.structs.replace(entry, priority=priority)
        for entry in given.entries
    ]
    return replace(given, entries=entries)


def _has_any(text: bytes) -> bool:
    """Whether there is more than empty lines and comments."""
    lines = (line.strip() for line in text.splitlines())
    return any(line and not line.startswith(b"#") and line != b"---" for line in lines)


def _json_lines(text: bytes, path: Path) -> GivenTasks:
    entries: list[TaskEntry] = []
    lines: list[int] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            entries.append(_json_entry(line, path, number))
            lines.append(number)
    return GivenTasks(path, text, entries, lines)


def _json_entry(line: bytes, path: Path, number: int) -> TaskEntry:
    """Return the task of one line. Raises YamlProblem."""
    try:
        data: Any = msgspec.json.decode(line)
        return msgspec.convert(data, TaskEntry)
    except msgspec.ValidationError as error:
        problem = schema_problem(str(error), data, TaskEntry, None, "", path=path)
        raise YamlProblem(problem.reason, path=path, line=number, key=problem.key) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise YamlProblem(f"not JSON: {error}", path=path, line=number) from None
    except RecursionError:
        raise YamlProblem("its values are nested too deeply", path=path, line=number) from None
