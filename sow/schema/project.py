"""The project's `state.yaml`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.task import Moment, PhaseText

ProjectIdText = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", description="a UUID")
]


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The project of one branch."""

    id: ProjectIdText
    name: Annotated[str, Meta(min_length=1)]
    description: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    phases: Annotated[list[PhaseText], Meta(min_length=1)]
    created_at: Moment
    updated_at: Moment
    metadata: dict[str, Any] = {}


class ProjectState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `project/state.yaml`."""

    project: Project
    version: Annotated[int, Meta(ge=1, description="the form of this file")] | UnsetType = UNSET
    """Written with the first field that came after form 1 (`state.version`)."""
