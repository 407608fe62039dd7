"""What checks find, of files, programs and all of `.sow`, as commands print it with `--json`."""

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


FoundPath = Annotated[str, about("the file or folder, from the root that holds .sow")]


class DefectView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

    kind: Annotated[str, about("the kind of it; docs/validation.md lists them")]
    path: FoundPath
    line: Annotated[int | None, about("counted from 1; null for a folder, and what is not there")]
    what: Annotated[str, about("what is wrong, in one line")]
    why: Annotated[str, about("what follows from it")]
    remedy: Annotated[str, about("what to do")]
    fixable: Annotated[bool, about("whether `--fix` has one right answer to it")]


class FixedView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was mended."""

    path: FoundPath
    what: Annotated[str, about("what was done, in one line")]


class NotFixedView(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that could not be mended now."""

    path: FoundPath
    why: Annotated[str, about("what stood in the way")]


class Validated(msgspec.Struct, frozen=True, kw_only=True):
    """Whether `.sow` holds together."""

    valid: Annotated[bool, about("whether nothing is wrong; exit 0 then, else 1")]
    findings: Annotated[
        tuple[DefectView, ...], about("what is wrong, with `--fix` what is left; by file and line")
    ]
    fixed: Annotated[tuple[FixedView, ...], about("what was mended; empty without `--fix`")]
    not_fixed: Annotated[
        tuple[NotFixedView, ...], about("what could not be mended now; often empty")
    ]
    to_add: Annotated[
        tuple[str, ...], about("files that hold no marks any more and wait for `git add`")
    ]
