"""What `sow validate` prints with `--json`."""

from typing import Annotated

import msgspec

from sow.schema.output.fields import about

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
