"""The schemas that `sow schema` prints, by name.

Owns the names. Each schema is made from the types that validate the file.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from sow.errors import UsageError
from sow.schema.config import RepositoryConfigFile, UserConfigFile
from sow.schema.log_entry import LogFrontmatter
from sow.schema.project import ProjectState
from sow.schema.task import TaskState

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS: Mapping[str, tuple[type[msgspec.Struct], str]] = {
    "task": (TaskState, "a task's state.yaml"),
    "project": (ProjectState, "the project's state.yaml"),
    "log": (LogFrontmatter, "the frontmatter of an entry in log.md"),
    "config": (UserConfigFile, "the user's config.yaml"),
    "repository": (RepositoryConfigFile, "the repository's .sow/config.yaml"),
}


class UnknownSchema(UsageError):
    """There is no schema of this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"there is no schema called {name!r}", hint=f"There are: {', '.join(SCHEMAS)}"
        )


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the file called `name`. Raises UnknownSchema."""
    if name not in SCHEMAS:
        raise UnknownSchema(name)
    return {"$schema": DIALECT, **msgspec.json.schema(SCHEMAS[name][0])}
