"""What checks of files and programs find, as commands print it with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sow.schema.output import fields


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    check_name: Annotated[str, Meta(description="the name of the check")]
    level: Annotated[str, Meta(description="ok, note, warning or error")]
    text: Annotated[str, Meta(description="what was found, in one line")]
    remedy: Annotated[str, Meta(description="what to do; often empty")]
    facts: Annotated[
        dict[str, Any], Meta(description="the same for programs; its keys belong to the check")
    ]
    section: (
        Annotated[str, Meta(description="the part of the examination, of `sow doctor`")] | UnsetType
    ) = UNSET


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow doctor` has found."""

    ok: Annotated[bool, Meta(description="whether agents can run here")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], Meta(description="each thing that was checked")]
