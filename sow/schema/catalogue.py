"""The schemas that `sow schema` prints, by name: of files, and of what commands print.

Owns the names. A file has one word, an output the words of its command. Each
schema is made from the type that validates the file, or that the command prints.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import msgspec

from sow.commands import COMMANDS
from sow.errors import UsageError
from sow.schema import output
from sow.schema.config import RepositoryConfigFile, UserConfigFile
from sow.schema.knowledge import KnowledgeEntry
from sow.schema.log_entry import LogFrontmatter
from sow.schema.notification import Notification
from sow.schema.output import fields
from sow.schema.output.fields import about
from sow.schema.project import ProjectState
from sow.schema.references import ReferenceIndex
from sow.schema.task import TaskState

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FILES: Mapping[str, tuple[type[msgspec.Struct], str]] = {
    "task": (TaskState, "a task's state.yaml"),
    "project": (ProjectState, "the project's state.yaml"),
    "references": (ReferenceIndex, "the index of references, .sow/refs/index.yaml"),
    "knowledge": (KnowledgeEntry, "an entry of the index, .sow/knowledge/index/ID.yaml"),
    "log": (LogFrontmatter, "the frontmatter of an entry in log.md"),
    "config": (UserConfigFile, "the user's config.yaml"),
    "notification": (Notification, "what a command of `notify:` reads from its standard input"),
    "repository": (RepositoryConfigFile, "the repository's .sow/config.yaml"),
}
OF_AN_ERROR = "error"


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, for people and for programs."""

    kind: Annotated[
        str,
        about("usage, configuration, state, executor, queue, or failed (none of these)"),
    ]
    exit_code: fields.ExitCode
    message: Annotated[str, about("what happened")]
    hint: Annotated[str, about("what to do next; often empty")]


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """What a command prints when it fails, in place of a result or after it."""

    task: Annotated[
        str | None, about("the task that it is about; null if it is not about one task")
    ]
    error: Annotated[ErrorFacts, about("what happened")]


def outputs() -> list[str]:
    """Return the words of all commands that print objects."""
    return [words for words, row in COMMANDS.items() if row.prints]


def printed_by(words: str) -> tuple[type[msgspec.Struct], ...]:
    """Return the types of the objects that a command prints with `--json`."""
    return tuple(_struct(name) for name in COMMANDS[words].prints.split())


def _struct(name: str) -> type[msgspec.Struct]:
    module, _, struct = name.rpartition(".")
    found: type[msgspec.Struct] = getattr(import_module(f".{module}", output.__name__), struct)
    return found


def descriptions() -> dict[str, str]:
    """Return what each schema describes, by its name."""
    return {
        **{name: about for name, (_, about) in FILES.items()},
        OF_AN_ERROR: "what any command prints with --json if it fails",
        **{words: f"what `sow {words} --json` prints" for words in outputs()},
    }


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`. Raises UsageError."""
    if name in FILES:
        return {"$schema": DIALECT, **msgspec.json.schema(FILES[name][0])}
    if name == OF_AN_ERROR:
        return {"$schema": DIALECT, **msgspec.json.schema(ErrorView)}
    if name not in outputs():
        raise UsageError(
            f"there is no schema called {name!r}",
            hint=f"Of files there are: {', '.join(FILES)}. What a command prints with --json has"
            " the command's words for its name, such as `sow schema task show`; `sow schema`"
            " lists them all.",
        )
    schemas, components = msgspec.json.schema_components(printed_by(name))
    alternatives = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {"$schema": DIALECT, **alternatives, "$defs": components}
