"""What checks of files and programs find, as commands print it with `--json`."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from sow.schema.output import fields
from sow.schema.output.fields import about


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was checked."""

    check_name: Annotated[str, about("the name of the check")]
    level: Annotated[str, about("ok, note, warning or error")]
    text: Annotated[str, about("what was found, in one line")]
    remedy: Annotated[str, about("what to do; often empty")]
    facts: Annotated[dict[str, Any], about("the same for programs; its keys belong to the check")]
    section: Annotated[str, about("the part of the examination, of `sow doctor`")] | UnsetType = (
        UNSET
    )


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow doctor` has found."""

    ok: Annotated[bool, about("whether agents can run here")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]
