"""`.sow/knowledge/index/ID.yaml`: an entry for what a project has left behind, a file each.

Owns what an entry holds. Whoever reads one may not have written it, so its path stays inside
the repository by its form alone; that links do not lead out of it is asked where it is read.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.ids import SLUG_PATTERN
from sow.lifecycle.stages import ProjectType
from sow.schema.project import EndingWord, ProjectIdText
from sow.schema.task import Moment

PATH_PATTERN = r"^(?!/)(?!(.*/)?\.\.?(/|$))(?!(.*/)?\.git(/|$))(?!\.sow/run(/|$))[^\x00-\x1f\x7f]+$"

KindText = Annotated[
    str,
    Meta(
        pattern=SLUG_PATTERN, max_length=64, description="what it is, such as design or exploration"
    ),
]
PathText = Annotated[
    str,
    Meta(
        pattern=PATH_PATTERN,
        max_length=1024,
        description="a file, or the folder of a project that has ended; from the root of the"
        " repository",
    ),
]


class FromProject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The project that has left something behind."""

    id: ProjectIdText
    name: Annotated[str, Meta(min_length=1)]
    type: ProjectType
    ended: EndingWord


class KnowledgeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of an entry's file. Its name is the entry's id."""

    kind: KindText
    title: Annotated[str, Meta(min_length=1, max_length=400)]
    path: PathText
    summary: Annotated[str, Meta(max_length=2000)] = ""
    at: Moment
    """When the project has ended."""
    project: FromProject
    approved_by: str | UnsetType = UNSET
    """Who has approved the document as it was then: a role, or `person`."""
    version: Annotated[int, Meta(ge=1, description="the form of this file")] | UnsetType = UNSET
