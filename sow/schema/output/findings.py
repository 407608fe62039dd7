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
    facts: Annotated[dict[str, Any], about("the same for programs; the keys depend on the check")]
    section: Annotated[str, about("the section of `sow doctor` that it belongs to")] | UnsetType = (
        UNSET
    )


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What `sow doctor` has found."""

    ok: Annotated[bool, about("whether agents can run here")]
    version: fields.Version
    findings: Annotated[tuple[FindingView, ...], about("each thing that was checked")]


FoundPath = Annotated[str, about("the file or folder, from the root that holds .sow")]


class DefectView(msgspec.Struct, frozen=True, kw_only=True):
    """One problem."""

    kind: Annotated[str, about("its kind; docs/validation.md lists them")]
    path: FoundPath
    line: Annotated[int | None, about("the line, from 1; null for a folder or a missing file")]
    what: Annotated[str, about("what is wrong, in one line")]
    why: Annotated[str, about("the consequence")]
    remedy: Annotated[str, about("what to do")]
    fixable: Annotated[bool, about("whether `--fix` can fix it")]


class FixedView(msgspec.Struct, frozen=True, kw_only=True):
    """One problem that was fixed."""

    path: FoundPath
    what: Annotated[str, about("what was done, in one line")]


class NotFixedView(msgspec.Struct, frozen=True, kw_only=True):
    """One problem that could not be fixed now."""

    path: FoundPath
    why: Annotated[str, about("what prevented it")]


class Validated(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the files of `.sow` are valid and fit together."""

    valid: Annotated[bool, about("whether there is no problem; the exit code is then 0, else 1")]
    findings: Annotated[
        tuple[DefectView, ...],
        about("the problems, in the order of files and lines; with `--fix` those that are left"),
    ]
    fixed: Annotated[tuple[FixedView, ...], about("what was fixed; empty without `--fix`")]
    not_fixed: Annotated[
        tuple[NotFixedView, ...], about("what could not be fixed now; often empty")
    ]
    to_add: Annotated[
        tuple[str, ...],
        about("files without conflict markers that `git add` must still mark as resolved"),
    ]
